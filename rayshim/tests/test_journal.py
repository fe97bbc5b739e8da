"""Recorded runs: done again exactly, compared, and refused where the program is no longer the same."""

import asyncio
import io
import os
import re
import time

import pytest

import rayshim
from rayshim.cli import main
from rayshim.journal import diff
from rayshim.tests.rl_programs import actor_critic, replay_buffer, tree_of_tasks
from rayshim.tests.runs import Log, outcome, outcomes


@pytest.fixture
def delays(monkeypatch):
    monkeypatch.setenv("REACTOR_DELAYS", "3000")


@pytest.mark.parametrize("program", [actor_critic, tree_of_tasks, replay_buffer], ids=lambda p: p.__name__)
def test_a_run_by_arrival_is_done_again_exactly(program, delays, tmp_path):
    recorded = outcome(program, record=tmp_path / "run", ordering="arrival")
    for _ in range(2):
        assert outcome(program, replay=tmp_path / "run") == recorded


def test_the_clocks_answers_are_given_again(tmp_path):
    def program(ray):
        import time

        @ray.remote
        def after(seconds):
            time.sleep(seconds)
            return seconds

        slow, quick = after.remote(answers[0]), after.remote(answers[1])
        try:
            shown = [ray.get(slow, timeout=0.4)]
        except ray.exceptions.GetTimeoutError:
            shown = ["timed out"]
        ready, _ = ray.wait([slow, quick], num_returns=1, timeout=30)
        shown.append(ready == [slow])
        ray.get([slow, quick])
        return shown

    answers = 1.5, 0.0
    first = outcome(program, record=tmp_path / "run", ordering="arrival")[0]
    answers = 0.0, 1.0
    assert outcome(program, replay=tmp_path / "run")[0] == first == ["timed out", False]


class Pace:
    """How long a program takes here and there: something else in the record than in its replays."""

    first = second = None


@pytest.mark.parametrize("placement", ["isolated", "packed"])
@pytest.mark.parametrize("then", [(0.1, 0.0), (0.0, 0.4)], ids=["at once", "late"])
def test_an_actor_is_killed_where_it_was(tmp_path, placement, then):
    def program(ray):
        @ray.remote
        class Worker:
            def work(self, n, pause):
                for step in range(3):
                    ray.get(log.add.remote((n, step)))
                    time.sleep(pause)
                return n

        log = ray.remote(Log).remote()
        worker = Worker.remote()
        refs = [worker.work.remote(n, Pace.first) for n in range(8)]
        if Pace.second is None:
            ray.get(refs[2])
        else:
            time.sleep(Pace.second)
        ray.kill(worker)
        return outcomes(ray, refs), ray.get(log.all.remote())

    Pace.first, Pace.second = 0.05, None
    recorded = outcome(program, record=tmp_path / "run", placement=placement)[0]
    assert recorded[0][:3] == [0, 1, 2] and recorded[0][-1] == "ActorDiedError"
    Pace.first, Pace.second = then
    for _ in range(2):
        assert outcome(program, replay=tmp_path / "run", placement=placement)[0] == recorded


def test_an_actor_that_was_killed_before_it_was_made_is_not_made(tmp_path):
    def program(ray):
        @ray.remote
        class Busy:
            def for_a_while(self, seconds):
                time.sleep(seconds)

        @ray.remote(num_cpus=1)
        class Worker:
            def __init__(self):
                open(tmp_path / "made", "w").close()

            def work(self):
                return 1

        busy = [Busy.options(num_cpus=Pace.first).remote() for _ in range(4)]
        ray.get([b.for_a_while.remote(0) for b in busy])
        worker = Worker.remote()
        ref = worker.work.remote()
        time.sleep(0.5)
        ray.kill(worker)
        return outcomes(ray, [ref]), (tmp_path / "made").exists()

    Pace.first = 1  # all four CPUs together
    recorded = outcome(program, record=tmp_path / "run")[0]
    assert recorded == [["ActorDiedError"], False]
    Pace.first = 0
    assert outcome(program, replay=tmp_path / "run")[0] == recorded


