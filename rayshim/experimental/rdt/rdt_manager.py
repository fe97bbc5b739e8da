"""Queries and settings of single objects with direct tensors."""

from __future__ import annotations

from typing import Any

from rayshim.calls.refs import ObjectRef


def wait_tensor_freed(tensor: Any, timeout: float | None = None) -> None:
    """Waits until no ref of an object with this very tensor exists, so that the actor that has made it may write to it again.

    Arguments:
        tensor: one that a method with `tensor_transport` has returned, or `put(..., _tensor_transport=)` has stored.
        timeout: seconds to wait at most; None: no limit.

    Raises TimeoutError when the time is over; RuntimeError in the inline placement, where nobody can give up a ref meanwhile.
    """
    from rayshim.worker import direct

    direct.wait_tensor_freed(tensor, timeout)


def set_target_for_ref(ref: ObjectRef[Any], target: list[Any]) -> None:
    """Makes `get` of this ref, of a one-sided transport, receive into these tensors. They are checked when `get` is called: ValueError for another
    number of them, another shape or another type. Waits for the object. Raises ValueError if the ref has no direct tensors."""
    from rayshim.worker import direct

    direct.receive_into(ref, target, None)


def set_target_device_for_ref(ref: ObjectRef[Any], target_device: str) -> None:
    """Makes `get` of this ref receive on that device. Waits for the object. Raises ValueError if the ref has no direct tensors, or its transport does
    not take tensors there."""
    from rayshim.worker import direct

    direct.receive_into(ref, None, target_device)
