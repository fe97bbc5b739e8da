"""A call that races with `shutdown` in another thread fails by itself at most: later sessions are as if it had not been."""

import threading

import pytest

import rayshim as ray
from rayshim.calls import actor_class, function
from rayshim.placement.interface import Placement


@ray.remote
def same(x):
    return x


@ray.remote
class Keeper:
    def get(self):
        return 1


def _start(placement):
    ray.init(num_cpus=1, placement=placement, log_to_driver=False, logging_level="ERROR")


def _end_session_after(monkeypatch, owner, name):
    """The session ends, as by another thread, when `owner.name` returns."""
    plain = getattr(owner, name)

    def ending(*args, **kwargs):
        result = plain(*args, **kwargs)
        monkeypatch.setattr(owner, name, plain)
        thread = threading.Thread(target=ray.shutdown)
        thread.start()
        thread.join()
        return result

    monkeypatch.setattr(owner, name, ending)


CASES = {
    "a task, between its export and its cache": (function.RemoteFunction, "_export", lambda: same.remote(1)),
    "a task with options": (function.RemoteFunction, "_export", lambda: same.options(num_returns=1).remote(1)),
    "a task, in the middle of its export": (function, "Signature", lambda: ray.remote(lambda: 1).remote()),
    "an actor, before it is created": (actor_class, "NewActor", Keeper.remote),
    "a named actor": (actor_class, "NewActor", lambda: Keeper.options(name="keeper").remote()),
    "an actor, while it is created": (Placement, "create", Keeper.remote),
}


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
@pytest.mark.parametrize("case", CASES)
def test_later_sessions_are_as_if_the_call_had_not_been(monkeypatch, case, placement):
    owner, name, call = CASES[case]
    _start(placement)
    _end_session_after(monkeypatch, owner, name)
    try:
        call()
    except (RuntimeError, ValueError):
        pass  # it says that the session has ended
    ray.shutdown()
    for _ in range(2):
        _start(placement)
        try:
            assert ray.get(same.remote(2), timeout=200) == 2
            assert ray.get(same.options(num_returns=1).remote(3), timeout=200) == 3
            keeper = Keeper.options(name="keeper").remote()
            assert ray.get([keeper.get.remote(), Keeper.remote().get.remote()], timeout=200) == [1, 1]
        finally:
            ray.shutdown()


def test_a_remote_method_that_the_program_has_kept_works_in_the_next_session():
    """As on Ray, where `f.remote` is bound to the function."""
    for _ in range(2):
        _start("inline")
        assert ray.get(same.remote(1)) == 1
        kept = same.remote
        ray.shutdown()
    _start("inline")
    try:
        assert ray.get(kept(2)) == 2
    finally:
        ray.shutdown()


def test_a_future_of_an_ended_session_fails_and_those_of_the_next_one_work():
    _start("isolated")

    @ray.remote
    class Never:
        def end(self):
            threading.Event().wait()

    late = Never.remote().end.remote().future()
    ray.shutdown()
    with pytest.raises((RuntimeError, ValueError)):
        late.result(timeout=200)
    _start("isolated")
    try:
        assert same.remote(5).future().result(timeout=200) == 5
    finally:
        ray.shutdown()
