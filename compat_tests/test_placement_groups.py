import importlib
import warnings

import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def groups(ray):
    """Makes placement groups; removes them at the end."""
    made = []

    def make(*args, **kwargs):
        made.append(ray.util.placement_group(*args, **kwargs))
        return made[-1]

    yield make
    for group in made:
        ray.util.remove_placement_group(group)
    wait_until(lambda: ray.available_resources().get("CPU") == 4 and ray.available_resources().get("GPU") == 2)


@pytest.fixture
def inside(ray):
    return importlib.import_module(f"{ray.__name__}.util.scheduling_strategies").PlacementGroupSchedulingStrategy


def test_it_is_ready_when_its_resources_are_set_aside(ray, groups):
    group = groups([{"CPU": 1}, {"CPU": 2, "lamp": 1}])
    assert ray.get(group.ready()) == group
    assert group.wait(5)
    wait_until(lambda: ray.available_resources().get("CPU") == 1 and ray.available_resources().get("lamp") == 1)
    assert ray.cluster_resources()["CPU"] == 4


def test_it_knows_its_bundles(groups):
    group = groups([{"CPU": 1}, {"CPU": 2, "lamp": 1}])
    assert group.bundle_specs == [{"CPU": 1.0}, {"CPU": 2.0, "lamp": 1.0}]
    assert group.bundle_count == 2 and not group.is_empty


def test_what_is_too_much_waits(ray, groups):
    first = groups([{"CPU": 3}])
    assert first.wait(5)
    second = groups([{"CPU": 2}])
    assert not second.wait(0.2)
    ready = second.ready()
    assert ray.wait([ready], timeout=0.1) == ([], [ready])
    ray.util.remove_placement_group(first)
    assert ray.get(ready) == second
    assert not groups([{"CPU": 5}]).wait(0.1)
    assert not groups([{"unheard of": 1}]).wait(0.1)