def test_a_call_is_cancelled_where_it_was(tmp_path):
    def program(ray):
        @ray.remote
        def task(n, pause):
            counter.add.remote(n)
            time.sleep(pause)
            return n

        @ray.remote
        class Counter:
            def __init__(self):
                self.seen = []

            def add(self, n):  # when it has run, the end of its task does not cancel it
                self.seen.append(n)
                (tmp_path / f"began {n}").touch()

            def all(self):
                return sorted(self.seen)

        counter = Counter.remote()
        refs = [task.remote(n, pause) for n, pause in enumerate(Pace.first)]
        while len(list(tmp_path.glob("began *"))) < Pace.second:
            time.sleep(0.01)
        for ref in reversed(refs):  # the one that waits for a CPU first: it would begin on that of another
            ray.cancel(ref)
        shown = outcomes(ray, refs)
        return shown, ray.get(counter.all.remote())

    Pace.first, Pace.second = (0, 60, 60, 60, 60, 60), 5  # four of them run, one does not begin
    recorded = outcome(program, record=tmp_path / "run")[0]
    assert recorded[0] == [0] + 4 * ["RayTaskError(TaskCancelledError)"] + ["TaskCancelledError"]
    assert len(recorded[1]) == 5
    Pace.first, Pace.second = (0.5, 60, 60, 60, 60, 60), 0  # cancelled at once
    assert outcome(program, replay=tmp_path / "run")[0] == recorded


@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_a_call_with_arguments_that_is_cancelled_before_it_begins(tmp_path, placement):
    def program(ray):
        @ray.remote
        class Worker:
            def wait_for(self, path):
                while not path.exists():
                    time.sleep(0.001)

            def add(self, *numbers):
                return sum(numbers)

        worker = Worker.remote()
        refs = [worker.wait_for.remote(tmp_path / "go"), worker.add.remote(1, 2), worker.add.remote(3, 4)]
        ray.cancel(refs[1])
        (tmp_path / "go").touch()
        return outcomes(ray, refs)

    recorded = outcome(program, record=tmp_path / "run", placement=placement)[0]
    assert recorded == [None, "TaskCancelledError", 7]
    assert outcome(program, replay=tmp_path / "run", placement=placement)[0] == recorded


def test_an_actor_dies_of_a_signal_where_it_did(tmp_path):
    def program(ray):
        @ray.remote(max_restarts=1, max_task_retries=0)
        class Worker:
            def __init__(self):
                self.n = 0

            def pid(self):
                return os.getpid()

            def count(self, pause):
                self.n += 1
                time.sleep(pause)
                return self.n

        worker = Worker.remote()
        pid = ray.get(worker.pid.remote())
        refs = [worker.count.remote(Pace.first) for _ in range(6)]
        if Pace.second:
            ray.get(refs[2])
            os.kill(pid, 9)
        shown = outcomes(ray, refs)
        return [*shown, *outcomes(ray, [worker.count.remote(Pace.first)])]

    Pace.first, Pace.second = 0.1, True
    recorded = outcome(program, record=tmp_path / "run")[0]
    assert 1 in recorded and "ActorUnavailableError" in recorded
    Pace.first, Pace.second = 0.0, False  # and nobody from outside
    assert outcome(program, replay=tmp_path / "run")[0] == recorded


def test_calls_of_an_async_actor_begin_in_their_recorded_order(tmp_path, delays):
    def program(ray):
        @ray.remote
        class Loop:
            def __init__(self):
                self.began = []

            async def work(self, n):
                self.began.append(n)
                await asyncio.sleep(0.001)
                return n

            async def all(self):
                return self.began

        @ray.remote
        def caller(actor, n):
            return ray.get(actor.work.remote(n))

        loop = Loop.remote()
        ray.get([caller.remote(loop, n) for n in range(12)])
        return ray.get(loop.all.remote())

    recorded = outcome(program, record=tmp_path / "run", ordering="arrival")[0]
    for _ in range(3):
        assert outcome(program, replay=tmp_path / "run")[0] == recorded


def count(ray, times=3, factor=1):
    @ray.remote
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k
            return self.n * factor

    @ray.remote
    def adder(counter, k):
        return ray.get(counter.add.remote(k))

    counter = Counter.remote()
    return ray.get([adder.remote(counter, k) for k in range(times)])


