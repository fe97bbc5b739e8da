"""What an error says: what was being done and where in the program, what was found, what to do."""

import re
import time

import pytest

import rayshim


@pytest.fixture
def ray():
    rayshim.init(num_cpus=2, placement="inline", logging_level="ERROR")
    yield rayshim
    rayshim.shutdown()


@rayshim.remote
class Env:
    def __init__(self, size):
        pass

    def step(self, action, *, seed=1):
        return 1


@rayshim.remote
def render(a, b=2):
    return 1


WRONG = {
    "class": (lambda ray: Env.remote(), TypeError, "missing a required argument: 'size': {module}.Env.remote() at {here} was given 0 positional arguments, and {module}.Env takes (size)"),
    "method": (lambda ray: Env.remote(1).step.remote(1, 2), TypeError, "too many positional arguments: {module}.Env.step.remote() at {here} was given 2 positional arguments, and {module}.Env.step takes (action, seed=…)"),
    "keyword": (lambda ray: render.remote(1, c=3), TypeError, "got an unexpected keyword argument 'c': {module}.render.remote() at {here} was given 1 positional argument and c=, and {module}.render takes (a, b=…)"),
    "no method": (lambda ray: Env.remote(1).stop.remote(), AttributeError, "'Env' object has no attribute 'stop' (at {here}; its methods are: step)"),
    "method called": (lambda ray: Env.remote(1).step(1), TypeError, "Actor methods cannot be called directly. Instead of running 'object.step()', try 'object.step.remote()'. (at {here})"),
    "function called": (lambda ray: render(1), TypeError, "Remote functions cannot be called directly. Instead of running 'render()', try 'render.remote()'. (at {here})"),
    "class called": (lambda ray: Env(1), TypeError, "Actors cannot be instantiated directly. Instead of 'Env()', use 'Env.remote()'. (at {here})"),
    "get": (lambda ray: ray.get([3]), TypeError, "Attempting to call `get` on the value 3, which is not an ray.ObjectRef. (get() at {here}: it takes what `.remote()` and `put` gave)"),
    "wait": (lambda ray: ray.wait([ray.put(1)], num_returns=3), ValueError, "num_returns cannot be greater than the number of ray_waitables provided to ray.wait. (wait() at {here}: num_returns=3, of 1 refs)"),
    "kill": (lambda ray: ray.kill(3), ValueError, "ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: <class 'int'>. (kill() at {here})"),
    "option": (lambda ray: render.options(num_cpus=-1), ValueError, "The quantity of resource num_cpus cannot be negative (num_cpus=-1 for remote functions at {here})"),
    "context": (lambda ray: ray.get_runtime_context().current_actor, RuntimeError, "This method is only available in an actor. (at {here})"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_place_what_was_found_and_what_to_do(ray, name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind) as caught:
        call(ray)
    here = f"{__file__}:{call.__code__.co_firstlineno}"
    assert str(caught.value) == text.format(module=__name__, here=here)


def test_an_argument_that_cannot_be_pickled(ray):
    import threading

    for call in (render.remote, Env.remote(1).step.remote):
        with pytest.raises(TypeError, match=rf"Could not serialize the argument .* \(at {re.escape(__file__)}:\d+\)"):
            call(threading.Lock())


def test_what_is_of_an_earlier_session():
    rayshim.init(num_cpus=1, placement="inline", logging_level="ERROR")
    env, ref = Env.remote(1), rayshim.put(1)
    rayshim.shutdown()
    rayshim.init(num_cpus=1, placement="inline", logging_level="ERROR")
    try:
        with pytest.raises(rayshim.exceptions.ActorHandleNotFoundError, match=rf"Make the actor again after the new init\(\) \(used at {re.escape(__file__)}:\d+\)"):
            env.step.remote(1)
        with pytest.raises(ValueError, match=rf"\(get\(\) at {re.escape(__file__)}:\d+\) Make them again after the new init"):
            rayshim.get(ref)
    finally:
        rayshim.shutdown()


def test_what_asks_for_more_than_there_is_is_named(capfd):
    rayshim.init(num_cpus=2, logging_level="ERROR")
    try:
        render.options(num_cpus=1000).remote(1)
        Env.options(num_cpus=999).remote(1)
        told = ""
        while told.count("it will wait for ever") < 2:
            told += capfd.readouterr().err
            time.sleep(0.01)
    finally:
        rayshim.shutdown()
    assert re.search(rf"the task render \(called at {re.escape(__file__)}:\d+\) asks for 1000 of CPU, of which there are 2: it will wait for ever\. Ask for less", told)
    assert re.search(rf"the actor Env \(made at {re.escape(__file__)}:\d+\) asks for 999 of CPU, of which there are 2", told)