def test_one_machine_has_no_other(groups):
    assert groups([{"CPU": 1}], strategy="STRICT_SPREAD").wait(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not groups([{"CPU": 1}, {"CPU": 1}], strategy="STRICT_SPREAD").wait(0.2)
    for strategy in ("PACK", "SPREAD", "STRICT_PACK"):
        assert groups([{"CPU": 0.5}, {"CPU": 0.5}], strategy=strategy).wait(5)


def test_a_task_runs_inside(ray, groups, inside):
    @ray.remote
    def where():
        context = ray.get_runtime_context()
        group = ray.util.get_current_placement_group()
        return context.get_assigned_resources(), context.get_placement_group_id(), group, context.should_capture_child_tasks_in_placement_group

    group = groups([{"CPU": 1}, {"CPU": 2, "GPU": 1}])
    resources, key, current, capture = ray.get(where.options(scheduling_strategy=inside(group)).remote())
    assert (resources, key, current, capture) == ({"CPU": 1.0}, group.id.hex(), group, False)
    resources, *_ = ray.get(where.options(num_cpus=2, num_gpus=1, scheduling_strategy=inside(group, 1)).remote())
    assert resources == {"CPU": 2.0, "GPU": 1.0}
    assert ray.get(where.remote())[1:3] == (None, None)
    assert ray.util.get_current_placement_group() is None


def test_an_actor_lives_inside(ray, groups, inside):
    @ray.remote(num_cpus=1)
    class Where:
        def tell(self):
            return ray.get_runtime_context().get_placement_group_id(), ray.get_runtime_context().get_assigned_resources()

    group = groups([{"CPU": 2}])
    actor = Where.options(scheduling_strategy=inside(group, placement_group_bundle_index=0)).remote()
    assert ray.get(actor.tell.remote()) == (group.id.hex(), {"CPU": 1.0})
    plain = Where.options(num_cpus=0, scheduling_strategy=inside(group)).remote()
    assert ray.get(plain.tell.remote())[0] == group.id.hex()


def test_the_older_options_mean_the_same(ray, groups):
    @ray.remote
    def where():
        return ray.get_runtime_context().get_placement_group_id()

    group = groups([{"CPU": 1}])
    options = {"placement_group": group, "placement_group_bundle_index": 0}
    assert ray.get(where.options(**options).remote()) == group.id.hex()


@pytest.mark.needs_concurrency
def test_a_bundle_holds_no_more_than_it_has(ray, groups, inside, gate):
    @ray.remote(num_cpus=1)
    class Member:
        def ping(self):
            return "pong"

    group = groups([{"CPU": 1}, {"CPU": 1}])
    first, second = (Member.options(scheduling_strategy=inside(group, 0)).remote() for _ in range(2))
    assert ray.get(first.ping.remote()) == "pong"
    waiting = second.ping.remote()
    assert ray.wait([waiting], timeout=0.3)[0] == []
    other = Member.options(scheduling_strategy=inside(group, 1)).remote()
    assert ray.get(other.ping.remote()) == "pong"
    outside = ray.remote(lambda: "free")
    assert ray.get(outside.options(num_cpus=2).remote()) == "free"
    ray.kill(first)
    assert ray.get(waiting) == "pong"


@pytest.mark.needs_concurrency
def test_what_names_a_group_waits_for_it(ray, groups, inside, gate):
    @ray.remote(num_cpus=3)
    def busy():
        gate.enter()

    blocker = busy.remote()
    wait_until(lambda: gate.inside() == 1)
    group = groups([{"CPU": 2}])
    task = ray.remote(lambda: "done").options(num_cpus=0, scheduling_strategy=inside(group)).remote()
    assert ray.wait([task, group.ready()], timeout=0.3)[0] == []
    gate.open()
    assert ray.get([task, blocker]) == ["done", None]


def test_children_are_in_the_group_if_it_captures(ray, groups, inside):
    @ray.remote(num_cpus=1)
    def here():
        return ray.get_runtime_context().get_placement_group_id()

    @ray.remote(num_cpus=1)
    def parent(options):
        return ray.get(here.options(**options).remote() if options else here.remote())

    @ray.remote(num_cpus=0)
    class Parent:
        def child(self):
            return ray.get(here.remote())

    group = groups([{"CPU": 2}])
    strategy = inside(group, placement_group_capture_child_tasks=True)
    key = group.id.hex()
    assert ray.get(parent.options(scheduling_strategy=inside(group)).remote({})) is None
    assert ray.get(parent.options(scheduling_strategy=strategy).remote({})) == key
    assert ray.get(parent.options(scheduling_strategy=strategy).remote({"scheduling_strategy": "DEFAULT"})) is None
    assert ray.get(parent.options(scheduling_strategy=inside(group)).remote({})) is None
    assert ray.get(Parent.options(scheduling_strategy=strategy).remote().child.remote()) == key


def test_what_fits_into_no_bundle_is_refused(ray, groups, inside):
    @ray.remote
    def task():
        pass

    group = groups([{"CPU": 1}, {"CPU": 1, "lamp": 1}])
    with pytest.raises(ValueError, match="cannot fit into any bundles"):
        task.options(num_cpus=2, scheduling_strategy=inside(group)).remote()
    with pytest.raises(ValueError, match="cannot fit into any bundles"):
        task.options(num_gpus=1, scheduling_strategy=inside(group)).remote()
    with pytest.raises(ValueError, match="bundle index 2 is invalid"):
        task.options(scheduling_strategy=inside(group, 2)).remote()


@pytest.mark.parametrize("arguments, message", [
    ((None,), "must be a list"), (([],), "non-empty"), (([{}],), "empty dictionary"), (([{"CPU": 0}],), "only 0"),
    (([{"CPU": "1"}],), "resource dictionaries"), (([{"CPU": 1}], "NEAR"), "Invalid placement group strategy NEAR"),
    (([{"CPU": 1}], "PACK", "", "forever"), "lifetime"),
])
def test_bad_groups_are_refused(ray, arguments, message):
    with pytest.raises(ValueError, match=message):
        ray.util.placement_group(*arguments)


def test_removing_it_frees_its_resources(ray, groups):
    group = groups([{"CPU": 3, "GPU": 1}])
    assert group.wait(5)
    ray.util.remove_placement_group(group)
    wait_until(lambda: ray.available_resources().get("CPU") == 4 and ray.available_resources().get("GPU") == 2)
    assert ray.util.placement_group_table(group)["state"] == "REMOVED"
    ray.util.remove_placement_group(group)


def test_removing_it_ends_what_waits_for_it(ray, groups):
    group = groups([{"CPU": 5}])
    ready = group.ready()
    ray.util.remove_placement_group(group)
    with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved):
        ray.get(ready, timeout=10)


def test_removing_it_ends_its_actors(ray, groups, inside):
    @ray.remote(num_cpus=1)
    class Member:
        def ping(self):
            return "pong"

    group = groups([{"CPU": 1}])
    actor = Member.options(scheduling_strategy=inside(group)).remote()
    assert ray.get(actor.ping.remote()) == "pong"
    ray.util.remove_placement_group(group)
    with pytest.raises(ray.exceptions.ActorDiedError, match="placement group"):
        ray.get(actor.ping.remote(), timeout=10)


