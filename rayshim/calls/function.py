"""Remote functions: `@remote def f`, `f.remote(...)`."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, overload

from reactor import _core

from rayshim.calls import binding, requested, used_modules
from rayshim.calls import options as opts
from rayshim.calls.announced import Announced
from rayshim.calls.generators import num_returns_code, window
from rayshim.calls.signature import Signature, is_coroutine, is_generator
from rayshim.environments import checking as environments
from rayshim.environments.keys import frozen
from rayshim.errors.user_code import calling, module_of
from rayshim.resources import accelerators, demands, num_threads
from rayshim.resources.bundles import capturing
from rayshim.session import session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rayshim.calls.generators import ObjectRefGenerator
    from rayshim.calls.refs import ObjectRef
    from rayshim.dag.function_node import FunctionNode

P = ParamSpec("P")
R = TypeVar("R")
Y = TypeVar("Y")

_VARIANTS = 64  # kept of one function


class RemoteFunction(Generic[P, R]):
    """A function that runs as a task in a worker process.

    `remote(*args, **kwargs)` returns at once: an ObjectRef, a list of them (`num_returns` above 1), None (`num_returns=0`) or, for a
    generator function, an ObjectRefGenerator. It raises TypeError if the arguments do not fit the function.
    """

    __module__ = "rayshim.remote_function"

    def __init__(
        self, function: Callable[P, R], options: dict[str, Any], decorated: RemoteFunction[P, R] | None = None
    ) -> None:
        if is_coroutine(function):
            raise ValueError(
                "'async def' should not be used for remote tasks. You can wrap the async function with `asyncio.run(f())`. See more "
                f"at: https://docs.ray.io/en/latest/ray-core/actors/async_api.html ({getattr(function, '__qualname__', function)} at {calling()})"
            )
        self._function = function
        self._options = options
        self._decorated = decorated  # where the options come from `options()`: the function that `@remote` made
        self._variants = {}  # options -> the RemoteFunction with these options, so that it is exported only once
        self.__name__: str = getattr(function, "__name__", "function")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", None)  # pyright: ignore[reportAttributeAccessIssue]
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._function_name = f"{self.__module__}.{self.__qualname__}"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{self._function_name}()', try '{self._function_name}.remote()'. (at {calling()})"
        )

    @overload
    def remote(self, /, *args: P.args, **kwargs: P.kwargs) -> ObjectRef[R]: ...
    @overload
    def remote(self, /, *args: Any, **kwargs: Any) -> ObjectRef[R]: ...  # refs in the place of values
    def remote(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the function in a task worker. The first call exports the function; later calls go directly to the core."""
        function = self._export()
        remote = function.remote
        decorate = getattr(self._function, "__ray_invocation_decorator__", None)
        if decorate is not None:
            plain = remote
            remote = lambda *args, **kwargs: decorate(lambda args, kwargs: plain(*args, **kwargs))(args, kwargs)  # noqa: E731
        depends_on_the_moment = getattr(self._options.get("scheduling_strategy"), "_fail_on_unavailable", False)
        if capturing() is None and not depends_on_the_moment:
            self.__dict__["remote"] = remote
        if function.stale:
            # Another thread has ended the session, perhaps before it could find this function among those that forget.
            self.forget()
            session.refuse_ended()
        return remote(*args, **kwargs)

    @overload
    def options(self, *, num_returns: None = None, **given: Any) -> RemoteFunction[P, R]: ...
    @overload
    def options(self, *, num_returns: int | str, **given: Any) -> Any: ...
    def options(self, **given: Any) -> Any:
        """The same function with other options; see `ray.remote`."""
        try:
            key = tuple(sorted((name, type(value), value) for name, value in given.items()))  # 1 is no 1.0
            known = self._variants.get(key)
        except TypeError:  # an option that cannot be hashed or compared
            key = known = None
        if known is None:
            base = {name: value for name, value in self._options.items() if name != "max_calls"}
            checked = opts.task_options(given, in_options=True, is_generator=is_generator(self._function), base=base)
            known = RemoteFunction(self._function, opts.merge(base, checked), self._decorated or self)
            if key is not None and len(self._variants) < _VARIANTS:
                self._variants[key] = known
        return known

    def _remote(self, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any) -> Any:
        """Ray's older form of `options(**options).remote(*args, **kwargs)`."""
        return opts.remote_with(self, args, kwargs, options)

    def bind(self, *args: Any, **kwargs: Any) -> FunctionNode:
        """A node of a graph that calls the function; see `ray.dag`."""
        return binding.nodes().FunctionNode(self._function, args, kwargs, self._options, _remote=self)

    def forget(self) -> None:
        """Called when the session has ended: the next call exports the function again."""
        self.__dict__.pop("remote", None)

    def _export(self):
        """The core's Function of this function in the session."""
        s = session.ensure()
        role = s.placement.role_of_task(
            (self.__name__, self.__qualname__, f"{module_of(self._function)}.{self.__qualname__}")
        )
        o = self._options if role is None else role.options(self._options)
        opts.check_at_call(o)
        resources = requested.task_resources(o)
        request = demands.resolve(o, resources, self.__qualname__)
        env, request = environments.of_call(s, o.get("runtime_env"), self.__name__, request)
        threads = num_threads.chosen(resources, env, role)
        flags = _flags(o, resources, request, s.placement.env_of_call(env), threads, self._calls_of_a_process())
        plain = self._function
        if plain not in s.exports:
            used_modules.prepare(plain, env)
        ref = s.export(plain, lambda: (Announced(self.__name__), plain, {}))
        if flags:  # the function itself stays what it was at its first call
            code = ref
            ref = s.export(plain, lambda: (None, code, dict(flags)), flags)
        signature = Signature(plain)
        s.exported.add(self)
        own = weakref.ref(self)
        function = _core.Function(
            ref,
            self.__name__,
            num_returns_code(o.get("num_returns"), is_generator(plain)),
            signature.min_args if signature.simple else 1 << 30,
            signature.max_args,
            signature.check,
            demands.number(
                s,
                request.demand,
                request.group,
                s.placement.setting(env, resources.get("GPU"), role and role.process),
                f"the task {self.__qualname__} (called at {calling()})",
            ),
            opts.retries(o.get("max_retries", 3)),
            *window(o),
            lambda *args, **kwargs: _again(own(), args, kwargs),
        )
        session.check_current(s)  # else some of it may be of this session, some of the next
        return function

    def _calls_of_a_process(self):
        """The number of calls after which a process ends, 0 for any number. As on Ray, what `@remote` was given, or what the program has set as
        `_max_calls` since then, also counts for calls with other options."""
        return (self._decorated or self)._max_calls or 0

    @property
    def _default_options(self) -> dict[str, Any]:
        """The options that were given with the function."""
        return dict(self._options)

    def __getattr__(self, name: str) -> Any:
        """As on Ray, `_num_cpus` and so on are the options that were given, or their defaults."""
        option = name[1:]
        if not name.startswith("_") or option not in opts.TASK_DEFAULTS:
            raise AttributeError(f"'RemoteFunction' object has no attribute '{name}'")
        return self._options.get(option, opts.TASK_DEFAULTS[option])

    def __reduce__(self) -> tuple[Any, ...]:
        code = session.current and session.current.exported_as(self._function)
        reduced = (
            (RemoteFunction, (self._function, self._options)) if code is None else (_exported, (code, self._options))
        )
        most = self._calls_of_a_process()
        return reduced if most == self._options.get("max_calls", 0) else (*reduced, {"_max_calls": most})

    def __repr__(self) -> str:
        return f"RemoteFunction({self.__qualname__})"


