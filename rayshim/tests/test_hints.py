"""Errors for what beginners write say what to write instead."""

import pytest

import rayshim as ray


@pytest.fixture(autouse=True)
def session():
    ray.init(num_cpus=1, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_arithmetic_on_a_ref_says_get():
    with pytest.raises(TypeError, match=r"test_hints.py:\d+: an ObjectRef stands for a value .*`ray.get\(ref\)`"):
        ray.put(1) + 1


def test_remote_on_a_method_of_the_class_says_to_create_an_actor():
    @ray.remote
    class Player:
        def play(self):
            return 1

    with pytest.raises(AttributeError, match=r"`actor = Player.remote\(\)`, then `actor.play.remote\(...\)`"):
        Player.play.remote()
