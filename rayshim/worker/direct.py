"""Direct tensors (Ray Direct Transport) in the process that has them and in those that receive them.

The tensors of a method with `tensor_transport` stay in its actor, and are not copied. The call's result has the rest of the value and the place of the
tensors. If the same actor receives the result as an argument, it gets its own tensors. Another receiver gets copies of them as they are at that
time: through shared memory, in a call beside the actor's others, or by the methods of the program's own transport.
"""

import functools
import inspect
import io
import pickle
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

from reactor import _core
from reactor.codec import pickler_class

from rayshim.calls.class_info import SYSTEM_GROUP
from rayshim.calls.direct import methods, registry
from rayshim.calls.handle import _handle_from
from rayshim.errors.user_code import calling
from rayshim.session import session
from rayshim.worker.out_of_scope import watch

_REACHES = 12  # frames between `get` and the unpickling of its value
_asked = threading.local()  # how: what the `get` of this thread wants of direct tensors: None, "store" or "peek"


@dataclass
class _Primary:
    """The tensors of one object, in the actor that has made them."""

    tensors: list
    actor: int
    transport: str
    about: object  # TensorTransportMetadata
    back: bool = False  # whether its own actor got them
    sent: bool = False  # whether another one did
    warned: bool = False


_primaries = {}  # name of an object -> _Primary
_changed = threading.Condition()  # of `_primaries`
_targets = {}  # name of an object -> (weak refs of tensors to receive into, or None; device to receive on, or None)
_actors = set()  # numbers of the actors of this process whose methods take Arrived among their arguments


def _forget():
    """Another session gives the same numbers and ids again."""
    _primaries.clear(), _targets.clear(), _actors.clear()
    registry.forget_managers()


session.after_begin.append(_forget)


def _running_actor():
    return session.current.placement.actor_here()


# ---- the process that has the tensors


class Direct:
    """A value whose tensors stay here. Its pickle has the rest."""

    def __init__(self, value, transport, actor):
        self.rest, tensors = _taken_out(value, registry.info(transport).data_type)
        self.token: Any = _core.put(b"")  # goes with the result: gone when nobody has a ref of that
        self.transport, self.actor, self.name = transport, actor, self.token.hex()
        self.has_tensors = bool(tensors)
        primary = _Primary(tensors, actor, transport, None)
        manager = registry.manager(transport)
        self.about = primary.about = manager.extract_tensor_transport_metadata(self.name, tensors)
        if self.about.tensor_meta and self.about.tensor_device not in registry.info(transport).devices:
            raise ValueError(
                f"Tensor transport backend {transport} does not support tensor transfer on device {self.about.tensor_device}."
            )
        with _changed:
            _primaries[self.name] = primary
        name = self.name
        watch(self.token, lambda _: _free(name))

    def __reduce__(self):
        owner = None
        if self.actor:
            facts = session.current.placement.facts(self.actor)
            owner = _handle_from(_core.link_at(facts["offset"], True), _core.ref_at(facts["info"]))
        return receive, (self.rest, self.token, owner, self.actor, self.transport, self.about)


def _taken_out(value, kind):
    """(the pickle of `value` without the tensors of this class, the tensors)."""
    tensors, file = [], io.BytesIO()

    def take_out(part):
        if type(part) is not kind:
            return None
        tensors.append(part)
        return len(tensors) - 1

    pickler = type("Pickler", (pickler_class(),), {"persistent_id": lambda self, part: take_out(part)})
    pickler(file, protocol=5).dump(value)
    return file.getvalue(), tensors


def _put_in(rest, tensors):
    unpickler = type("Unpickler", (pickle.Unpickler,), {"persistent_load": lambda self, number: tensors[number]})
    return unpickler(io.BytesIO(rest)).load()


def _free(name):
    with _changed:
        primary = _primaries.get(name)
    if primary is None:
        return
    try:
        registry.manager(primary.transport).garbage_collect(name, primary.about, primary.tensors)
    except Exception:
        import logging

        logging.getLogger("rayshim").exception(
            "garbage_collect of the transport %s failed for object %s", primary.transport, name
        )
    with _changed:
        _primaries.pop(name, None)
        _changed.notify_all()


def wait_tensor_freed(tensor, timeout=None):
    """Waits until no process has a ref of an object with this very tensor any more, so that its actor may write to it again.

    Arguments:
        tensor: one that a method with `tensor_transport` has returned, or `put(..., _tensor_transport=)` has stored.
        timeout: seconds to wait at most; None: no limit.

    Raises TimeoutError when the time is over; RuntimeError in the inline placement, where nobody can give up a ref meanwhile.
    """
    until = None if timeout is None else time.monotonic() + timeout
    serial = not session.current.placement.runs_in_parallel
    if until is None and serial:
        until = time.monotonic() + 1
    with _changed:
        while any(part is tensor for primary in _primaries.values() for part in primary.tensors):
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                if timeout is None:
                    raise RuntimeError(
                        f"wait_tensor_freed at {calling()} would wait for ever: a ref of the tensor exists, and in the inline placement "
                        "no other code runs meanwhile. Delete the ref before, or choose another placement"
                    )
                raise TimeoutError(
                    f"Tensor {tensor} not freed from RDT object store after {timeout}s. The tensor will not be freed until all "
                    f"ObjectRefs containing the tensor have gone out of scope. (at {calling()})"
                )
            _changed.wait(left)


