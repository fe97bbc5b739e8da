"""What local iterators print and shuffle."""

import importlib

import pytest


@pytest.fixture
def iter_(ray):
    return importlib.import_module(f"{ray.__name__}.util.iter")


def test_items_are_shown(iter_, capsys):
    items = iter_.from_items([1, 2, 3, 4], num_shards=1)
    assert isinstance(items, iter_.ParallelIterator)
    items.show(2)
    iter_.from_items([5, 6], num_shards=1).gather_sync().show()
    assert capsys.readouterr().out.split() == ["1", "2", "5", "6"]


def test_a_shuffle_with_a_seed_gives_the_same_order(iter_):
    def shuffled(seed):
        return list(iter_.from_range(20, num_shards=1).gather_sync().shuffle(5, seed=seed))

    assert sorted(shuffled(1)) == list(range(20)) and shuffled(1) == shuffled(1) != shuffled(2)
