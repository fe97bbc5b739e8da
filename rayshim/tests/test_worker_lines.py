"""Which of the workers' lines are shown, and when."""

from types import SimpleNamespace

import pytest
from reactor.runtime.messages.output import STDOUT

from rayshim.api import bars
from rayshim.api.worker_lines import Merger, Screen


@pytest.fixture
def merger(monkeypatch):
    for name in ("ALLOW_REGEX", "SKIP_REGEX", "AGG_WINDOW_S"):
        monkeypatch.delenv(f"RAY_DEDUP_LOGS_{name}", raising=False)
    return Merger()


def texts(shown):
    return [line for _, _, _, line in shown]


def test_the_first_of_alike_lines_is_shown_and_the_others_are_counted(merger):
    shown = [texts(merger.take(1, "f", pid, f"step {pid} done", 0.0)) for pid in (1, 2, 3)]
    assert shown == [["step 1 done"], [], []]
    (summary,) = texts(merger.rest())
    assert summary.startswith("step 3 done [repeated 2x across cluster]") and "RAY_DEDUP_LOGS=0" in summary


def test_a_workers_own_repetitions_are_shown(merger):
    assert [texts(merger.take(1, "f", 1, "again", 0.0)) for _ in range(3)] == [["again"]] * 3


def test_a_line_that_came_once_more_is_shown_as_it_is(merger):
    merger.take(1, "f", 1, "same", 0.0)
    merger.take(1, "f", 2, "same", 0.0)
    assert texts(merger.rest()) == ["same"]


def test_what_was_held_back_is_shown_with_the_next_line_after_the_window(merger):
    for pid in (1, 2, 3):
        merger.take(1, "f", pid, "same", 0.0)
    assert texts(merger.take(1, "f", 1, "other", 4.9)) == ["other"]
    shown = texts(merger.take(1, "f", 1, "third", 5.1))
    assert shown[0] == "third" and shown[1].startswith("same [repeated 2x")


@pytest.mark.parametrize("on_terminal", [True, False])
def test_the_count_of_repetitions_is_green_on_terminals(merger, monkeypatch, on_terminal):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: on_terminal)
    for pid in (1, 2, 3):
        merger.take(1, "f", pid, "same", 0.0)
    (summary,) = texts(merger.rest())
    assert summary.startswith("same\x1b[32m [repeated 2x" if on_terminal else "same [repeated 2x")


@pytest.mark.parametrize("value, merged", [("1", True), ("True", True), ("0", False), ("false", False), ("no", False)])
def test_lines_are_merged_only_where_the_environment_says_1_or_true(monkeypatch, capsys, value, merged):
    monkeypatch.setenv("RAY_DEDUP_LOGS", value)
    screen = Screen()
    for pid in (1, 2, 3):
        screen.show(1, "f", pid, "same")
    assert capsys.readouterr().out.count("same") == (1 if merged else 3)


def test_the_two_streams_are_not_mixed_up(merger):
    assert texts(merger.take(1, "f", 1, "same", 0.0)) == texts(merger.take(2, "f", 2, "same", 0.0)) == ["same"]


def test_lines_of_nothing_but_numbers_are_all_shown(merger):
    assert [texts(merger.take(1, "f", pid, "12", 0.0)) for pid in (1, 2)] == [["12"], ["12"]]


def test_patterns_say_what_is_always_shown_and_what_never(monkeypatch):
    monkeypatch.setenv("RAY_DEDUP_LOGS_ALLOW_REGEX", "^keep")
    monkeypatch.setenv("RAY_DEDUP_LOGS_SKIP_REGEX", "noise")
    merger = Merger()
    assert [texts(merger.take(1, "f", pid, "keep me", 0.0)) for pid in (1, 2)] == [["keep me"], ["keep me"]]
    assert merger.take(1, "f", 1, "noise", 0.0) == []


@pytest.mark.parametrize(
    "on_terminal, environment, color",
    [
        (True, {}, "\x1b[36m"),
        (True, {"NO_COLOR": "1"}, ""),
        (True, {"RAY_COLOR_PREFIX": "0"}, ""),
        (False, {}, ""),
        (False, {"RAY_COLOR_PREFIX": "1"}, "\x1b[32m"),  # the third of the colors, by the number of the process
    ],
)
def test_the_origin_of_a_line_is_colored_on_terminals_and_where_the_environment_asks(
    monkeypatch, capsys, on_terminal, environment, color
):
    for name in ("NO_COLOR", "RAY_COLOR_PREFIX", "RAY_DISABLE_WORKER_LOG_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr.isatty", lambda: on_terminal)
    Screen().show(2, "f", 8, "text")
    end = "\x1b[0m" if color else ""
    assert capsys.readouterr().err == f"{color}(f pid=8){end} text\n"


def test_the_state_of_a_bar_ends_the_text_before_it(capsys, monkeypatch):
    states = []
    monkeypatch.setattr(bars, "instance", lambda: SimpleNamespace(process_state_update=states.append))
    monkeypatch.setattr(bars, "_reported", False)
    state = f'{{"__magic_token__": "{bars.RAY_TQDM_MAGIC}", "x": 1}}'
    screen = Screen(plain=True)
    for line in ("plain", f"working: {state}", state, f"{state[:-1]}torn", ""):
        screen.show(STDOUT, "f", 1, line)
    assert capsys.readouterr().out == "plain\nworking: \n\n"
    assert [found["x"] for found in states] == [1, 1]
