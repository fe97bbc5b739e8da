"""A program of a user who checks types: rayshim/tests/test_types.py runs the checker over it, and runs it."""

from collections.abc import Iterator
from typing import Any

from typing_extensions import assert_type

import rayshim as ray
from rayshim.actor import ActorProxy
from rayshim.util import as_completed


@ray.remote
def double(x: int, times: int = 1) -> int:
    return 2 * x * times


@ray.remote(num_cpus=1)
def name(x: int) -> str:
    return str(x)


@ray.remote(num_returns=2)
def two() -> tuple[int, int]:
    return 1, 2


@ray.remote
def count(n: int) -> Iterator[int]:
    for i in range(n):  # noqa: UP028  a streaming generator gets values, as in Ray, and `range` takes none
        yield i


@ray.remote
class Counter:
    def __init__(self, start: int) -> None:
        self.n = start

    @ray.method
    def add(self, n: int) -> int:
        self.n += n
        return self.n

    @ray.method(concurrency_group=None)
    def text(self) -> str:
        return str(self.n)

    @ray.method
    async def later(self) -> float:
        return float(self.n)


def asks(counter: ActorProxy[Any]) -> int:
    found: int = ray.get(counter.add.remote(0))
    return found


def main() -> None:
    with ray.init(num_cpus=2, placement="isolated", seed=1) as context:
        assert_type(context["node_id"], Any)
        ref = double.remote(2)
        assert_type(ref, ray.ObjectRef[int])
        assert_type(ray.get(ref), int)
        assert_type(ray.get(double.remote(ref, times=3)), int)
        assert_type(ray.get([ref, double.remote(4)], timeout=60), list[int])
        assert_type(ray.get(name.remote(3)), str)
        assert_type(ray.get(double.options(num_cpus=0).remote(2)), int)
        assert_type(ray.put("a"), ray.ObjectRef[str])
        ready, rest = ray.wait([ref], num_returns=1)
        assert_type(ready, list[ray.ObjectRef[int]])
        a, b = two.remote()
        assert_type(list(as_completed([ref])), list[int])
        assert_type([ray.get(r) for r in count.remote(2)], list[int])
        print(ray.get([a, b]), rest)
        counter = Counter.remote(1)
        print(asks(counter), ray.get(counter.add.remote(2)))
        ray.kill(counter)
        print(ray.cluster_resources()["CPU"], ray.get_runtime_context().get_job_id())


if __name__ == "__main__":
    main()
