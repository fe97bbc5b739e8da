"""Reservations against a heap of this process, without any other process."""

import pytest
from reactor import _core
from reactor.runtime.driver.driver import Driver
from reactor.runtime.resources.devices import Devices
from reactor.runtime.resources.reservations import Reservations

FACTS = {"possible": True}


@pytest.fixture
def reservations_and_replies():
    """Reservations on a machine with 4 CPUs, and what they reply: [(where, value, is_error)]."""
    driver = Driver(
        cpus=4, resources={}, store_limit=1 << 26, plugin="reactor.runtime.worker.plugin", settings={}, inline=True
    )
    driver.start()
    replies = []

    def demand(wanted, whose):
        return _core.demand([(_core.register_resource(name, 0), amount) for name, amount in wanted.items()])

    yield Reservations(demand, lambda *reply: replies.append(reply), Devices(lambda kind: 0)), replies
    driver.stop()


def add(reservations, key, cpus, **facts):
    reservations.add(key, {**FACTS, **facts}, {"CPU": cpus * 10000}, {f"CPU_{key}": cpus * 10000})


def free(name):
    return _core.resources()[name].free / 10000


def test_one_takes_from_the_machine_what_it_offers(reservations_and_replies):
    reservations, _ = reservations_and_replies
    add(reservations, "a", 3)
    assert free("CPU") == 4 and free("CPU_a") == 0
    reservations.advance()
    assert free("CPU") == 1 and free("CPU_a") == 3


def test_one_waits_until_there_is_room(reservations_and_replies):
    reservations, replies = reservations_and_replies
    add(reservations, "a", 3)
    add(reservations, "b", 2)
    reservations.when_decided("b", "made", "gone", False, 7)
    reservations.advance()
    assert replies == [] and reservations.open() == 1
    reservations.release("a")
    reservations.advance()
    assert replies == [(7, "made", False)] and free("CPU") == 2 and reservations.open() == 0


def test_it_is_given_back_when_nobody_uses_it(reservations_and_replies):
    reservations, _ = reservations_and_replies
    add(reservations, "a", 3)
    reservations.advance()
    number = reservations.demand_within("a", {"CPU_a": 10000})
    assert _core.take_resources(number)
    reservations.release("a")
    reservations.advance()
    assert free("CPU") == 1 and reservations.open() == 1
    _core.give_resources(number)
    reservations.advance()
    assert free("CPU") == 4 and reservations.open() == 0 and "CPU_a" not in _core.resources()


def test_after_its_release_nobody_gets_anything_of_it(reservations_and_replies):
    reservations, replies = reservations_and_replies
    add(reservations, "a", 3)
    reservations.advance()
    before = reservations.demand_within("a", {"CPU_a": 10000})
    reservations.release("a")
    after = reservations.demand_within("a", {"CPU_a": 20000})
    assert not _core.take_resources(before) and not _core.take_resources(after)
    assert reservations.retired(before) == reservations.retired(after) == "a"
    reservations.when_decided("a", "made", "gone", True, 9)
    assert replies == [(9, "gone", True)]


def test_what_this_machine_cannot_make_is_not_tried(reservations_and_replies):
    reservations, _ = reservations_and_replies
    add(reservations, "a", 1, possible=False)
    reservations.advance()
    assert free("CPU") == 4 and reservations.table()[0][2] == "PENDING"


def test_places_in_the_table_are_used_again(reservations_and_replies):
    reservations, _ = reservations_and_replies
    for i in range(5000):  # more than there are places
        add(reservations, f"r{i}", 1)
        reservations.advance()
        reservations.release(f"r{i}")
        reservations.advance()
    assert free("CPU") == 4
