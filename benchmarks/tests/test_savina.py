"""Savina's programs give the same result as reactors and as actors, so that what is compared is their time alone."""

import importlib
from collections import deque
from importlib.util import find_spec

import pytest

from benchmarks.savina import contest
from benchmarks.savina.actor import System
from benchmarks.savina.command import cells, markdown
from benchmarks.savina.measure import opened, samples
from benchmarks.savina.rows import ROWS
from benchmarks.savina.systems.hosting import make


class OneAfterTheOther(System):
    """Runs all actors here; a message waits until those before it are done."""

    def __init__(self):
        self._waiting, self._results = deque(), deque()

    def spawn(self, actor_class, *args):
        return make(actor_class, args, self.send, self._results.append)

    def send(self, actor, method, *args):
        self._waiting.append((actor, method, args))

    def ask_all(self, calls):
        self._run()
        return [getattr(actor, method)(*args) for actor, method, *args in calls]

    def result(self):
        self._run()
        return self._results.popleft()

    def _run(self):
        while self._waiting:
            actor, method, args = self._waiting.popleft()
            getattr(actor, method)(*args)


def parameters(row):
    return row.small | ({"pieces": 800} if "pieces" in row.small else {})


def entry(row):
    return {"name": row.name, "module": row.module, "function": row.function, "parameters": parameters(row)}


def by_actors(row, system):
    program = getattr(importlib.import_module(f"benchmarks.savina.actors.{row.module}"), row.function)
    return program(system, **parameters(row))


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_reactors_and_actors_give_the_same(row):
    run, _ = opened("reactor")
    assert run(entry(row))[0] == by_actors(row, OneAfterTheOther())


@pytest.mark.skipif(find_spec("pykka") is None, reason="needs pykka")
@pytest.mark.parametrize("name", ["big", "bounded-buffer", "shortest-paths"])
def test_threads_of_actors_give_the_same(name):
    run, close = opened("pykka")
    found, finish = run(entry(ROWS[name]))
    finish()
    close()
    assert found == by_actors(ROWS[name], OneAfterTheOther())


@pytest.mark.skipif(find_spec("xronos") is None, reason="needs xronos")
@pytest.mark.parametrize("name", contest.SIDES["xronos"].only)
def test_reactors_of_xronos_give_the_same(name):
    run, _ = opened("xronos")
    assert run(entry(ROWS[name]))[0] == opened("reactor")[0](entry(ROWS[name]))[0]


def test_a_side_runs_only_its_rows():
    side = contest.Side("other", "other", "no_such_library", "other", ("counting",))
    found = contest.run([ROWS["counting"], ROWS["big"]], [side], True, 1, 1, 10.0)
    assert list(found["counting"]) == ["other"] and not found["big"]
    assert all(name in ROWS for side in contest.SIDES.values() for name in side.only)


def test_small_parameters_are_those_of_the_published_program():
    assert len(ROWS) > 20
    for row in ROWS.values():
        assert row.small.keys() == row.published.keys(), row.name


def test_a_program_whose_runs_differ_fails():
    given = iter([1, 2])
    with pytest.raises(ValueError, match="two runs give 1 and 2"):
        samples(lambda row: (next(given), lambda: None), {}, 2)


def found_by(**sides):
    row = {
        name: {"runs": [[seconds]] if seconds else [], "checksum": checksum, "reason": reason}
        for name, (seconds, checksum, reason) in sides.items()
    }
    return {"rows": {"big": row}, "sides": list(row), "small": True, "versions": {}, "machine": None}


def test_a_side_with_another_checksum_is_shown_and_does_not_count():
    found = found_by(reactor=(0.002, "1", None), pykka=(0.001, "2", None), thespian=(0.004, "1", None))
    _, (big, means) = cells(found)
    assert big == ["big", "2.0", "DIFFERENT", "4.0  2.0x"]
    assert means[2:] == ["", "2.0x (1)"]


def test_a_side_that_fails_is_shown_and_does_not_count():
    found = found_by(
        reactor=(0.002, "1", None), ray=(None, None, "no result within 90 s"), xoscar=(None, None, "KeyError")
    )
    assert cells(found)[1][0] == ["big", "2.0", "too long", "failed"]
    assert contest.ratios(found["rows"], "ray") == {}


def test_the_faster_placement_of_reactor_counts():
    found = found_by(
        **{"reactor": (0.004, "1", None), "reactor-packed": (0.002, "1", None), "pykka": (0.006, "1", None)}
    )
    assert contest.ratios(found["rows"], "pykka") == {"big": pytest.approx(3.0)}


def test_a_library_that_is_not_installed_leaves_its_column_empty():
    side = contest.Side("other", "other", "no_such_library", "other")
    found = contest.run([ROWS["counting"]], [side], True, 1, 1, 10.0)
    assert found["counting"]["other"]["reason"] == "other is not installed: pip install no_such_library"


def test_the_table_is_markdown(monkeypatch):
    monkeypatch.setattr("benchmarks.machine.in_words", lambda described: "a machine")
    text = markdown(found_by(reactor=(0.002, "1", None), pykka=(0.004, "1", None)))
    assert "| big | 2.0 | 4.0  2.0x |" in text and text.rstrip().endswith("a machine.")