def test_diff_names_the_first_operation_that_differs(tmp_path, capsys):
    outcome(count, record=tmp_path / "one")
    outcome(count, record=tmp_path / "same")
    outcome(lambda ray: count(ray, factor=2), record=tmp_path / "other")
    assert diff.first(tmp_path / "one", tmp_path / "same") is None
    found = diff.first(tmp_path / "one", tmp_path / "other")
    assert found.what == "Counter.add of actor 0, call 1"  # the first adds 0
    assert __file__ in found.site
    assert ("add(1) -> 1" in found.one, "add(1) -> 2" in found.two) == (True, True)
    assert main(["diff", str(tmp_path / "one"), str(tmp_path / "other")]) == 1
    assert "Counter.add of actor 0, call 1" in capsys.readouterr().out


def test_diff_of_other_placements_finds_none(tmp_path):
    outcome(count, record=tmp_path / "isolated")
    outcome(count, record=tmp_path / "inline", placement="inline")
    out = io.StringIO()
    assert diff.main(tmp_path / "isolated", tmp_path / "inline", out) == 0, out.getvalue()


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_a_program_that_ends_before_its_record_is_told(tmp_path, placement, capsys):
    def program(ray):
        @ray.remote
        def double(k):
            return 2 * k

        refs = [double.remote(k) for k in range(times)]
        if waits:
            ray.wait(refs, num_returns=1, timeout=30)
        return ray.get(refs[0])

    times, waits = 3, True
    outcome(program, record=tmp_path / "run", placement=placement)
    outcome(program, replay=tmp_path / "run", placement=placement)
    assert "journal goes on" not in capsys.readouterr().err
    times = 2
    outcome(program, replay=tmp_path / "run", placement=placement)
    assert re.search(
        r"has ended earlier than in its journal, where it next calls double at \S+test_journal.py:\d+ \(\S+jsonl:\d+\)",
        capsys.readouterr().err,
    )


def asks(times):
    def program(ray):
        ref = ray.put(1)
        for _ in range(times):
            ray.get(ref, timeout=5)

    return program


def test_a_program_that_asks_less_than_its_record_is_told(tmp_path, capsys):
    outcome(asks(2), record=tmp_path / "run")
    outcome(asks(2), replay=tmp_path / "run")
    assert "journal goes on" not in capsys.readouterr().err
    outcome(asks(1), replay=tmp_path / "run")
    assert re.search(
        r"earlier than in its journal, where it next calls get at \S+test_journal.py:\d+", capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["end.json", "1.jsonl"])
def test_a_directory_in_place_of_a_journals_file_is_refused(tmp_path, name):
    outcome(count, record=tmp_path / "run")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).mkdir()
    with pytest.raises(rayshim.exceptions.ReplayError, match=f"{name}.*is not a file"):
        rayshim.init(replay=tmp_path / "run")


def test_a_program_that_does_more_than_its_record_is_told(tmp_path):
    outcome(asks(1), record=tmp_path / "run")
    with pytest.raises(
        rayshim.exceptions.ReplayError,
        match=r"no longer matches its journal: here get in program at .*test_journal.py:\d+; in the journal this caller has no further operation",
    ):
        outcome(asks(2), replay=tmp_path / "run")


def test_an_actor_whose_recorded_call_never_comes_says_so(tmp_path):
    outcome(count, record=tmp_path / "run")

    def program(ray):
        @ray.remote
        class Counter:
            def add(self, k):
                return k

        @ray.remote
        def adder(counter, k):
            return k

        counter = Counter.remote()
        ray.get(adder.remote(counter, 0))
        return ray.get(counter.add.remote(7))

    with pytest.raises(rayshim.exceptions.ReplayError, match="no longer matches its journal"):
        outcome(program, replay=tmp_path / "run")


def test_wrong_records_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="not empty"):
        rayshim.init(record=tmp_path)
    with pytest.raises(ValueError, match="not the journal of a run"):
        rayshim.init(replay=tmp_path)
    with pytest.raises(ValueError, match="one of the two"):
        rayshim.init(record=tmp_path / "a", replay=tmp_path / "b")
    with pytest.raises(SystemExit):
        main(["diff", str(tmp_path), str(tmp_path)])
    assert not rayshim.is_initialized()
