"""Async actors that await calls of themselves, and of others that call them back."""

import asyncio

import pytest


@pytest.fixture
def actor_class(ray):
    @ray.remote
    class Node:
        def __init__(self):
            self.seen = []
            self.lock = asyncio.Lock()
            self.queue = asyncio.Queue()

        async def add(self, x):
            self.seen.append(x)
            await asyncio.sleep(0)
            return len(self.seen)

        async def add_all(self, me, values):
            return [await me.add.remote(x) for x in values]

        async def add_at_once(self, me, values):
            return await asyncio.gather(*(me.add.remote(x) for x in values))

        async def locked(self, me, x):
            async with self.lock:
                return await me.add.remote(x)

        async def down(self, nodes, depth):
            if depth == 0:
                await asyncio.sleep(0.001)
                return [depth]
            return [depth, *await nodes[depth % len(nodes)].down.remote(nodes, depth - 1)]

        async def fail(self, x):
            await asyncio.sleep(0)
            raise KeyError(x)

        async def caught(self, me, x):
            try:
                await me.fail.remote(x)
            except KeyError as error:
                return error.cause.args[0]

        async def put(self, x):
            await self.queue.put(x)

        async def put_and_take(self, me, values):
            for x in values:
                await me.put.remote(x)
            return [await self.queue.get() for _ in values]

        async def in_background(self, me, values):
            """A task of the actor's own calls the actor, too, while this call awaits."""
            beside = asyncio.create_task(self.add_all(me, values))
            mine = [await me.add.remote(-x) for x in values]
            return sorted(mine + await beside)

        async def give(self, n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        async def sum_of_given(self, me, n):
            return sum([await ref async for ref in me.give.options(num_returns="streaming").remote(n)])

        async def current(self):
            return asyncio.current_task() is not None

        async def currents(self, me):
            before = asyncio.current_task()
            inside = await me.current.remote()
            return inside and asyncio.current_task() is before and asyncio.get_running_loop() is before.get_loop()

        async def state(self):
            return self.seen

    return Node


@pytest.fixture
def node(ray, actor_class):
    return actor_class.remote()


def test_one_after_the_other(ray, node):
    assert ray.get(node.add_all.remote(node, [1, 2, 3])) == [1, 2, 3]
    assert ray.get(node.state.remote()) == [1, 2, 3]


def test_at_once(ray, node):
    lengths = sorted(ray.get(node.add_at_once.remote(node, [1, 2, 3])))
    assert lengths[-1] == 3
    assert all(i <= length for i, length in enumerate(lengths, 1))
    assert sorted(ray.get(node.state.remote())) == [1, 2, 3]


def test_in_a_lock(ray, node):
    assert sorted(ray.get([node.locked.remote(node, x) for x in range(3)])) == [1, 2, 3]


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_in_a_circle(ray, actor_class, nodes):
    ring = [actor_class.remote() for _ in range(nodes)]
    assert ray.get(ring[0].down.remote(ring, 7)) == list(range(7, -1, -1))


def test_an_error_arrives(ray, node):
    assert ray.get(node.caught.remote(node, "k")) == "k"
    with pytest.raises(KeyError):
        ray.get(node.fail.remote("k"))


def test_a_queue_of_the_actor(ray, node):
    assert ray.get(node.put_and_take.remote(node, [5, 6])) == [5, 6]


def test_beside_a_task_of_its_own(ray, node):
    counts = ray.get(node.in_background.remote(node, [1, 2, 3]))
    assert len(counts) == 6 and counts[-1] == 6
    assert sorted(ray.get(node.state.remote())) == [-3, -2, -1, 1, 2, 3]
    assert ray.get(node.add.remote(9)) == 7


def test_a_generator_of_its_own(ray, node):
    assert ray.get(node.sum_of_given.remote(node, 4)) == 6


def test_the_task_and_the_loop_are_the_same_afterwards(ray, node):
    assert ray.get(node.currents.remote(node))