def _to_other(instance, name):
    """In the tensors' actor, beside its calls: the tensors, for a receiver."""
    primary = _primaries[name]
    primary.sent = True
    _warn(name, primary)
    return primary.tensors


def _send(instance, name, communicator):
    primary = _primaries[name]
    primary.sent = True
    _warn(name, primary)
    registry.manager(primary.transport).send_multiple_tensors(primary.tensors, primary.about, communicator)


def _warn(name, primary):
    if primary.back and primary.sent and not primary.warned:
        primary.warned = True
        warnings.warn(
            f"RDT ObjectRef({name}) is being passed back to the actor that created it. Note that RDT objects are mutable. If the tensor is "
            "modified, Ray's internal copy will also be updated, and subsequent passes to other actors will receive the updated version "
            "instead of the original.",
            UserWarning,
            stacklevel=2,
        )


# ---- the processes that receive


class Arrived:
    """A value whose tensors are elsewhere, or in this actor."""

    def __init__(self, rest, token, owner, actor, transport, about):
        self.rest, self.token, self.name = rest, token, token.hex()
        self.owner, self.actor, self.transport, self.about = owner, actor, transport, about

    def _own(self, actor):
        primary = _primaries.get(self.name)
        if primary is None or primary.actor != actor:
            return None
        primary.back = True
        _warn(self.name, primary)
        return primary.tensors

    def argument(self, actor):
        """The value, as an argument of a call of that actor (0: a task)."""
        tensors = self._own(actor) if actor else None
        if tensors is None:
            tensors = self._by_memory() if registry.travels_in_memory(self.transport) else self._by_transport(actor)
        return _put_in(self.rest, tensors)

    def result(self, by_store):
        """The value, for `get`."""
        tensors = self._own(_running_actor()) if not by_store else None
        if tensors is None and by_store:
            if self.owner is None:
                raise ValueError(
                    "_use_object_store=True is not supported for RDT objects created by the driver. Use the object's one-sided tensor "
                    f"transport instead. (at {calling()})"
                )
            tensors = self._by_memory()
        if tensors is None:
            if not registry.manager(self.transport).is_one_sided():
                raise ValueError(
                    f"ray.get is not allowed on RDT objects using the two-sided transport {self.transport}. Either use a one-sided RDT "
                    "transport or pass _use_object_store=True to ray.get to fetch the object through the object store instead. "
                    f"(at {calling()})"
                )
            tensors = self._one_sided(None, None)
        return _put_in(self.rest, tensors)

    def _by_memory(self):
        primary = _primaries.get(self.name)
        if primary is not None:  # of another actor in this process
            return [
                tensor.clone() if hasattr(tensor, "clone") else tensor.copy() for tensor in _to_other(None, self.name)
            ]
        return _core.get_one(self._beside(_to_other, self.name), None)

    def _beside(self, function, *args):
        return self.owner.__ray_call__.options(concurrency_group=SYSTEM_GROUP).remote(function, *args)

    def _one_sided(self, receiver, sender):
        manager = registry.manager(self.transport)
        communicator = manager.get_communicator_metadata(sender, receiver, self.transport)
        into = _into(self.name, self.about)
        request = manager.fetch_multiple_tensors(self.name, self.about, communicator, into)
        return manager.wait_fetch_complete(request)

    def _by_transport(self, actor):
        facts = session.current.placement.facts(actor) if actor else None
        receiver = facts and _handle_from(_core.link_at(facts["offset"], True, weak=True), _core.ref_at(facts["info"]))
        manager = registry.manager(self.transport)
        if manager.is_one_sided():
            return self._one_sided(receiver, self.owner)
        communicator = manager.get_communicator_metadata(self.owner, receiver, self.transport)
        sent = self._beside(_send, self.name, communicator)
        tensors = manager.recv_multiple_tensors(self.name, self.about, communicator)
        _core.get_one(sent, None)
        return tensors


def receive(*what):
    """The function that the pickle of a Direct calls: gives the value, or, in front of a method that takes it as an argument, an Arrived."""
    arrived = Arrived(*what)
    how = getattr(_asked, "how", None)
    if how == "peek":
        return arrived
    try:
        if how == "store" or _in_get():
            return arrived.result(how == "store")
        actor = _core.receiving_actor()
        if (
            actor in _actors
        ):  # the thread that has taken the message must not wait: others may wait for this actor's tensors
            return arrived
        return arrived.argument(actor)
    except Exception as error:
        error.__passes_unpickling__ = True  # pyright: ignore[reportAttributeAccessIssue]
        raise