@pytest.mark.needs_concurrency
def test_removing_it_ends_its_tasks_and_those_that_wait(ray, groups, inside, gate):
    @ray.remote(num_cpus=1)
    def enter():
        gate.enter()

    group = groups([{"CPU": 1}])
    options = {"scheduling_strategy": inside(group), "max_retries": 0}
    running, queued = (enter.options(**options).remote() for _ in range(2))
    wait_until(lambda: gate.inside() == 1)
    ray.util.remove_placement_group(group)
    with pytest.raises((ray.exceptions.TaskPlacementGroupRemoved, ray.exceptions.WorkerCrashedError)):
        ray.get(running, timeout=10)
    with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved):
        ray.get(queued, timeout=10)


def test_it_is_found_by_name(ray, groups):
    group = groups([{"CPU": 1}], name="the group")
    found = ray.util.get_placement_group("the group")
    assert found == group and found.bundle_specs == [{"CPU": 1.0}]
    with pytest.raises(ValueError, match="no such"):
        ray.util.get_placement_group("no such")
    with pytest.raises(ValueError, match="non-empty"):
        ray.util.get_placement_group("")


def test_a_name_is_taken_once(ray, groups):
    groups([{"CPU": 1}], name="taken").wait(5)
    with pytest.raises(ray.exceptions.RaySystemError, match="already exists"):
        groups([{"CPU": 1}], name="taken")


def test_the_table_tells_of_groups(ray, groups):
    group = groups([{"CPU": 1}, {"GPU": 1}], strategy="SPREAD", name="tabled")
    assert group.wait(5)
    entry = ray.util.placement_group_table(group)
    node = ray.get_runtime_context().get_node_id()
    assert entry["placement_group_id"] == group.id.hex()
    assert (entry["name"], entry["strategy"], entry["state"]) == ("tabled", "SPREAD", "CREATED")
    assert entry["bundles"] == {0: {"CPU": 1.0}, 1: {"GPU": 1.0}}
    assert entry["bundles_to_node_id"] == {0: node, 1: node}
    assert ray.util.placement_group_table()[group.id.hex()] == entry
    waiting = groups([{"CPU": 5}])
    assert ray.util.placement_group_table(waiting)["state"] == "PENDING"


def test_it_travels(ray, groups, inside):
    @ray.remote
    def use(group):
        return group, group.bundle_count

    group = groups([{"CPU": 1}])
    assert ray.get(use.remote(group)) == (group, 1)
    assert {group: 1}[ray.get(ray.put(group))] == 1


def test_many_come_and_go(ray, inside):
    task = ray.remote(lambda: 1)
    for i in range(30):
        group = ray.util.placement_group([{"CPU": 1, "GPU": 1}, {"CPU": 1}])
        assert ray.get(task.options(scheduling_strategy=inside(group)).remote()) == 1
        ray.util.remove_placement_group(group)
    wait_until(lambda: ray.available_resources().get("CPU") == 4 and ray.available_resources().get("GPU") == 2)


def test_gpus_inside_are_numbered(ray, groups, inside):
    @ray.remote(num_gpus=1, num_cpus=0)
    def mine():
        return ray.get_gpu_ids()

    group = groups([{"GPU": 1}, {"GPU": 1}])
    assert [int(i) for i in ray.get(mine.options(scheduling_strategy=inside(group, 1)).remote())][0] in (0, 1)


@pytest.mark.rayshim_only
def test_a_removed_group_takes_no_more(ray, groups, inside):
    @ray.remote
    class Member:
        def ping(self):
            return "pong"

    task = ray.remote(lambda: 1)
    group = groups([{"CPU": 1}])
    known = task.options(scheduling_strategy=inside(group))
    assert ray.get(known.remote()) == 1
    ray.util.remove_placement_group(group)
    for late in (known, task.options(scheduling_strategy=inside(group))):
        with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved):
            ray.get(late.remote(), timeout=10)
    with pytest.raises((ray.exceptions.ActorUnschedulableError, ray.exceptions.ActorDiedError)):
        ray.get(Member.options(scheduling_strategy=inside(group)).remote().ping.remote(), timeout=10)


@pytest.mark.rayshim_only
@pytest.mark.needs_concurrency
def test_removing_it_ends_the_actors_that_wait_for_it(ray, groups, inside):
    @ray.remote(num_cpus=1)
    class Member:
        def ping(self):
            return "pong"

    group = groups([{"CPU": 1}])
    first, second = (Member.options(scheduling_strategy=inside(group)).remote() for _ in range(2))
    assert ray.get(first.ping.remote()) == "pong"
    waiting = second.ping.remote()
    ray.util.remove_placement_group(group)
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="placement group was removed"):
        ray.get(waiting, timeout=10)
