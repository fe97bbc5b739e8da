"""Which GPUs, and other numbered accelerators, tasks and actors get if they ask for a part of one or run in a placement group."""

import os
import signal

import pytest


def option(kind, amount):
    return {"num_gpus": amount} if kind == "GPU" else {"resources": {kind: amount}}


def start(backend, ray, kind, count=4):
    """(an actor class, a task) that give the ids of the accelerators of this kind that they have."""
    backend.init(num_cpus=8, log_to_driver=False, **option(kind, count))

    def ids():
        return [int(i) for i in ray.get_runtime_context().get_accelerator_ids()[kind]]

    class Holder:
        def ids(self):
            return ids()

    return ray.remote(num_cpus=0)(Holder), ray.remote(num_cpus=0)(ids)


def group(ray, *bundles):
    made = ray.util.placement_group(list(bundles))
    assert ray.get(made.ready())
    return made


def inside(ray, made, index):
    return ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(made, index)


@pytest.mark.parametrize("kind", ["GPU", "NPU"])
def test_a_part_comes_from_the_one_of_which_least_is_left_afterwards(bare_ray, backend, kind):
    holder, _ = start(backend, bare_ray, kind)
    actors = []
    for amount in (0.5, 0.7, 0.3, 0.2, 1):
        actors.append(holder.options(**option(kind, amount)).remote())
        bare_ray.get(actors[-1].ids.remote())
    assert bare_ray.get([a.ids.remote() for a in actors]) == [[0], [1], [1], [0], [2]]


@pytest.mark.parametrize("kind", ["GPU", "NPU"])
def test_in_a_bundle_they_are_those_of_the_bundle(bare_ray, backend, kind):
    holder, task = start(backend, bare_ray, kind)
    made = group(bare_ray, {kind: 1}, {kind: 2}, {kind: 1})
    of_bundle = [
        bare_ray.get(
            task.options(scheduling_strategy=inside(bare_ray, made, i), **option(kind, amount)).remote()
        )
        for i, amount in enumerate((1, 2, 1))
    ]
    assert sorted(i for ids in of_bundle for i in ids) == [0, 1, 2, 3]

    def at(index, amount):
        return holder.options(scheduling_strategy=inside(bare_ray, made, index), **option(kind, amount)).remote()

    actors = [(i, at(i, amount)) for i, amount in [(0, 0.5), (1, 1), (2, 0.25), (0, 0.5), (1, 0.5), (2, 0.25), (1, 0.25)]]
    found = [(i, bare_ray.get(a.ids.remote())) for i, a in actors]
    assert all(len(ids) == 1 and ids[0] in of_bundle[i] for i, ids in found)
    assert found[0] == found[3] and found[2] == found[5]


def test_in_any_bundle_a_part_comes_from_that_of_which_least_is_left(bare_ray, backend):
    holder, _ = start(backend, bare_ray, "GPU")
    made = group(bare_ray, {"GPU": 1}, {"GPU": 2}, {"GPU": 1})
    actors = []
    for _ in range(5):
        actors.append(holder.options(num_gpus=0.5, scheduling_strategy=inside(bare_ray, made, -1)).remote())
        bare_ray.get(actors[-1].ids.remote())
    first, second, third, fourth, last = bare_ray.get([a.ids.remote() for a in actors])
    assert first == second and third == fourth and len({*first, *third, *last}) == 3  # Ray's first one differs from run to run


def test_what_a_group_holds_nobody_outside_gets(bare_ray, backend):
    holder, task = start(backend, bare_ray, "GPU", 2)
    made = group(bare_ray, {"GPU": 1})
    outside = holder.options(num_gpus=1).remote()
    within = holder.options(num_gpus=1, scheduling_strategy=inside(bare_ray, made, 0)).remote()
    assert bare_ray.get([within.ids.remote(), outside.ids.remote()]) == [[0], [1]]
    bare_ray.kill(within)
    bare_ray.util.remove_placement_group(made)
    bare_ray.kill(outside)
    assert sorted(bare_ray.get(task.options(num_gpus=2).remote())) == [0, 1]


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("who", ["actor", "task", "group"])
def test_who_asks_for_a_part_that_no_single_one_has_waits_until_one_has_it(bare_ray, backend, who):
    holder, task = start(backend, bare_ray, "GPU", 2)
    first = [holder.options(num_gpus=0.6).remote() for _ in range(2)]
    assert sorted(bare_ray.get([a.ids.remote() for a in first])) == [[0], [1]]
    if who == "actor":
        asked = holder.options(num_gpus=0.5).remote()
        waiting = asked.ids.remote()
    elif who == "task":
        waiting = task.options(num_gpus=0.5).remote()
    else:
        asked = bare_ray.util.placement_group([{"GPU": 0.5}])
        waiting = asked.ready()
    assert bare_ray.wait([waiting], timeout=1) == ([], [waiting])
    if who != "task":
        assert bare_ray.get(task.options(num_gpus=0.4).remote()) == [0]
    gone = bare_ray.get(first[1].ids.remote())
    bare_ray.kill(first[1])
    given = bare_ray.get(waiting, timeout=60)
    if who != "group":
        assert given == gone


@pytest.mark.needs_processes
def test_those_of_a_task_that_was_killed_are_free_again(bare_ray, backend):
    _, task = start(backend, bare_ray, "GPU", 2)

    @bare_ray.remote(num_cpus=0, num_gpus=1, max_retries=0)
    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        with pytest.raises(bare_ray.exceptions.WorkerCrashedError):
            bare_ray.get(die.remote())
    assert sorted(bare_ray.get(task.options(num_gpus=2).remote())) == [0, 1]
