"""The decorator `remote`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar, overload

from rayshim.calls import options as opts
from rayshim.calls.actor_class import ActorClass
from rayshim.calls.function import RemoteFunction, _is_generator
from rayshim.calls.options import REMOTE_USAGE
from rayshim.errors.sites import at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from rayshim.calls.function import RemoteGeneratorFunction


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Y = TypeVar("Y")


class _Decorator(Protocol):
    """What `remote(num_cpus=1, ...)` gives."""

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
    """Decorator that makes a function or a class remote, plain (`@remote`) or with options (`@remote(num_cpus=2)`).

    Raises TypeError for what is neither a function nor a class, AssertionError and ValueError for wrong options.
    """
    if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], type)):
        return _make_remote(args[0], {})
    if args or not kwargs:
        raise AssertionError(REMOTE_USAGE)
    return lambda target: _make_remote(target, kwargs)


def _make_remote(target: Any, given: dict[str, Any]) -> RemoteFunction[..., Any] | ActorClass[Any]:
    if isinstance(target, (RemoteFunction, ActorClass)):
        raise TypeError(
            f"The @ray.remote decorator was applied twice to {target.__name__}. ({at('remote')}: apply it once)"
        )
    if isinstance(target, type):
        return ActorClass(target, opts.actor_options(given))
    if not hasattr(target, "__code__") and type(target).__name__ != "cython_function_or_method":
        raise TypeError(
            f"The @ray.remote decorator must be applied to either a function or a class. ({at('remote')}: it was given {target!r:.80})"
        )
    checked = opts.task_options(given, is_generator=_is_generator(target))
    if checked.get("num_gpus"):
        checked.setdefault("max_calls", 1)  # Ray's rule: what the process holds of a GPU is given back after each call
    return RemoteFunction(target, checked)
