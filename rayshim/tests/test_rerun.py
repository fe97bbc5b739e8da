"""Recorded runs: done again exactly, compared, and refused where the program is no longer the same."""

import io

import pytest

import rayshim
from rayshim import diff
from rayshim.cli import main
from rayshim.tests.callers import alike
from rayshim.tests.rl_programs import actor_critic, replay_buffer, tree_of_tasks


def outcome(program, **how):
    rayshim.init(num_cpus=4, logging_level="ERROR", **how)
    try:
        return alike(program(rayshim)), rayshim.digest()
    finally:
        rayshim.shutdown()


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


def test_a_program_that_does_less_than_its_record_is_told(tmp_path):
    def program(ray):
        ref = ray.put(1)
        for _ in range(times):
            ray.get(ref, timeout=5)

    times = 1
    outcome(program, record=tmp_path / "run")
    times = 2
    with pytest.raises(rayshim.exceptions.ReplayError, match=r"no longer matches its record: here get at .*test_rerun.py:\d+; in the record nothing more"):
        outcome(program, replay=tmp_path / "run")


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

    with pytest.raises(rayshim.exceptions.ReplayError, match="no longer matches its record"):
        outcome(program, replay=tmp_path / "run")


def test_wrong_records_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="not empty"):
        rayshim.init(record=tmp_path)
    with pytest.raises(ValueError, match="no record of a run"):
        rayshim.init(replay=tmp_path)
    with pytest.raises(ValueError, match="one of the two"):
        rayshim.init(record=tmp_path / "a", replay=tmp_path / "b")
    with pytest.raises(SystemExit):
        main(["diff", str(tmp_path), str(tmp_path)])
    assert not rayshim.is_initialized()
