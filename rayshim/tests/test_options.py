"""Options are accepted and refused as Ray does."""

import pytest

from rayshim.calls import options, requested


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"foo": 1}, ValueError, "Invalid option keyword foo for remote functions"),
        ({"max_restarts": 1}, ValueError, "Invalid option keyword max_restarts for remote functions"),
        ({"num_cpus": -1}, ValueError, "The quantity of resource num_cpus cannot be negative"),
        ({"num_cpus": "a"}, TypeError, r"The type of keyword 'num_cpus' must be \(<class 'float'>, <class 'int'>"),
        ({"num_cpus": 0.00001}, ValueError, "cannot go beyond 0.0001"),
        ({"resources": {"CPU": 1}}, ValueError, "Use the 'num_cpus' and 'num_gpus' keyword instead of 'CPU' and 'GPU'"),
        ({"resources": {"r": -1}}, ValueError, "The quantity of resource r cannot be negative"),
        ({"resources": 3}, TypeError, "The type of keyword 'resources'"),
        ({"max_retries": -2}, ValueError, "The keyword 'max_retries' only accepts None, 0, -1 or a positive integer"),
        ({"max_calls": -1}, ValueError, "The keyword 'max_calls' only accepts None, 0 or a positive integer"),
        ({"num_returns": -1}, ValueError, "The keyword 'num_returns' only accepts None"),
        ({"num_returns": "x"}, TypeError, "'>=' not supported"),
        ({"retry_exceptions": "x"}, TypeError, "The type of keyword 'retry_exceptions'"),
        ({"retry_exceptions": [int]}, ValueError, "retry_exceptions must be either a boolean or a list of exceptions"),
        ({"object_store_memory": 1}, ValueError, "Setting 'object_store_memory' is not implemented for tasks"),
        ({"runtime_env": "x"}, TypeError, "The type of keyword 'runtime_env'"),
        ({"scheduling_strategy": 1}, TypeError, "PlacementGroupSchedulingStrategy"),
        ({"placement_group": "p", "scheduling_strategy": "SPREAD"}, ValueError, "should be specified via the"),
        ({"_generator_backpressure_num_objects": 0}, ValueError, "=0 is not allowed"),
    ],
)
def test_refused_for_tasks(given, error, message):
    with pytest.raises(error, match=message):
        options.task_options(given)


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"foo": 1}, ValueError, "Invalid option keyword foo for actors"),
        ({"num_returns": 2}, ValueError, "Invalid option keyword num_returns for actors"),
        ({"name": 1}, TypeError, "The type of keyword 'name'"),
        (
            {"lifetime": "x"},
            ValueError,
            "actor `lifetime` argument must be one of 'detached', 'non_detached' and 'None'",
        ),
        ({"get_if_exists": True}, ValueError, "The actor name must be specified to use `get_if_exists`"),
        ({"max_restarts": -2}, ValueError, "The keyword 'max_restarts' only accepts None, 0, -1"),
        ({"max_concurrency": -1}, ValueError, "The keyword 'max_concurrency' only accepts None, 0 or a positive"),
        ({"max_pending_calls": -2}, ValueError, "max_pending_calls"),
    ],
)
def test_refused_for_actors(given, error, message):
    with pytest.raises(error, match=message):
        options.actor_options(given)


def test_only_what_was_given_comes_back():
    given = {"num_cpus": 2, "name": "a"}
    checked = options.actor_options(given)
    assert checked == given and checked is not given
    assert options.task_options({}) == {}
    assert options.ACTOR_DEFAULTS["max_restarts"] == 0 and options.TASK_DEFAULTS["max_retries"] == 3


def test_some_may_not_change_later():
    options.task_options({"max_calls": 1})
    with pytest.raises(ValueError, match=r"Setting 'max_calls' is not supported in '.options\(\)'"):
        options.task_options({"max_calls": 1}, in_options=True)
    with pytest.raises(ValueError, match="Setting 'concurrency_groups' is not supported"):
        options.actor_options({"concurrency_groups": {"io": 2}}, in_options=True)


def test_only_generators_stream():
    options.task_options({"num_returns": "streaming"}, is_generator=True)
    options.task_options({"num_returns": "streaming"})
    with pytest.raises(ValueError, match="num_returns='streaming' can only be used with generator functions"):
        options.task_options({"num_returns": "streaming"}, is_generator=False)


def test_method_options():
    assert options.method_options({"num_returns": 2}) == {"num_returns": 2}
    with pytest.raises(AssertionError, match="Unexpected keyword argument to @ray.method: 'foo'"):
        options.method_options({"foo": 1})
    with pytest.raises(ValueError, match="num_returns must be >= 0, but got -2."):
        options.method_options({"num_returns": -2})
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        options.call_options({"foo": 1})
    assert options.call_options({"name": "n"}) == {"name": "n"}


def test_merge_lets_the_update_win():
    assert options.merge({"num_cpus": 1, "name": "a"}, {"num_cpus": 2}) == {"num_cpus": 2, "name": "a"}


@pytest.mark.parametrize(
    "given, held",
    [
        ({}, {"CPU": 1}),
        ({"num_cpus": 0}, {}),
        ({"num_cpus": None}, {}),
        ({"num_cpus": 1.5}, {"CPU": 1.5}),
        ({"num_gpus": 0.5}, {"CPU": 1, "GPU": 0.5}),
        ({"resources": {"r": 1.5, "s": 0}}, {"CPU": 1, "r": 1.5}),
        ({"memory": 100.7}, {"CPU": 1, "memory": 100}),
        ({"accelerator_type": "T4"}, {"CPU": 1, "accelerator_type:T4": 0.001}),
    ],
)
def test_what_a_task_holds(given, held):
    assert requested.task_resources(options.task_options(given)) == held


@pytest.mark.parametrize(
    "given, held, placed",
    [
        ({}, {}, {"CPU": 1}),
        ({"num_cpus": 1}, {"CPU": 1}, {"CPU": 1}),
        ({"num_cpus": 0}, {}, {}),
        ({"num_cpus": None}, {}, {"CPU": 1}),
        ({"num_gpus": 0}, {"CPU": 1}, {"CPU": 1}),
        ({"num_gpus": 0.5}, {"CPU": 1, "GPU": 0.5}, {"CPU": 1, "GPU": 0.5}),
        ({"resources": {"r": 1}}, {"CPU": 1, "r": 1}, {"CPU": 1, "r": 1}),
        ({"resources": {}}, {}, {"CPU": 1}),
        ({"memory": 100}, {"memory": 100}, {"CPU": 1, "memory": 100}),
    ],
)
def test_what_an_actor_holds_and_needs_to_be_placed(given, held, placed):
    checked = options.actor_options(given)
    assert requested.actor_resources(checked) == held
    assert requested.actor_placement_resources(checked) == placed


def test_impossible_resources():
    with pytest.raises(ValueError, match="GPU resource quantities >1 must be whole numbers"):
        requested.task_resources({"num_gpus": 1.5})
    with pytest.raises(ValueError, match="must not contain the key 'memory' or 'object_store_memory'"):
        requested.actor_resources({"resources": {"memory": 1}})
