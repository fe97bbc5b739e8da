"""The decorator `remote`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar, overload

from rayshim.calls import options as opts
from rayshim.calls.actor_class import ActorClass
from rayshim.calls.function import RemoteFunction
from rayshim.calls.options import REMOTE_USAGE
from rayshim.calls.signature import is_generator
from rayshim.errors.user_code import at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from rayshim.calls.function import RemoteGeneratorFunction


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Y = TypeVar("Y")


class _Decorator(Protocol):
    """The decorator that `remote(num_cpus=1, ...)` returns."""

    @overload
    def __call__(self, target: type[T], /) -> ActorClass[T]: ...
    @overload
    def __call__(self, target: Callable[P, NoReturn], /) -> RemoteFunction[P, Any]: ...  # without annotations
    @overload
    def __call__(self, target: Callable[P, Iterator[Y]], /) -> RemoteGeneratorFunction[P, Y]: ...
    @overload
    def __call__(self, target: Callable[P, AsyncIterator[Y]], /) -> RemoteGeneratorFunction[P, Y]: ...
    @overload
    def __call__(self, target: Callable[P, R], /) -> RemoteFunction[P, R]: ...


@overload
def remote(target: type[T], /) -> ActorClass[T]: ...
@overload
def remote(target: Callable[P, NoReturn], /) -> RemoteFunction[P, Any]: ...  # without annotations
@overload
def remote(target: Callable[P, Iterator[Y]], /) -> RemoteGeneratorFunction[P, Y]: ...
@overload
def remote(target: Callable[P, AsyncIterator[Y]], /) -> RemoteGeneratorFunction[P, Y]: ...
@overload
def remote(target: Callable[P, R], /) -> RemoteFunction[P, R]: ...
@overload
def remote(*, num_returns: int | str, **options: Any) -> Any: ...
@overload
def remote(**options: Any) -> _Decorator: ...
def remote(*args: Any, **kwargs: Any) -> Any:
    """Decorator that turns a function into a task and a class into an actor class: `@remote`, or `@remote(num_cpus=2)` with options.

    `function.remote(...)` runs the task in a worker process and returns a ref at once. `Class.remote(...)` creates an actor and
    returns its handle; `handle.method.remote(...)` calls a method of the actor and returns a ref at once.

    Raises TypeError if the target is neither a function nor a class, AssertionError or ValueError for wrong options.
    """
    if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], type)):
        return _make_remote(args[0], {})
    if args or not kwargs:
        raise AssertionError(REMOTE_USAGE)
    return lambda target: _make_remote(target, kwargs)


def _make_remote(target: Any, given: dict[str, Any]) -> RemoteFunction[..., Any] | ActorClass[Any]:
    if isinstance(target, (RemoteFunction, ActorClass)):
        raise TypeError(
            f"The @ray.remote decorator must be applied to either a function or a class. ({at('remote')}: {target.__name__} is decorated already; "
            "apply it once)"
        )
    if isinstance(target, type):
        if abstract := getattr(target, "__abstractmethods__", None):
            raise TypeError(
                f"Can't instantiate abstract class ActorClass({target.__name__}) with abstract method{'s' * (len(abstract) > 1)} "
                f"{', '.join(sorted(abstract))} ({at('remote')}: make a subclass remote that defines what is abstract)"
            )
        return ActorClass(target, opts.actor_options(given))
    if not hasattr(target, "__code__") and type(target).__name__ != "cython_function_or_method":
        raise TypeError(
            f"The @ray.remote decorator must be applied to either a function or a class. ({at('remote')}: it was given {target!r:.80})"
        )
    checked = opts.task_options(given, is_generator=is_generator(target))
    if checked.get("num_gpus") and checked.get("max_calls") is None:
        checked["max_calls"] = 1  # Ray's rule: the process ends after each call and so frees its GPU memory
    return RemoteFunction(target, checked)
