"""`list_named_actors`."""

from __future__ import annotations

from rayshim import api


def list_named_actors(all_namespaces: bool = False) -> list[str] | list[dict[str, str]]:
    """The names (str) of the living named actors in the session's namespace.

    With `all_namespaces=True`, a list of {"name": str, "namespace": str} for all namespaces.
    """
    return api.list_named_actors(all_namespaces)
