"""`as_completed` and `map_unordered`: results in the order in which they become ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from rayshim import api
from rayshim.errors.user_code import at, calling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rayshim.calls.function import RemoteFunction
    from rayshim.calls.handle import ActorMethod
    from rayshim.calls.refs import ObjectRef

T = TypeVar("T")


@overload
def as_completed(
    refs: Sequence[ObjectRef[T]], *, chunk_size: int = 10, yield_obj_refs: Literal[False] = False, **kwargs: Any
) -> Iterator[T]: ...
@overload
def as_completed(
    refs: Sequence[ObjectRef[T]], *, chunk_size: int = 10, yield_obj_refs: Literal[True], **kwargs: Any
) -> Iterator[ObjectRef[T]]: ...
@overload
def as_completed(
    refs: Sequence[ObjectRef[T]], *, chunk_size: int = 10, yield_obj_refs: bool, **kwargs: Any
) -> Iterator[T | ObjectRef[T]]: ...
def as_completed(
    refs: Sequence[ObjectRef[Any]], *, chunk_size: int = 10, yield_obj_refs: bool = False, **kwargs: Any
) -> Iterator[Any]:
    """Yields the results of `refs` (or the refs themselves) in chunks, whenever `chunk_size` of the remaining ones are ready.

    `kwargs` are passed to `wait`. Raises ValueError for a `chunk_size` below 1, and for `num_returns`.
    """
    _check(chunk_size, kwargs, "chunksize")
    while refs:
        done, refs = _next_chunk(refs, chunk_size, yield_obj_refs, kwargs)
        yield from done


@overload
def map_unordered(
    fn: RemoteFunction[..., T],
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: Literal[False] = False,
    **kwargs: Any,
) -> Iterator[T]: ...
@overload
def map_unordered(
    fn: RemoteFunction[..., T],
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: Literal[True],
    **kwargs: Any,
) -> Iterator[ObjectRef[T]]: ...
@overload
def map_unordered(
    fn: RemoteFunction[..., T] | ActorMethod,
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: bool = False,
    **kwargs: Any,
) -> Iterator[Any]: ...
def map_unordered(
    fn: RemoteFunction[..., Any] | ActorMethod,
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: bool = False,
    **kwargs: Any,
) -> Iterator[Any]:
    """Yields the results (or refs) of `fn.remote(item)` for each item, as they become ready.

    At most `backpressure_size` calls run at the same time (None: no limit). Otherwise like `as_completed`.
    """
    if backpressure_size is not None and backpressure_size <= 0:
        raise ValueError(
            f"backpressure_size must be positive. ({at('map_unordered')}: {backpressure_size}; None is no limit)"
        )
    _check(chunk_size, kwargs, "chunk_size")
    refs = []
    for item in items:
        refs.append(fn.remote(item))
        if backpressure_size is not None and len(refs) >= backpressure_size:
            done, refs = _next_chunk(refs, chunk_size, yield_obj_refs, kwargs)
            yield from done
    yield from as_completed(refs, chunk_size=chunk_size, yield_obj_refs=yield_obj_refs, **kwargs)


def _check(chunk_size, kwargs, argument):
    if chunk_size < 1:
        raise ValueError(f"`chunk_size` must be >= 1 (at {calling()}: {argument}={chunk_size})")
    if "num_returns" in kwargs:
        raise ValueError(f"Use the `{argument}` argument instead of `num_returns`. (at {calling()})")


def _next_chunk(refs, chunk_size, yield_obj_refs, kwargs):
    ready, left = api.wait(refs, num_returns=min(chunk_size, len(refs)), **kwargs)
    return (ready if yield_obj_refs else api.get(ready)), left
