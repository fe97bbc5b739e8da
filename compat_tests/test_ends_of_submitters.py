"""The tasks and actors of a process that ends, end with it: those that run and those that wait, and what they have submitted in turn."""

import os
import signal
import time

import pytest

pytestmark = [pytest.mark.needs_processes, pytest.mark.needs_concurrency]
QUIET = 1.5  # seconds without a beat after which a call has ended
LONG = 40.0


@pytest.fixture
def beats(gate):
    """`beat(name)`, for a call: beats until the gate opens; `all_beat(names)`, `none_beats(names)`: wait until that is so."""

    class Beats:
        def beat(self, name):
            while not gate.is_open():
                gate.touch(name)
                time.sleep(0.05)

        def last(self, name):
            path = os.path.join(gate.directory, name)
            return time.time() - os.path.getmtime(path) if os.path.exists(path) else None

        def all_beat(self, names):
            for name in names:
                gate.wait_for(name)

        def none_beats(self, names):
            deadline = time.monotonic() + LONG
            while running := [name for name in names if (last := self.last(name)) is not None and last < QUIET]:
                assert time.monotonic() < deadline, f"still run: {running}"
                time.sleep(0.05)

        def still_beat(self, names):
            since = time.time()
            deadline = time.monotonic() + LONG
            while not all(os.path.getmtime(os.path.join(gate.directory, name)) > since + QUIET for name in names):
                assert time.monotonic() < deadline
                time.sleep(0.05)

    return Beats()


@pytest.fixture
def submit(ray, beats):
    """`submit(name)`: submits a task, a generator and a task that submits one itself; each beats under a name, which is returned."""
    beat = beats.beat

    @ray.remote(num_cpus=0, max_retries=2)
    def task(name):
        beat(name)

    @ray.remote(num_cpus=0, max_retries=2)
    def values(name):
        yield 1
        beat(name)

    @ray.remote(num_cpus=0, max_retries=2)
    def nested(name):
        kept = task.remote(f"{name}-leaf")  # noqa: F841
        beat(f"{name}-nested")

    def submitted():
        return [task.remote("task"), values.options(num_returns="streaming").remote("values"), nested.remote("it")]

    return submitted


NAMES = ["task", "values", "it-nested", "it-leaf"]


@pytest.fixture
def boss(ray, submit, beats):
    beat = beats.beat

    @ray.remote(num_cpus=0)
    class Worker:
        def beat(self, name):
            beat(name)

    @ray.remote(num_cpus=0)
    class Boss:
        def begin(self):
            self.kept = submit()

        def begin_actor(self):
            self.actor = Worker.remote()
            self.call = self.actor.beat.remote("actor")

        def pid(self):
            return os.getpid()

        def crash(self):
            os._exit(1)

    return Boss


def end(ray, actor, how):
    if how == "kill":
        ray.kill(actor)
    elif how == "crash":
        actor.crash.remote()
    else:
        os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)


@pytest.mark.parametrize("how", ["kill", "crash", pytest.param("signal", marks=pytest.mark.needs_own_processes)])
def test_the_tasks_of_an_actor_that_is_killed_or_crashes_end(ray, boss, beats, how):
    actor = boss.remote()
    ray.get(actor.begin.remote())
    beats.all_beat(NAMES)
    end(ray, actor, how)
    beats.none_beats(NAMES)


def test_the_tasks_of_an_actor_that_nobody_holds_any_more_end(ray, boss, beats):
    actor = boss.remote()
    ray.get(actor.begin.remote())
    beats.all_beat(NAMES[:3])
    del actor
    beats.none_beats(NAMES[:2])


def test_the_tasks_of_a_restarted_actors_earlier_life_end(ray, boss, beats):
    actor = boss.options(max_restarts=1, max_task_retries=-1).remote()
    ray.get(actor.begin.remote())
    beats.all_beat(NAMES)
    ray.kill(actor, no_restart=False)
    beats.none_beats(NAMES)
    assert ray.get(actor.pid.remote())


def test_the_actors_of_an_actor_that_is_killed_end_with_their_calls(ray, boss, beats):
    actor = boss.remote()
    ray.get(actor.begin_actor.remote())
    beats.all_beat(["actor"])
    ray.kill(actor)
    beats.none_beats(["actor"])


