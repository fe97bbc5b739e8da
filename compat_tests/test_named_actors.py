from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.dying import death
from compat_tests.processes import wait_until


@pytest.fixture
def keep(ray):
    """An actor class that keeps one value."""

    @ray.remote
    class Keep:
        def __init__(self, value=None):
            self.value = value

        def read(self):
            return self.value

    return Keep


def test_a_named_actor_is_found_by_its_name(ray, keep):
    made = keep.options(name="shelf").remote(1)
    found = ray.get_actor("shelf")
    assert found == made
    assert ray.get(found.read.remote()) == 1


def test_a_name_that_nobody_has_is_an_error(ray):
    with pytest.raises(ValueError, match="nobody"):
        ray.get_actor("nobody")


def test_a_name_is_given_once(ray, keep):
    first = keep.options(name="taken").remote(1)
    with pytest.raises(ray.exceptions.ActorAlreadyExistsError, match="taken") as caught:
        keep.options(name="taken").remote(2)
    assert isinstance(caught.value, ValueError)
    assert ray.get(first.read.remote()) == 1


def test_get_if_exists_finds_or_makes(ray, keep):
    first = keep.options(name="either", get_if_exists=True).remote(1)
    second = keep.options(name="either", get_if_exists=True).remote(2)
    assert first == second
    assert ray.get(second.read.remote()) == 1


def test_get_if_exists_needs_a_name(ray, keep):
    with pytest.raises(ValueError, match="name"):
        keep.options(get_if_exists=True).remote()


@pytest.mark.parametrize("name, error", [("", ValueError), (3, TypeError)])
def test_a_name_is_a_text_and_not_an_empty_one(ray, keep, name, error):
    with pytest.raises(error):
        keep.options(name=name).remote()
    with pytest.raises(ValueError):
        ray.get_actor("")


def test_a_task_finds_the_drivers_actor_by_name(ray, keep):
    held = keep.options(name="found").remote(7)

    @ray.remote
    def read():
        return ray.get(ray.get_actor("found").read.remote())

    assert ray.get(read.remote()) == 7
    del held


def test_the_driver_finds_an_actor_that_a_task_made(ray, keep):
    @ray.remote
    class Maker:
        def make(self):
            self.made = keep.options(name="made").remote(8)
            return ray.get(self.made.read.remote())

    maker = Maker.remote()
    assert ray.get(maker.make.remote()) == 8
    assert ray.get(ray.get_actor("made").read.remote()) == 8


def test_namespaces_keep_equal_names_apart(ray, keep):
    here = keep.options(name="same").remote("here")
    there = keep.options(name="same", namespace="elsewhere").remote("there")
    assert here != there
    assert ray.get(ray.get_actor("same").read.remote()) == "here"
    assert ray.get(ray.get_actor("same", namespace="elsewhere").read.remote()) == "there"
    with pytest.raises(ValueError):
        ray.get_actor("same", namespace="nowhere")


def test_a_killed_actor_gives_its_name_back(ray, keep):
    first = keep.options(name="again").remote(1)
    ray.get(first.read.remote())
    ray.kill(first)
    death(ray, first.read.remote)
    with pytest.raises(ValueError):
        ray.get_actor("again")
    second = keep.options(name="again").remote(2)
    assert ray.get(second.read.remote()) == 2


def test_list_named_actors_shows_the_living(ray, keep):
    held = [keep.options(name=name).remote() for name in ("one", "two")]
    elsewhere = keep.options(name="three", namespace="elsewhere").remote()
    assert sorted(ray.util.list_named_actors()) == ["one", "two"]
    everywhere = ray.util.list_named_actors(all_namespaces=True)
    assert {"name": "three", "namespace": "elsewhere"} in everywhere
    assert len(everywhere) == 3
    del held, elsewhere


def test_a_detached_actor_outlives_its_handles(ray, keep):
    keep.options(name="detached", lifetime="detached").remote(5)
    assert ray.get(ray.get_actor("detached").read.remote()) == 5


def test_an_actor_in_another_namespace_is_itself_in_that_of_its_session(ray):
    @ray.remote
    class Away:
        def home(self):
            return ray.get_runtime_context().namespace

        def finds(self, name):
            try:
                return ray.get_actor(name) is not None
            except ValueError:
                return False

    away = Away.options(name="away", namespace="elsewhere").remote()
    beside = Away.options(name="beside").remote()
    assert ray.get(beside.home.remote()) == ray.get(away.home.remote()) == ray.get_runtime_context().namespace
    assert ray.get(away.finds.remote("beside")) and not ray.get(away.finds.remote("away"))


def test_init_gives_the_namespace(bare_ray, backend):
    backend.init(num_cpus=1, namespace="home")
    assert bare_ray.get_runtime_context().namespace == "home"

    @bare_ray.remote
    class Plain:
        def ping(self):
            return "pong"

    held = Plain.options(name="inhabitant").remote()
    assert bare_ray.get(bare_ray.get_actor("inhabitant", namespace="home").ping.remote()) == "pong"
    del held


def test_a_name_is_free_again_when_the_last_handle_is_gone(ray):
    @ray.remote
    class Counter:
        def count(self):
            return "counted"

    def is_free():
        try:
            ray.get_actor("again")
        except ValueError:
            return True
        return False

    for _ in range(5):
        assert ray.get(Counter.options(name="again").remote().count.remote()) == "counted"
        wait_until(is_free)
    assert ray.get(Counter.options(name="again", get_if_exists=True).remote().count.remote()) == "counted"


def test_threads_that_share_a_name_get_one_actor_whoever_makes_it(ray):
    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self):
            self.n = 0

        def count(self):
            self.n += 1
            return self.n

    with ThreadPoolExecutor(4) as threads:
        handles = list(threads.map(lambda _: Counter.options(name="shared", get_if_exists=True).remote(), range(40)))
        assert sorted(threads.map(lambda handle: ray.get(handle.count.remote()), handles)) == list(range(1, 41))
