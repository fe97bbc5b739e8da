"""What a driver is told once, and what it is told of itself."""

import importlib


def test_the_version_is_a_text_of_three_numbers(ray):
    assert len(ray.__version__.split(".")) >= 3 and ray.__version__[0].isdigit()


def test_the_id_of_the_machine_is_empty_outside_a_cloud(ray):
    assert ray.util.get_node_instance_id() == ""


def test_the_place_of_a_large_value_is_told(ray):
    import numpy as np

    ref = ray.put(np.zeros(100_000))
    [place] = importlib.import_module(f"{ray.__name__}.experimental").get_local_object_locations([ref]).values()
    assert place["object_size"] >= 800_000 and not place["did_spill"]


def test_a_queue_of_multiprocessing_can_be_joined(ray):
    joinable = importlib.import_module(f"{ray.__name__}.util.multiprocessing").JoinableQueue()
    joinable.put(1)
    assert joinable.get() == 1
    joinable.task_done()
    joinable.join()


def test_log_once_is_true_once_until_it_is_disabled(ray):
    debug = importlib.import_module(f"{ray.__name__}.util.debug")
    debug.reset_log_once()
    assert ray.util.log_once("a key of this test") and not ray.util.log_once("a key of this test")
    ray.util.disable_log_once_globally()
    try:
        assert not ray.util.log_once("another key")
    finally:
        debug._disabled = False


def test_periodic_logging_makes_log_once_true_again_later(ray):
    debug = importlib.import_module(f"{ray.__name__}.util.debug")
    debug.reset_log_once()
    ray.util.enable_periodic_logging()
    try:
        assert ray.util.log_once("a periodic key") and not ray.util.log_once("a periodic key")
    finally:
        debug._periodic_log = False


def test_a_subclass_of_an_actor_class_has_an_error_of_its_own(ray):
    import pytest

    @ray.remote
    class Base:
        pass

    actor = importlib.import_module(f"{ray.__name__}.actor")
    with pytest.raises(actor.ActorClassInheritanceException):

        class Derived(Base):
            pass

    assert issubclass(actor.ActorClassInheritanceException, TypeError)


def test_what_cannot_be_serialized_is_found(ray, capsys):
    import threading

    lock = threading.Lock()

    def holds():
        return lock

    good, failures = ray.util.inspect_serializability(holds, name="holds")
    assert not good and [(type(failure).__name__, failure.obj) for failure in failures] == [("FailureTuple", lock)]
    assert "Checking Serializability of" in capsys.readouterr().out
    assert ray.util.inspect_serializability(1) == (True, set())


def test_ids_of_the_driver_itself(ray):
    worker = importlib.import_module(f"{ray.__name__}._private.worker").global_worker
    context = ray.get_runtime_context()
    job = context.get_job_id()
    assert context.get_worker_id() == worker.worker_id.hex() == job + "f" * 48
    assert worker.current_task_id.hex() == "f" * 40 + job
    assert ray.get(ray.remote(lambda: ray.get_runtime_context().get_worker_id()).remote()) != context.get_worker_id()
    assert worker.node.is_head() and worker.node.head and worker.node.node_id == context.get_node_id()
    assert worker.node.address == worker.node.gcs_address == context.gcs_address
    assert worker.node_ip_address == worker.node.node_ip_address
    assert worker.node.unique_id