def test_the_tasks_of_a_task_that_crashes_end(ray, submit, gate, beats):
    @ray.remote(num_cpus=0, max_retries=0)
    def crash():
        kept = submit()  # noqa: F841
        gate.wait_for("crash")
        os._exit(1)

    ref = crash.remote()
    beats.all_beat(NAMES)
    gate.touch("crash")
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(ref)
    beats.none_beats(NAMES)


@pytest.mark.parametrize("how", ["returns", "raises"])
def test_the_tasks_of_a_task_that_has_ended_run_on(ray, submit, beats, how):
    @ray.remote(num_cpus=0, max_retries=0)
    def caller():
        kept = submit()
        if how == "raises":
            raise ValueError(len(kept))

    ref = caller.remote()
    ray.wait([ref])
    beats.all_beat(NAMES)
    beats.still_beat(NAMES)


def test_tasks_that_wait_do_not_run_when_their_submitter_is_dead(ray, gate):
    @ray.remote(num_cpus=ray.cluster_resources()["CPU"], max_retries=0)
    def whole(name):
        gate.touch(name)

    @ray.remote(num_cpus=ray.cluster_resources()["CPU"])
    def hold():
        gate.touch("held")
        gate.wait_for("go on")

    @ray.remote(num_cpus=0)
    def later():
        gate.wait_for("open")
        return "behind"

    @ray.remote(num_cpus=0)
    class Boss:
        def begin(self, argument):
            self.kept = [whole.remote("waits"), whole.remote(argument[0])]

    holding = hold.remote()
    gate.wait_for("held")
    boss = Boss.remote()
    ray.get(boss.begin.remote([later.remote()]))
    ray.kill(boss)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(boss.begin.remote([None]))
    gate.touch("go on")
    ray.get(holding)
    gate.open()
    ray.get(whole.remote("mine"))
    assert not {"waits", "behind"} & set(os.listdir(gate.directory))


def test_the_ref_of_a_task_whose_submitter_is_dead_raises_owner_died(ray, gate):
    @ray.remote(num_cpus=0, max_retries=2)
    def task():
        gate.touch("runs")
        gate.wait_for("open")

    @ray.remote(num_cpus=0)
    class Boss:
        def begin(self):
            return [task.remote()]

    boss = Boss.remote()
    (ref,) = ray.get(boss.begin.remote())
    gate.wait_for("runs")
    ray.kill(boss)
    with pytest.raises(ray.exceptions.OwnerDiedError):
        ray.get(ref, timeout=LONG)


def test_what_was_called_of_other_actors_runs_on(ray, gate):
    @ray.remote(num_cpus=0)
    class Store:
        def __init__(self):
            self.noted = []

        def hold(self):
            gate.enter()

        def note(self, what):
            self.noted.append(what)

        def all(self):
            return self.noted

    @ray.remote(num_cpus=0)
    class Boss:
        def begin(self, store):
            self.kept = [store.hold.remote(), store.note.remote("waits")]

    store, boss = Store.remote(), Boss.remote()
    ray.get(boss.begin.remote(store))
    while not gate.inside():
        time.sleep(0.01)
    ray.kill(boss)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(boss.begin.remote(store))
    gate.open()
    assert ray.get(store.all.remote()) == ["waits"]


def test_the_cpus_of_tasks_that_end_with_their_submitter_are_free(ray, gate):
    cpus = int(ray.cluster_resources()["CPU"])

    @ray.remote(num_cpus=1, max_retries=2)
    def task(i):
        gate.touch(f"runs-{i}")
        gate.wait_for("open")

    @ray.remote(num_cpus=0)
    class Boss:
        def begin(self):
            self.kept = [task.remote(i) for i in range(cpus)]

    @ray.remote(num_cpus=cpus)
    def whole():
        return True

    boss = Boss.remote()
    ray.get(boss.begin.remote())
    for i in range(cpus):
        gate.wait_for(f"runs-{i}")
    ray.kill(boss)
    assert ray.get(whole.remote(), timeout=LONG)
