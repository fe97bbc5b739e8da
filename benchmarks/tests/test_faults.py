"""The fault campaign: what it makes, what it finds, and a short one on fixed seeds."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.faults import attack, campaign, oracle, report, stepping
from benchmarks.faults import program as p
from benchmarks.machine import REPOSITORY

DRIVER, WORKER, OTHER, ZYGOTE = 1, 2, 3, 9


def flat(steps):
    for step in steps:
        yield step
        yield from flat(step.body) if isinstance(step, p.Loop) else ()


# ---- programs


def test_a_seed_gives_the_same_program_again_and_others_give_others():
    assert p.program(5) == p.program(5)
    assert len({p.program(seed) for seed in range(50)}) == 50


def test_the_placement_that_is_asked_for_changes_nothing_else_of_the_steps():
    isolated, packed = p.program(7, "isolated"), p.program(7, "packed")
    assert (isolated.placement, packed.placement) == ("isolated", "packed")
    assert isolated.steps == packed.steps


def test_programs_use_everything():
    programs = [p.program(seed) for seed in range(300)]
    steps = [step for program in programs for step in flat(program.steps)]
    assert {type(step) for step in steps} == {
        p.Create, p.Call, p.Task, p.Put, p.Get, p.Wait, p.Read, p.Keep, p.Cancel, p.Kill, p.Forget, p.Drop, p.Pause, p.Loop,
    }  # fmt: skip
    assert {actor.kind for program in programs for actor in program.actors.values()} == {"plain", "threaded", "async"}
    assert {strike.whom for program in programs for strike in program.strikes} == {
        "any",
        "newest",
        "oldest",
        "all",
        "zygote",
        "driver",
    }
    assert {program.placement for program in programs} == set(p.PLACEMENTS)
    arguments = {type(argument) for step in steps if isinstance(step, p.Call | p.Task) for argument in step.arguments}
    assert arguments == {p.Number, p.Result, p.Inside, p.Handle}


def test_a_tenth_of_the_programs_have_workers_with_an_interpreter_of_their_own():
    programs = [program for program in map(p.program, range(300)) if program.own_interpreters]
    assert 15 < len(programs) < 45
    steps = [step for program in programs for step in program.steps]
    assert any(isinstance(step, p.Create) and step.actor.own_interpreter for step in steps)
    assert any(isinstance(step, p.Task) and step.own_interpreter for step in steps)


def test_actors_call_older_actors_alone_so_that_no_program_waits_for_itself():
    handles = 0
    for seed in range(300):
        program = p.program(seed)
        for step in flat(program.steps):
            if isinstance(step, p.Call):
                called = [a.actor for a in step.arguments if isinstance(a, p.Handle)]
                assert all(program.actors[name].number < program.actors[step.actor].number for name in called)
                assert not any(isinstance(a, p.Inside) for a in step.arguments)
                handles += len(called)
    assert handles > 100


# ---- the oracle


class Story:
    """A trace that is made up: one actor "a" and one task, with the times that are given."""

    def __init__(self, max_restarts=0, retries=0):
        self.program = SimpleNamespace(placement="isolated", own_interpreters=False)
        self.run = attack.Run(status=0, driver=DRIVER)
        self.tell(0.0, "actor", "a", "plain", max_restarts, retries, [])
        self.tell(0.1, "life", "a", "x", [], pid=WORKER)

    def tell(self, t, kind, *facts, pid=DRIVER):
        self.run.events.append([kind, t, pid, *facts])
        return self

    def call(self, t, name, actor="a", what="add", retries=0, facts=()):
        return self.tell(t, "call", name, actor, what, retries, [*facts])

    def ran(self, t, name, n=1, life="x", pid=WORKER):
        return self.tell(t, "run", name, "a", life, n, pid=pid)

    def got(self, t, name, *parts, n=1, pid=WORKER, start=None):
        return self.tell(
            t,
            "got",
            [[name, 0]],
            t if start is None else start,
            None,
            ["values", [["result", name, 0, pid, n, [*parts]]]],
        )

    def failed(self, t, name, error, start=None, text="", timeout=None):
        return self.tell(
            t, "got", [[name, 0]], t if start is None else start, timeout, ["error", [error, "RayError"], text]
        )

    def strike(self, t, pid=WORKER, whom="any", title=""):
        return self.tell(t, "strike", pid, whom, title)

    def packed(self):
        self.program.placement = "packed"
        return self

    def wrong(self, ended=True):
        events = (
            [*self.run.events, ["end", 99.0, DRIVER], ["shut down", 99.1, DRIVER, 99.0]] if ended else self.run.events
        )
        run = attack.Run(**{**vars(self.run), "events": events})
        return oracle.judge(self.program, run).wrong


def test_a_right_run_is_right():
    assert Story().call(1, "1", facts=[["number", 4]]).ran(1.1, "1").got(1.2, "1", 4).wrong() == []


@pytest.mark.parametrize(
    ("story", "said"),
    [
        (lambda: Story().call(1, "1", facts=[["number", 4]]).ran(1, "1").got(1, "1", 5), "5 for 4"),
        (lambda: Story().call(1, "1").ran(1, "1").got(1, "1", n=2), "has no run"),
        (lambda: Story().call(1, "1").ran(1, "1").ran(1, "1", 2).got(1, "1"), "ran 2 times"),
        (lambda: Story().call(1, "1").call(1, "2").ran(1, "2").ran(1, "1", 2), "in the order"),
        (lambda: Story().call(1, "1").ran(1, "1", 3), "counted"),
        (lambda: Story().ran(1, "1"), "never called"),
        (lambda: Story().call(1, "1").failed(1.1, "1", "ActorDiedError"), "legal: none"),
        (lambda: Story().call(1, "1").strike(2).failed(1.1, "1", "ActorDiedError"), "legal: none"),
        (lambda: Story(-1, -1).call(1, "1", retries=-1).strike(1).failed(1.1, "1", "ActorUnavailableError"), "legal: none"),
        (lambda: Story(-1, 0).call(1, "1").strike(1).failed(1.1, "1", "ActorDiedError"), "legal: ActorUnavailableError"),
        (lambda: Story().call(1, "1").failed(1.1, "1", "GetTimeoutError"), "without a timeout"),
        (lambda: Story().call(1, "1").strike(1).failed(1.1, "1", "ActorDiedError", text="signal 11 (SIGSEGV)"), "died by itself"),
        (lambda: Story().call(1, "1").strike(2).failed(4.5, "1", "ActorDiedError", start=1), "after it was asked for"),
        (lambda: Story().call(1, "1").ran(1, "1").got(4, "1", start=1), "after it was asked for"),
        (lambda: Story().call(1, "1", None, retries=1).strike(1).failed(1.1, "1", "WorkerCrashedError"), "legal: none"),
        (lambda: Story().tell(1, "life", "a", "y", [], pid=OTHER), "was made 2 times"),
        (lambda: Story().tell(1, "waited", [["1", 0]], 1, None, 1, 0, True), "0 ready"),
        (lambda: Story().call(1, "1", what="stream", facts=[["number", 3]]).tell(2, "ended", "1", 2, 2), "2 values of 3"),
        (lambda: Story().tell(1, "not named", "a", ["error", ["ValueError"], ""]), "nobody killed it"),
        (lambda: Story().tell(1, "gone", ["error", ["RuntimeError"], ""]), "nobody killed the zygote"),
        (lambda: Story().tell(1, "let go", {"store_used": 1 << 20}), "nobody holds"),
        (lambda: Story().tell(1, "put", "1", 80).tell(2, "still", "1", ["array", 0, 80, False]), "is not the array"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_trace_is_told(story, said):
    wrong = story().wrong()
    assert len(wrong) == 1 and said in wrong[0], wrong


@pytest.mark.parametrize(
    "story",
    [
        lambda: Story().call(1, "1").strike(1).failed(1.1, "1", "ActorDiedError", text="killed by signal 9 (SIGKILL)"),
        lambda: Story(-1, 0).call(1, "1").strike(1).failed(1.1, "1", "ActorUnavailableError"),
        lambda: Story(-1, 1).call(1, "1", retries=1).ran(1, "1").strike(1).tell(1.2, "life", "a", "y", [], pid=OTHER)
        .ran(1.3, "1", 1, "y", OTHER).got(2, "1", pid=OTHER),
        lambda: Story().call(1, "1", None, retries=0).strike(1, OTHER).failed(1.1, "1", "WorkerCrashedError"),
        lambda: Story().call(1, "1").tell(1.1, "cancel", "1", False).failed(1.2, "1", "TaskCancelledError"),
        lambda: Story().call(1, "1").tell(1.1, "ray.kill", "a", True).failed(1.2, "1", "ActorDiedError"),
        lambda: Story(-1, 0).call(1, "1").tell(1.1, "drop", "a").strike(1.2).failed(1.3, "1", "ActorDiedError"),
        lambda: Story().call(1, "1").failed(1.2, "1", "GetTimeoutError", timeout=0.1),
        lambda: Story().call(1, "1").strike(3).failed(3.5, "1", "ActorDiedError", start=1),
        lambda: Story().call(1, "1").strike(1).call(1, "2", None, facts=[["ref", "1", 0]]).failed(1.2, "2", "ActorDiedError"),
        lambda: Story().strike(1, ZYGOTE, "zygote").tell(1.2, "gone", ["error", ["RuntimeError"], ""]),
        lambda: Story().packed().tell(0, "actor", "b", "plain", 0, 0, []).tell(0.2, "life", "b", "z", [], pid=OTHER).strike(0.05, OTHER, title="ray::__init__").call(1, "1")
        .failed(1.1, "1", "ActorDiedError"),
    ],
)  # fmt: skip
def test_what_the_kills_explain_is_right(story):
    assert story().wrong() == []


def test_a_driver_that_does_not_come_to_its_end_is_told_unless_it_was_killed():
    assert "did not come to its end" in Story().wrong(ended=False)[0]
    assert Story().strike(1, DRIVER, "driver").wrong(ended=False) == []


# ---- the campaign


def found(monkeypatch, tmp_path, fault, seed=2, placement="inline", **changed):
    """What a campaign of one program says whose driver has this fault."""
    monkeypatch.setenv("FAULTY", fault)
    monkeypatch.setattr(campaign, "_KEPT", tmp_path)
    monkeypatch.setattr(campaign.Pace, "measured", campaign.Pace)  # the faults are made for its limits
    for name, value in changed.items():
        monkeypatch.setattr(attack, name, value)
    screen = report.Screen(io.StringIO())
    wanted = campaign.arguments_from(["--seed", str(seed), "--placement", placement])
    totals = campaign.campaign([seed], wanted, screen, "benchmarks.tests.faulty_driver")
    assert bool(totals.wrong) == bool(list(tmp_path.iterdir()))
    return totals, screen.file.getvalue()


def test_a_driver_without_a_fault_passes(monkeypatch, tmp_path):
    totals, said = found(monkeypatch, tmp_path, "")
    assert totals.wrong == [] and said == "" and totals.checked > 0


@pytest.mark.parametrize("placement", ["inline", "packed"])
def test_a_campaign_runs_on_an_ordinary_build(monkeypatch, tmp_path, placement):
    totals, said = found(monkeypatch, tmp_path, "ordinary_build", placement=placement)
    assert totals.wrong == [] and said == "" and totals.checked > 0


def test_a_driver_finds_rayshim_where_it_is_installed_and_not_beside_the_campaign(tmp_path):
    path = attack.surroundings(tmp_path, "mark")["PYTHONPATH"].split(os.pathsep)[0]
    assert os.listdir(path) == ["benchmarks"]


@pytest.mark.parametrize(
    ("fault", "said", "changed"),
    [
        ("wrong_value", "is not result", {}),
        ("hang", "hung after step", {"HANG_SECONDS": 3.0}),
        ("leftover", "left behind: process", {}),
        ("file", "left behind: file cwd/core.1", {}),
        ("said", "on standard error: Traceback", {}),
        ("crash", "ended with status -11", {}),
        ("leak", "keeps what nobody holds", {}),
        ("slow", "after it was asked for", {}),
    ],
)
def test_a_faulty_driver_is_found(monkeypatch, tmp_path, fault, said, changed):
    totals, shown = found(monkeypatch, tmp_path, fault, **changed)
    assert totals.wrong == [2]
    assert said in shown and "again: python -m benchmarks faults --seed 2 --placement inline" in shown


def test_a_process_that_hides_is_found():
    """It bears no mark and is nobody's child any more; the process that runs the campaign adopts it."""
    code = """if True:
        import sys
        from unittest.mock import patch
        from benchmarks.faults import campaign, report
        from benchmarks.faults.processes import adopt_orphans
        adopt_orphans()
        with patch.object(campaign, "_keep", lambda *_: None):
            wanted = campaign.arguments_from(["--seed", "2", "--placement", "inline"])
            campaign.campaign([2], wanted, report.Screen(), "benchmarks.tests.faulty_driver")
    """
    environment = {**os.environ, "FAULTY": "hidden_leftover"}
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert "left behind: process" in done.stdout and "time.sleep(600)" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_short_campaign_finds_nothing_wrong():
    command = [sys.executable, "-m", "benchmarks", "faults", "--first", "1", "--kills", "300", "--minutes", "0.5"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong runs" in done.stdout


# ---- kills between two instructions


def test_a_worker_is_led_through_instructions_before_it_is_killed():
    process = subprocess.Popen(
        [sys.executable, "-c", "print('begun', flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        with stepping.led(process.pid, 1000):
            assert "\nState:\tt" in Path(f"/proc/{process.pid}/status").read_text()  # stopped by who traces it
            process.kill()
        assert not os.path.exists(f"/proc/{process.pid}")
    finally:
        process.kill()
        process.stdout.close()


def test_only_single_workers_are_led_and_each_seed_tells_how_far():
    one = p.program(9, stepping=True)
    assert one == p.program(9, stepping=True)
    assert [replace(strike, steps=0) for strike in one.strikes] == list(p.program(9).strikes)
    assert {bool(strike.steps) for strike in one.strikes if strike.whom in ("any", "newest", "oldest")} == {True}
    assert not any(strike.steps for strike in one.strikes if strike.whom in ("all", "zygote", "driver"))
