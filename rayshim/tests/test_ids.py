"""Ids have Ray's sizes, text and structure."""

import pickle

import pytest

from rayshim.session import ids

SIZES = {
    "UniqueID": 28,
    "NodeID": 28,
    "WorkerID": 28,
    "FunctionID": 28,
    "ActorClassID": 28,
    "JobID": 4,
    "ActorID": 16,
    "TaskID": 24,
    "PlacementGroupID": 18,
}


@pytest.mark.parametrize("name, size", SIZES.items())
def test_round_trips(name, size):
    kind = getattr(ids, name)
    one = kind.from_random()
    assert kind.size() == size == len(one.binary())
    assert kind.from_binary(one.binary()) == kind.from_hex(one.hex()) == pickle.loads(pickle.dumps(one)) == one
    assert kind.from_hex(one.hex().encode()) == one
    assert hash(kind(one.binary())) == hash(one)
    assert repr(one) == str(one) == f"{name}({one.hex()})"
    assert bytes(one) == one.binary()
    assert not one.is_nil() and kind.nil().is_nil()
    assert kind.nil().hex() == "ff" * size
    assert one != kind.from_random()


def test_ids_of_two_kinds_differ():
    assert ids.NodeID.nil() != ids.WorkerID.nil()
    assert ids.NodeID.nil() != ids.NodeID.nil().binary()


def test_wrong_data_is_refused():
    with pytest.raises(ValueError, match="ID string needs to have length 4, got 1"):
        ids.JobID(b"x")
    with pytest.raises(TypeError, match="Unsupported type: <class 'str'>, expected bytes"):
        ids.TaskID("x")


@pytest.mark.parametrize("text", ["", "xx", "zz" * 4, "01" * 5])
def test_bad_hex_is_nil_as_in_ray(text):
    assert ids.JobID.from_hex(text).is_nil()


def test_job_numbers():
    assert ids.JobID.from_int(258).binary() == b"\x02\x01\x00\x00"
    assert ids.JobID.from_int(258).int() == 258
    with pytest.raises(AssertionError, match="Maximum JobID integer"):
        ids.JobID.from_int(2**32)
    with pytest.raises(OverflowError):
        ids.JobID.from_int(-1)


def test_a_task_knows_its_actor_and_an_actor_its_job():
    job = ids.JobID.from_int(5)
    driver = ids.TaskID.for_driver_task(job)
    assert driver.hex() == "ff" * 20 + "05000000"
    actor = ids.ActorID.of(job, driver, 1)
    assert actor.job_id == job
    assert ids.TaskID.for_actor_creation_task(actor).actor_id() == actor
    call = ids.TaskID.for_actor_task(job, driver, 2, actor)
    assert (call.actor_id(), call.job_id()) == (actor, job)
    task = ids.TaskID.for_normal_task(job, driver, 3)
    assert task.hex()[16:] == "ff" * 12 + "05000000"
    assert ids.PlacementGroupID.of(job).hex().endswith("05000000")


def test_ids_of_operations_are_the_same_in_every_run_and_differ_by_number():
    job = ids.JobID.from_int(1)
    driver = ids.TaskID.for_driver_task(job)
    assert ids.ActorID.of(job, driver, 1) == ids.ActorID.of(job, driver, 1) != ids.ActorID.of(job, driver, 2)
    assert ids.TaskID.for_normal_task(job, driver, 1) != ids.TaskID.for_normal_task(job, driver, 2)


def test_ids_cannot_be_given_attributes():
    with pytest.raises(AttributeError):
        ids.NodeID.nil().note = 1
