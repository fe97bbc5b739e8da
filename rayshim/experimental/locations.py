"""The locations of objects, which are always on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.errors.user_code import calling
from rayshim.session import session

if TYPE_CHECKING:
    from rayshim.calls.refs import ObjectRef


def get_object_locations(obj_refs: list[ObjectRef[Any]], timeout_ms: int = -1) -> dict[ObjectRef[Any], dict[str, Any]]:
    """{ref: {"node_ids": [hex], "object_size": bytes, "did_spill": bool}}. For an object that is not ready, node_ids is [] and object_size is None.

    Raises RuntimeError without a session.
    """
    if session.current is None:
        raise RuntimeError(f"Ray hasn't been initialized. (at {calling()}: call init() first)")
    return {ref: _location(ref) for ref in obj_refs}


def get_local_object_locations(obj_refs: list[ObjectRef[Any]]) -> dict[ObjectRef[Any], dict[str, Any]]:
    """The same as `get_object_locations`, as there is only one machine."""
    return get_object_locations(obj_refs)


def _location(ref):
    if not ref.done():
        return {"node_ids": [], "object_size": None, "did_spill": False}
    size = _core.Ref.size.__get__(ref)  # ObjectRef.size is Ray's, the length of an id
    return {"node_ids": [session.current.settings.node], "object_size": size, "did_spill": False}