def _in_get():
    frame = sys._getframe(2)
    for _ in range(_REACHES):
        if frame is None:
            return False
        if frame.f_code.co_name == "get" and frame.f_globals.get("__name__") == "rayshim.api.values":
            return True
        frame = frame.f_back
    return False


def get_with_mode(how, read, *args):
    """`read(*args)`, with that way of getting direct tensors: "store": through the object store; "peek": as Arrived, where they stay."""
    _asked.how = how
    try:
        return read(*args)
    finally:
        _asked.how = None


# ---- methods of actors


def joins(number, transports):
    """An actor is about to be created here. Returns the decorator of its methods."""
    registry.take(transports)
    _actors.add(number)
    return functools.partial(_receiving, number)


def _receiving(number, method):
    """The method, which gets the values of direct tensors among its arguments."""

    def found(args, kwargs):
        if not any(type(value) is Arrived for value in (*args, *kwargs.values())):
            return args, kwargs
        values = {}

        def value(given):
            if type(given) is not Arrived:
                return given
            if given.name not in values:
                values[given.name] = given.argument(number)
            return values[given.name]

        return [value(given) for given in args], {name: value(given) for name, given in kwargs.items()}

    def called(*args, **kwargs):
        args, kwargs = found(args, kwargs)
        return method(*args, **kwargs)

    async def awaited(*args, **kwargs):
        return await called(*args, **kwargs)

    async def iterated(*args, **kwargs):
        async for value in called(*args, **kwargs):
            yield value

    def generated(*args, **kwargs):
        return (yield from called(*args, **kwargs))

    if inspect.isasyncgenfunction(method):
        return _like(iterated, method)
    if inspect.iscoroutinefunction(method):
        return _like(awaited, method)
    return _like(generated if inspect.isgeneratorfunction(method) else called, method)


def sending(method, transport):
    """The method, whose result's tensors stay in the actor."""

    def direct(value):
        wrapped = Direct(value, transport, _running_actor())
        return wrapped if wrapped.has_tensors else _put_in(wrapped.rest, [])

    def called(*args, **kwargs):
        return direct(method(*args, **kwargs))

    async def awaited(*args, **kwargs):
        return direct(await method(*args, **kwargs))

    return _like(awaited if inspect.iscoroutinefunction(method) else called, method)


def _like(wrapper, method):
    functools.update_wrapper(wrapper, method)
    if hasattr(method, "__self__"):
        wrapper.__self__ = method.__self__
    return wrapper


# ---- put, and where to receive


def put(value, name):
    """A ref of `value`, whose tensors stay in this process."""
    transport = registry.normalized(name)
    manager = registry.manager(transport)
    if not manager.is_one_sided():
        raise ValueError(
            f"ray.put() is not supported for two-sided RDT transport {transport!r}. Use a one-sided transport such as NIXL, or return the "
            f"value from an actor task and use the @ray.method(tensor_transport={transport!r}) decorator instead. (at {calling()})"
        )
    if registry.travels_in_memory(transport):
        raise ModuleNotFoundError(
            f"put(..., _tensor_transport={name!r}) at {calling()}: No module named '{transport.lower()}'; rayshim has no transport {transport}. "
            "Leave _tensor_transport out: tensors travel through shared memory"
        )
    ref = _core.put(Direct(value, transport, _running_actor()))
    methods.know(ref, transport)
    return ref


def receive_into(ref, tensors, device):
    """The next `get` of this ref receives into these tensors (weakly held), or on this device."""
    transport = methods.transport_of(ref)
    if transport is None:
        raise ValueError(f"Ref {ref} is not an RDT object. (at {calling()})")
    if device is not None:
        import torch

        if torch.device(device).type not in registry.info(transport).devices:
            raise ValueError(
                f"Tensor transport backend {transport} does not support fetching onto target device {device}. (at {calling()})"
            )
    import weakref

    name = get_with_mode("peek", _core.get_one, ref, None).name
    _targets[name] = None if tensors is None else [weakref.ref(tensor) for tensor in tensors], device


def _into(name, about):
    """The tensors to receive into; None: the transport makes them."""
    targets, device = _targets.get(name, (None, None))
    if device is not None:
        import torch

        return [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in about.tensor_meta]
    tensors = targets and [tensor() for tensor in targets]
    if not tensors or any(tensor is None for tensor in tensors):
        return None
    if len(tensors) != len(about.tensor_meta):
        raise ValueError(
            f"Length of tensor_buffers ({len(tensors)}) does not match length from object metadata ({len(about.tensor_meta)})."
        )
    for number, (tensor, (shape, dtype)) in enumerate(zip(tensors, about.tensor_meta)):
        for what, found, wanted in (("Shape", tensor.shape, shape), ("Dtype", tensor.dtype, dtype)):
            if found != wanted:
                raise ValueError(
                    f"{what} of tensor_buffer at index {number} ({found}) does not match {what.lower()} from object metadata ({wanted})."
                )
        if not tensor.is_contiguous():
            raise ValueError(f"Tensor buffer at index {number} is not contiguous.")
    return tensors
