"""Private fields of an actor's handle that programs read, and arguments of `init` that there are not."""

import pytest


@pytest.fixture
def handle(ray):
    @ray.remote(max_restarts=1, max_task_retries=2)
    class Actor:
        def plain(self, x, y=2):
            return x

        @ray.method(num_returns=2)
        def two(self):
            return 1, 2

        def each(self):
            yield 1

    return Actor.remote()


def test_it_tells_the_methods_and_their_parameters(handle):
    assert {"plain", "two", "each", "__ray_ready__"} <= set(handle._ray_method_signatures)
    assert [p.name for p in handle._ray_method_signatures["plain"] if p.name != "_ray_trace_ctx"] == ["x", "y"]
    assert handle._ray_method_num_returns["two"] == 2
    assert handle._ray_method_num_returns["plain"] is None
    generators = [name for name, is_one in handle._ray_method_is_generator.items() if is_one]
    assert generators == ["each"]


def test_it_tells_retries_and_language(handle):
    assert handle._ray_max_task_retries == 2
    assert handle._ray_is_cross_language is False
    assert handle._ray_actor_id == handle._actor_id


def test_it_has_no_others(handle):
    assert not hasattr(handle, "_ray_of_another_kind")


@pytest.mark.parametrize("ignored", [False, True])
def test_a_wrong_argument_of_init_is_told_in_a_session_too(ray, ignored):
    with pytest.raises(RuntimeError, match="Unknown keyword argument.*: lamp"):
        ray.init(lamp=1, ignore_reinit_error=ignored)