def _again(function, args, kwargs):
    """A call by `remote`, of the remote function `function` (None: nobody has it any more), that the program has kept from an earlier session."""
    if function is None:
        raise ValueError(
            f"this remote function belongs to an earlier init() that has been shut down (called at {calling()}). Call `remote` of the function itself"
        )
    return RemoteFunction.remote(function, *args, **kwargs)


def _exported(code, options):
    """The remote function that was exported as `code`, in the process to which it was passed."""
    _, function, _ = _core.get_one(code, None)
    session.current.imported(function, code)
    return RemoteFunction(function, options)


if TYPE_CHECKING:

    class RemoteGeneratorFunction(RemoteFunction[P, Any], Generic[P, Y]):
        """A RemoteFunction of a generator function."""

        @overload
        def remote(self, *args: P.args, **kwargs: P.kwargs) -> ObjectRefGenerator[Y]: ...  # type: ignore[overload-overlap]
        @overload
        def remote(self, *args: Any, **kwargs: Any) -> ObjectRefGenerator[Y]: ...
        def remote(self, *args: Any, **kwargs: Any) -> Any: ...


def _flags(o, resources, request, env, threads, most):
    """The options that the worker applies around the function, as a hashable key."""
    flags = {}
    if o.get("name"):
        flags["name"] = o["name"]
    if request.group:
        flags["group"] = (request.group, request.capture)
    if devices := accelerators.devices(resources):
        flags["devices"] = tuple(sorted(devices.items()))
        if request.part:
            flags["part"] = request.part
    if o.get("retry_exceptions"):
        which = o["retry_exceptions"]
        flags["retry_exceptions"] = tuple(which) if isinstance(which, (list, tuple)) else True
    if most:
        flags["max_calls"] = most
    if threads > 1:
        flags["threads"] = threads
    if env:
        flags["env"] = frozen(env)
    return tuple(sorted(flags.items()))
