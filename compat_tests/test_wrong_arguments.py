"""`init` and the options of an actor's call refuse values of wrong types."""

import pytest


@pytest.mark.parametrize(("arguments", "error", "text"), [
    ({"address": 5}, TypeError, None),
    ({"address": ["auto"]}, TypeError, None),
    ({"address": ""}, ValueError, "Invalid address format: "),
    ({"address": "1.2.3"}, ValueError, "Invalid address format: 1.2.3"),
    ({"namespace": 5}, TypeError, "namespace must be None or a string."),
    ({"namespace": ""}, ValueError, '"" is not a valid namespace. Pass None to not specify a namespace.'),
    ({"labels": ["a"]}, AttributeError, "'list' object has no attribute 'items'"),
    ({"logging_config": {"encoding": "JSON"}}, AttributeError, "'dict' object has no attribute '_apply'"),
    ({"_node_ip_address": 5}, TypeError, None),
    ({"runtime_env": {"env_vars": {"a": 1}}}, TypeError, "runtime_env..env_vars.. must be of type Dict.str, str., but the value 1 is of type"),
    ({"runtime_env": {"pip": 5}}, TypeError, "runtime_env..pip.. must be of type str or List.str., got <class 'int'>"),
    ({"nope": 1, "other": 2}, RuntimeError, "Unknown keyword argument.s.: nope, other"),
], ids=repr)
def test_wrong_arguments_of_init_are_refused(backend, bare_ray, arguments, error, text):
    with pytest.raises(error, match=text):
        backend.init(**arguments)
    assert not bare_ray.is_initialized()


def test_wrong_options_of_a_call_of_an_actor_are_refused(ray):
    @ray.remote
    class Actor:
        def one(self):
            return 1

    actor = Actor.remote()
    for options, error, text in [
        ({"num_returns": "many"}, TypeError, "an integer is required"),
        ({"num_returns": [1]}, TypeError, None),
        ({"num_returns": -1}, ValueError, "num_returns must be >= 0, but got -1."),
        ({"retry_exceptions": 5}, AssertionError, "retry_exceptions can either be"),
        ({"retry_exceptions": "all"}, AssertionError, "retry_exceptions can either be"),
        ({"max_task_retries": "x"}, TypeError, None),
        ({"name": 5}, TypeError, None),
        ({"concurrency_group": 5}, TypeError, None),
        ({"_labels": {"a": 1}}, ValueError, "Label value must be string, but got <class 'int'>"),
        ({"num_cpus": 1}, TypeError, "got an unexpected keyword argument 'num_cpus'"),
    ]:
        with pytest.raises(error, match=text):
            actor.one.options(**options).remote()
    assert ray.get(actor.one.remote()) == 1
