import importlib
import warnings

import pytest


@pytest.fixture
def iter_(ray):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield importlib.import_module(f"{ray.__name__}.util.iter")


def test_items_are_dealt_out_in_turn(iter_):
    it = iter_.from_items(["a", "b", "c"], num_shards=2)
    assert repr(it) == "ParallelIterator[from_items[str, 3, shards=2]]"
    assert [list(shard) for shard in it.shards()] == [["a", "c"], ["b"]]


def test_a_range_is_cut_into_runs(iter_):
    it = iter_.from_range(7, num_shards=3)
    assert [list(shard) for shard in it.shards()] == [[0, 1], [2, 3], [4, 5, 6]]
    assert it.num_shards() == 3


def test_gather_sync_takes_one_of_each_shard_in_turn(iter_):
    it = iter_.from_iterators([range(3), lambda: (10 + i for i in range(2))])
    assert list(it.gather_sync()) == [0, 10, 1, 11, 2]
    it = iter_.from_iterators([range(3), range(1)])
    assert list(it.batch_across_shards()) == [[0, 0], [1], [2]]


@pytest.mark.parametrize("batch_ms, num_async", [(0, 1), (5, 1), (0, 3)])
def test_gather_async_gives_every_item(iter_, batch_ms, num_async):
    it = iter_.from_range(20, num_shards=2).gather_async(batch_ms=batch_ms, num_async=num_async)
    assert sorted(it) == list(range(20))


def test_an_iterator_that_repeats_does_not_end(iter_):
    assert iter_.from_range(2, num_shards=1, repeat=True).take(5) == [0, 1, 0, 1, 0]
    once = iter_.from_items([1, 2], num_shards=1, repeat=True)
    assert repr(once) == "ParallelIterator[from_items[int, 2, shards=1, repeat=True]]"


def test_transformations_run_in_the_shards(iter_):
    it = iter_.from_range(6, num_shards=2)
    assert list(it.for_each(lambda x: x * 2).gather_sync()) == [0, 6, 2, 8, 4, 10]
    assert list(iter_.from_range(4, 1).filter(lambda x: x % 2).gather_sync()) == [1, 3]
    assert list(iter_.from_range(5, 1).batch(2).gather_sync()) == [[0, 1], [2, 3], [4]]
    assert list(iter_.from_range(4, 1).batch(3).flatten().gather_sync()) == [0, 1, 2, 3]
    assert list(iter_.from_range(3, 1).combine(lambda x: [x] * x).gather_sync()) == [1, 2, 2]

    def pairs(items):
        for item in items:
            yield item, item

    assert list(iter_.from_range(2, 1).transform(pairs).gather_sync()) == [(0, 0), (1, 1)]


def test_calls_of_one_shard_may_run_at_once(iter_):
    it = iter_.from_range(6, num_shards=1).for_each(lambda x: x + 1, max_concurrency=2, resources={"num_cpus": 0.5})
    assert sorted(it.gather_sync()) == [1, 2, 3, 4, 5, 6]


def test_a_shuffle_is_determined_by_its_seed(iter_):
    first, second = (list(iter_.from_range(20, 1).local_shuffle(5, seed=1).gather_sync()) for _ in range(2))
    assert first == second and sorted(first) == list(range(20)) and first != sorted(first)


def test_repartition_deals_the_items_out_anew(iter_):
    it = iter_.from_range(9, num_shards=3).repartition(2)
    assert it.num_shards() == 2
    assert sorted(it.gather_sync()) == list(range(9))
    assert sorted(it.get_shard(0)) == []


def test_shards_can_be_chosen_and_united(iter_):
    it = iter_.from_range(8, num_shards=4)
    assert list(it.select_shards([0, 2]).gather_sync()) == [0, 4, 1, 5]
    both = iter_.from_items([1], 1).union(iter_.from_items([2], 1))
    assert both.num_shards() == 2 and list(both.gather_sync()) == [1, 2]
    with pytest.raises(ValueError, match="after union"):
        both.select_shards([0])
    with pytest.raises(ValueError, match="out of range"):
        it.get_shard(4)
    with pytest.raises(TypeError):
        it.union([1])


def test_it_is_gathered_before_it_is_read(iter_):
    with pytest.raises(TypeError, match="gather_sync"):
        iter(iter_.from_range(2))


def test_local_iterators_transform_too(iter_):
    it = iter_.from_range(6, num_shards=1).gather_sync()
    assert it.for_each(lambda x: x * x).filter(lambda x: x % 2 == 0).batch(2).take(1) == [[0, 4]]
    assert "for_each" in repr(iter_.from_range(1, 1).gather_sync().for_each(abs))


def test_local_iterators_can_be_doubled(iter_):
    first, second = iter_.from_range(4, num_shards=1).gather_sync().duplicate(2)
    both = first.for_each(lambda x: ("a", x)).union(second.for_each(lambda x: ("b", x)))
    assert sorted(both) == [(name, x) for name in "ab" for x in range(4)]


def test_local_unions_go_in_turn(iter_):
    def two():
        return iter_.from_items([1, 2, 3, 4], 1).gather_sync(), iter_.from_items(["a", "b"], 1).gather_sync()

    one, other = two()
    assert list(one.union(other, deterministic=True)) == [1, "a", 2, "b", 3, 4]
    one, other = two()
    assert list(one.union(other, round_robin_weights=[2, 1])) == [1, 2, "a", 3, 4, "b"]
    one, other = two()
    assert sorted(map(str, one.union(other))) == ["1", "2", "3", "4", "a", "b"]


def test_functions_share_counters(iter_):
    def count(x):
        metrics = iter_.LocalIterator.get_metrics()
        metrics.counters["seen"] += 1
        return metrics.counters["seen"]

    assert list(iter_.from_range(3, 1).gather_sync().for_each(count)) == [1, 2, 3]
    with pytest.raises(ValueError, match="outside"):
        import threading

        raised = []

        def outside():
            try:
                iter_.LocalIterator.get_metrics()
            except ValueError as error:
                raised.append(error)

        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
        raise raised[0]


def test_an_item_can_come_with_its_actor(ray, iter_):
    it = iter_.from_range(4, num_shards=2)
    known = it.actor_sets[0].actors
    pairs = list(it.gather_async().zip_with_source_actor())
    assert sorted(item for _, item in pairs) == [0, 1, 2, 3]
    assert all(actor in known for actor, _ in pairs)


def test_it_travels(ray, iter_):
    @ray.remote
    def total(it):
        return sum(it.gather_sync())

    @ray.remote
    def first(shard):
        return next(shard)

    assert ray.get(total.remote(iter_.from_range(5, 2))) == 10
    assert ray.get(first.remote(iter_.from_range(5, 1).get_shard(0))) == 0


def test_the_users_own_actors_can_be_shards(ray, iter_):
    @ray.remote
    class Letters(iter_.ParallelIteratorWorker):
        def __init__(self):
            super().__init__("ab", repeat=False)

    assert list(iter_.from_actors([Letters.remote(), Letters.remote()]).gather_sync()) == ["a", "a", "b", "b"]
