"""The description of an actor class for its callers: its methods with their options and signatures."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from rayshim.calls import options as opts
from rayshim.calls.generators import num_returns_code
from rayshim.calls.signature import Signature, is_async, is_generator
from rayshim.errors.user_code import calling

SYSTEM_GROUP = "_ray_system"  # every actor has it: a call put there goes past what the actor is busy with
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rayshim.calls.refs import ObjectRef
    from rayshim.dag.class_node import ClassMethodNode

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_OPTIONS_ATTRIBUTE = "__ray_method_options__"
# Methods that every actor has; rayshim.worker.builtin_methods implements them.
BUILT_IN = {"__ray_ready__": (0, 0), "__ray_call__": (1, -1), "__ray_terminate__": (0, 0), "__dag_stage__": (3, -1)}


class MethodInfo:
    """A method of an actor class, for its callers.

    Attributes:
        index: its place among the methods.
        results: its number of results, as rayshim.calls.generators.num_returns_code gives it.
        least, most: how many positional arguments it takes; `least` is 1 << 30 if only the signature can tell, `most` -1 if there is no limit.
        signature: None for a method that every actor has.
        options: those of `@method(...)`.
        decorator: its `__ray_invocation_decorator__`, which callers apply to the function that sends a call; None: it has none.
    """

    __slots__ = ("decorator", "index", "least", "most", "options", "results", "signature")

    def __init__(
        self,
        index: int,
        results: int,
        least: int,
        most: int,
        signature: Signature | None,
        options: dict[str, Any],
        decorator: Callable[..., Any] | None = None,
    ) -> None:
        self.index, self.results, self.least, self.most = index, results, least, most
        self.signature, self.options, self.decorator = signature, options, decorator


class ClassInfo:
    """The description of an actor class for its callers: its methods in a fixed order, with signatures and numbers of results."""

    def __init__(self, cls: type, file_module: str) -> None:
        self.name: str = cls.__name__
        self.module: str = cls.__module__
        self.file_module = file_module  # see `module_of`
        self.qualname: str = cls.__qualname__
        self.is_async: bool = is_async(cls.__init__)
        self.methods: dict[str, MethodInfo] = {}
        self.generators: set[str] = set()  # names of the methods that are generators
        for name in dir(cls):
            static = _lookup(cls, name)
            function = static.__func__ if isinstance(static, (staticmethod, classmethod)) else static
            if hasattr(static, "__get__") and type(static).__name__ == "partialmethod":
                function = static.__get__(None, cls)
            if not is_function(function) or (name.startswith("__") and name in vars(object)) or name in BUILT_IN:
                continue
            options = options_of(_unwrapped(function))
            self.is_async |= is_async(function)
            signature = Signature(function, skip_self=not isinstance(static, staticmethod))
            least = signature.min_args if signature.simple else 1 << 30
            if is_generator(_unwrapped(function)):
                self.generators.add(name)
            results = num_returns_code(options.get("num_returns"), name in self.generators)
            decorator = getattr(_unwrapped(function), "__ray_invocation_decorator__", None)
            self.methods[name] = MethodInfo(
                len(self.methods), results, least, signature.max_args, signature, options, decorator
            )
        for name, (least, most) in BUILT_IN.items():
            self.methods[name] = MethodInfo(len(self.methods), 1, least, most, None, {})
        # Of one actor, see `of_actor`.
        self.max_task_retries: int = 0
        self.max_pending_calls: int = -1
        self.tensor_transport: bool = False

    def sends_tensors(self) -> bool:
        """Whether a method has `tensor_transport`."""
        return any(method.options.get("tensor_transport") for method in self.methods.values())

    def of_actor(self, options: dict[str, Any]) -> ClassInfo:
        """The ClassInfo for an actor with `options`."""
        info = copy.copy(self)
        info.max_task_retries = options.get("max_task_retries") or 0
        info.max_pending_calls = options.get("max_pending_calls", -1)
        info.tensor_transport = bool(options.get("enable_tensor_transport")) or self.sends_tensors()
        return info


def check_groups(info, groups):
    """AssertionError, as in Ray, for a method with `@method(concurrency_group=)` of a group that the class has not."""
    for name, method in info.methods.items():
        group = method.options.get("concurrency_group")
        if group is not None and group not in groups and group != SYSTEM_GROUP:
            raise AssertionError(
                f"{info.name}.{name}: concurrency_group={group!r}, and the actor's groups are {sorted(groups)} (made at {calling()}: name it in "
                "@ray.remote(concurrency_groups=...))"
            )


def options_of(function: Any) -> dict[str, Any]:
    """The options that `@method(...)` has set."""
    return getattr(function, _OPTIONS_ATTRIBUTE, {})


def _unwrapped(function):
    """As in Ray, the options are those of the function below all decorators that say what they wrap."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _lookup(cls, name):
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def is_function(o: object) -> bool:
    """Whether it is a plain function, or one of Cython's."""
    return hasattr(o, "__code__") or type(o).__name__ == "cython_function_or_method"


class _RemoteMethod(Protocol[P, R_co]):
    """A decorated method, as type checkers see it on a handle: see ActorProxy."""

    @overload
    def remote(self, *args: P.args, **kwargs: P.kwargs) -> ObjectRef[R_co]: ...
    @overload
    def remote(self, *args: Any, **kwargs: Any) -> ObjectRef[R_co]: ...  # refs in the place of values
    def options(self, **given: Any) -> Any: ...
    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode: ...


class _Decorator(Protocol):
    """The decorator that `method(...)` returns."""

    @overload
    def __call__(self, method: Callable[Concatenate[Any, P], Awaitable[R]], /) -> _RemoteMethod[P, R]: ...
    @overload
    def __call__(self, method: Callable[Concatenate[Any, P], R], /) -> _RemoteMethod[P, R]: ...


@overload
def method(method: Callable[Concatenate[Any, P], Awaitable[R]], /) -> _RemoteMethod[P, R]: ...
@overload
def method(method: Callable[Concatenate[Any, P], R], /) -> _RemoteMethod[P, R]: ...
@overload
def method(**kwargs: Any) -> _Decorator: ...
def method(*args: Any, **kwargs: Any) -> Any:
    """Decorator that sets options of an actor's method: `@ray.method(num_returns=2)`, or none: `@ray.method`. Raises AssertionError for an unknown option.

    Type checkers take the method's result from the decorated one, see ActorProxy.
    """
    if args:
        function, *more = args
        if kwargs or more or not callable(function):
            raise AssertionError(opts.METHOD_USAGE)
        return function
    checked = opts.method_options(kwargs)

    def annotate(function: Any) -> Any:
        if "num_returns" in checked:
            opts.check_num_returns(checked["num_returns"], is_generator(function))
        if "tensor_transport" in checked:
            checked["tensor_transport"] = opts.transport(checked["tensor_transport"])
        setattr(function, _OPTIONS_ATTRIBUTE, checked)
        return function

    return annotate
