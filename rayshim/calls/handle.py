"""Handles of actors and their methods, and how a handle is pickled."""

from __future__ import annotations

import collections
import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, Union

from reactor import _core
from reactor.codec import import_ref

from rayshim.calls import binding
from rayshim.calls import options as opts
from rayshim.calls.generators import num_returns_code, window
from rayshim.calls.refs import _run
from rayshim.errors.exceptions import PendingCallsLimitExceeded
from rayshim.errors.user_code import calling
from rayshim.session import session
from rayshim.session.ids import actor_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rayshim.calls.class_info import ClassInfo
    from rayshim.dag.class_node import ClassMethodNode
    from rayshim.session.ids import ActorID

T = TypeVar("T")


class ActorMethod(_core.Method):
    """One method of one actor: `handle.method.remote(...)`."""

    __module__ = "rayshim.actor"

    __slots__ = ()
    is_generator = False

    def _remote(self, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
        """Ray's older form of `options(**options).remote(*args, **kwargs)`."""
        return opts.remote_with(self, args, kwargs, options)

    def __reduce__(self) -> tuple[Any, ...]:
        _, info_ref = _facts[self.link]
        return getattr, (_handle_from(self.link, info_ref), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{self.name}()', try 'object.{self.name}.remote()'. (at {calling()})"
        )

    def options(self, **given: Any) -> _OptionedMethod:
        """The same method with other options, such as num_returns or name."""
        checked = opts.call_options(given, is_generator=self.is_generator)
        return _OptionedMethod(self, checked)

    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode:
        """A node of a graph that calls the method; see `ray.dag`."""
        return _bind(self, args, kwargs, {})

    @property
    def _method_name(self) -> str:
        return self.name

    @property
    def _num_returns(self) -> int | str:
        """How many refs a call gives; "streaming" for a generator."""
        return "streaming" if self.is_generator else self.results

    @property
    def _is_generator(self) -> bool:
        return self.is_generator

    @property
    def _actor(self) -> ActorHandle[Any]:
        """The handle of the actor."""
        return _handle_from(self.link, _facts[self.link][1])

    def __dir__(self) -> list[str]:
        return [*dir(object), "options", "remote", "bind"]

    def __repr__(self) -> str:
        return f"ActorMethod({self.name})"


_facts = weakref.WeakKeyDictionary()  # a link whose methods have been looked up -> (ClassInfo, its ref)


def _bind(method, args, kwargs, options):
    handle = ActorHandle(method.link, *_facts[method.link])
    of_class = handle._info.methods[method.name]
    results, signature = of_class.results, of_class.signature
    if signature is not None:
        signature.check(args, kwargs, bound=True)
    given = options.get("num_returns")
    return binding.nodes().class_node.bind_method(
        handle, method.name, args, kwargs, options, results if given is None else given
    )


class GeneratorMethod(ActorMethod):
    """A method that is a generator: its calls return an ObjectRefGenerator."""

    __module__ = "rayshim.actor"

    __slots__ = ()
    is_generator = True


_AROUND = (
    "name",
    "concurrency_group",
    "retry_exceptions",
    "tensor_transport",
)  # options of a call that the actor's process needs


class _OptionedMethod:
    def __init__(self, method: ActorMethod, options: dict[str, Any]) -> None:
        results = options.get("num_returns")
        results = method.results if results is None else num_returns_code(results, method.is_generator)
        around = tuple(
            (name, tuple(value) if isinstance(value, list) else value)
            for name in _AROUND
            if (value := options.get(name)) not in (None, "")
        )
        running = session.current
        # without a session, the call refuses the handle
        ref = running.export_options(around) if around and running else None
        retries = options.get("max_task_retries")
        self.remote: Callable[..., Any] = method.vary(
            results, *window(options), method.retries if retries is None else opts.retries(retries), ref
        ).remote
        self._method, self._options = method, options
        if transport := options.get("tensor_transport"):
            handle = ActorHandle(method.link, *_facts[method.link])
            self.remote = _sending(
                method.vary(results, *window(options), method.retries, ref), handle, transport, results
            ).remote

    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode:
        return _bind(self._method, args, kwargs, self._options)


def _sending(method, handle, transport, results):
    from rayshim.calls.direct.methods import Sending

    return Sending(method, handle, transport, results)


class _Limited:
    """A method of an actor with `max_pending_calls`. The limit applies to one handle: `pending` has the refs of its calls that may
    not be done yet."""

    def __init__(self, method: Any, pending: list[_core.Ref], limit: int) -> None:
        self._method, self._pending, self._limit = method, pending, limit

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Like ActorMethod.remote. Raises PendingCallsLimitExceeded if too many calls of this handle are pending."""
        if len(self._pending) >= self._limit:
            self._pending[:] = [ref for ref in self._pending if not ref.done()]
        if len(self._pending) >= self._limit:
            handle = ActorHandle(self._method.link, *_facts[self._method.link])
            raise PendingCallsLimitExceeded(
                f"The task {self._method.name} could not be submitted to {handle!r} because more than {self._limit} tasks are queued on the actor. This limit can "
                f"be adjusted with the `max_pending_calls` actor option. (at {calling()}: or get some of their results first)"
            )
        refs = self._method.remote(*args, **kwargs)
        if refs is not None:
            first = refs[0] if isinstance(refs, list) else refs
            self._pending.append(getattr(first, "_generator_ref", first))
        return refs

    def options(self, **given: Any) -> _Limited:
        """Like ActorMethod.options."""
        return _Limited(self._method.options(**given), self._pending, self._limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)


class _Decorated:
    """A method with `__ray_invocation_decorator__`: `decorator(send)(args, kwargs)` takes the place of `send(args, kwargs)`, which sends a call."""

    def __init__(self, method: Any, decorator: Callable[..., Any]) -> None:
        self._method, self._decorator = method, decorator

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Like ActorMethod.remote. Returns what the decorated function returns."""
        return self._decorator(lambda args, kwargs: self._method.remote(*args, **kwargs))(args, kwargs)

    def options(self, **given: Any) -> _Decorated:
        """Like ActorMethod.options."""
        return _Decorated(self._method.options(**given), self._decorator)

    def _remote(self, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
        return opts.remote_with(self, args, kwargs, options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)


class ActorHandle(Generic[T]):
    """A handle of an actor. The actor's methods are attributes: `handle.method.remote(...)`. A handle can be passed to tasks and actors, stored
    and returned.

    The actor ends when its last handle is gone and its pending calls are done.
    """

    __module__ = "rayshim.actor"

    _link: _core.Link
    _info: ClassInfo
    _info_ref: _core.Ref

    def __init__(self, link: _core.Link, info: ClassInfo, info_ref: _core.Ref) -> None:
        d = self.__dict__
        d["_link"], d["_info"], d["_info_ref"] = link, info, info_ref

    def __getattr__(self, name: str) -> ActorMethod:
        # A method is made at its first use; later it is found in the instance's dictionary.
        try:
            method = self._info.methods[name]
        except KeyError:
            if name.startswith("__"):
                raise AttributeError(
                    f"'ActorHandle' object has no attribute '{name}'"
                ) from None  # Python itself looks up such names
            if name.startswith("_ray_"):
                from rayshim.calls.handle_facts import facts

                with contextlib.suppress(KeyError):
                    return facts(self._info, name)
            methods = ", ".join(method for method in self._info.methods if not method.startswith("__"))
            raise AttributeError(
                f"'ActorHandle' object has no attribute '{name}' (at {calling()}; the methods of {self._info.name} are: {methods})"
            ) from None
        check = None if method.signature is None else method.signature.check
        kind = GeneratorMethod if name in self._info.generators else ActorMethod
        retries = method.options.get("max_task_retries")
        retries = opts.retries(self._info.max_task_retries if retries is None else retries)
        bound: Any = kind(
            self._link,
            method.index,
            name,
            method.results,
            method.least,
            method.most,
            check,
            *window(method.options),
            retries,
        )
        if self._info.max_pending_calls > 0:
            bound = _Limited(bound, self.__dict__.setdefault("_pending", []), self._info.max_pending_calls)
        if transport := method.options.get("tensor_transport"):
            bound = _sending(bound, self, transport, method.results)
        if method.decorator is not None:
            bound = _Decorated(bound, method.decorator)
        self.__dict__[name] = bound
        _facts[self._link] = self._info, self._info_ref
        return bound

    @property
    def _actor_id(self) -> ActorID:
        return actor_id(self._link.tag_hash)

    @property
    def _ray_actor_id(self) -> ActorID:
        return self._actor_id

    def _get_local_state(self):
        """The state of the actor as this process knows it, a number of Ray's ActorTableData.ActorState: 2 alive, 4 dead."""
        return _STATES[self._link.state]

    def __dir__(self) -> list[str]:
        return ["__init__", *(name for name in self._info.methods if name != "__dag_stage__")]

    def __repr__(self) -> str:
        return f"Actor({self._info.qualname}, {self._actor_id.hex()})"

    def __hash__(self) -> int:
        return hash(self._link.tag_hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorHandle) and self._link.uid == other._link.uid

    def __copy__(self) -> ActorHandle[T]:
        return ActorHandle(self._link, self._info, self._info_ref)

    def __deepcopy__(self, memo: Any) -> ActorHandle[T]:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        index = _core.export_ref(self._link)
        if index >= 0:
            return _weak_handle_from if self._link.weak else _handle_from, (_ImportLink(index), self._info_ref)
        if self._link.weak:  # found by its name: what is pickled keeps the actor no more than this handle does
            _pickled[self._link.uid] = self._link
            return _weak_handle_at, (self._link.offset, self._info_ref, _run())
        _core.hold(self._link.offset)  # pickled outside any call: the actor stays until the session ends
        _core.offer(self._link, named=True)
        return _handle_at, (self._link.offset, self._info_ref, _run())


_STATES = {0: 2, 1: 2, 2: 4}  # of _core.Link -> ActorTableData.ActorState


ActorProxy = Union[ActorHandle[T], type[T]]  # noqa: UP007  at run time there is no `|` of these; as in Ray: type checkers take the methods from the class


class _ImportLink:
    """Represents a link in a pickle; unpickling gives the link."""

    def __init__(self, index):
        self.index = index

    def __reduce__(self):
        return import_ref, (self.index,)


def _handle_from(link, info_ref):
    return ActorHandle(link, _info_of(info_ref), info_ref)


def _weak_handle_from(link, info_ref):
    return ActorHandle(_core.link_at(link.offset, True, weak=True), _info_of(info_ref), info_ref)  # pyright: ignore[reportArgumentType]


_pickled = {}  # uid -> link: it keeps the actor's entry in the store, for handles to come


def _weak_handle_at(offset, info_ref, run):
    return _handle_at(offset, info_ref, run, weak=True)


def _handle_at(offset, info_ref, run, weak=False):
    link = _core.link_at(offset, True, weak=weak) if run == _run() else None
    if link is None:
        raise ValueError(
            f"this pickled actor handle belongs to a session that has ended (unpickled at {calling()}). Create the actor again after the new init()"
        )
    return _handle_from(link, info_ref)


_infos = weakref.WeakValueDictionary()  # (session, uid of the info's object) -> ClassInfo, as long as there is a handle
_recent = collections.deque(maxlen=64)  # of them, those that stay anyway


def info_of(facts: dict[str, Any]) -> ClassInfo:
    """The ClassInfo of the actor with these facts."""
    return _info_of(_core.ref_at(facts["info"]))


def _info_of(ref):
    key = (_core.epoch(), ref.uid)
    info = _infos.get(key)
    if info is None:
        info = _infos[key] = _core.get_one(ref, None)
        _recent.append(info)
    return info


def find(name: str, namespace: str, without_handles: bool = False) -> ActorHandle[Any] | None:
    """The handle of the named actor, or None. `without_handles`: also of one whose handles are gone, while its calls run."""
    found = session.ensure().placement.named(name, namespace, without_handles)
    return found and _handle_from(*found)
