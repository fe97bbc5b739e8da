"""Methods of handles whose results' tensors stay in the actor, and the refs that they give."""

from __future__ import annotations

from typing import Any

from reactor import _core

from rayshim.calls.direct import registry
from rayshim.errors.user_code import calling
from rayshim.session import session

_refs = {}  # uid -> (offset, name of the transport), of the refs that this process has made
_look_again = 64  # number of those at which the gone ones are dropped

session.after_begin.append(_refs.clear)  # another session gives the same ids again


class Sending:
    """A method with `tensor_transport`, of a handle or of its `options(...)`."""

    def __init__(self, method: Any, handle: Any, transport: str, results: int) -> None:
        self._method, self._handle, self._transport, self._results = method, handle, transport, results

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Like ActorMethod.remote. Raises ValueError where the actor has not this transport."""
        handle, transport = self._handle, self._transport
        if self._results != 1:
            raise ValueError(
                f"Currently, methods with tensor_transport={transport} only support 1 return value. Please make sure the actor method is "
                f"decorated with `@ray.method(num_returns=1)` (the default). (at {calling()})"
            )
        if not handle._info.tensor_transport:
            raise ValueError(
                f'Currently, methods with .options(tensor_transport="{transport}") are not supported when enable_tensor_transport=False. '
                f"Please set @ray.remote(enable_tensor_transport=True) on the actor class definition. (at {calling()})"
            )
        if not registry.manager(transport).actor_has_tensor_transport(handle):
            raise ValueError(
                f"{handle} does not have tensor transport {transport} available. If using a collective-based transport "
                '("nccl" or "gloo"), please create a communicator with `ray.experimental.collective.create_collective_group` '
                f"before calling actor tasks with non-default tensor_transport. (at {calling()})"
            )
        ref = self._method.remote(*args, **kwargs)
        know(ref, transport)
        return ref

    def options(self, **given: Any) -> Any:
        """Like ActorMethod.options."""
        return self._method.options(**{"tensor_transport": self._transport, **given})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)


def know(ref, transport):
    """Keeps that the tensors of the ref's value travel by this transport."""
    global _look_again
    _refs[ref.uid] = ref.offset, transport
    if len(_refs) >= _look_again:
        for uid in [uid for uid, (offset, _) in _refs.items() if not _core.is_held(offset, uid)]:
            del _refs[uid]
        _look_again = max(64, 2 * len(_refs))


def transport_of(ref):
    """The name of the transport of the ref's tensors; None: an ordinary ref, or one that this process has not made."""
    known = _refs.get(ref.uid)
    return known and known[1]
