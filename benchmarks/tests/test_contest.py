"""The runner and the report of the head-to-head workloads, on runs that are made up."""

import json

import pytest

pytest.importorskip("rich")

from benchmarks import contest, heads, program, publish, standings
from benchmarks.competitors import Competitor
from benchmarks.experiments import WORKLOADS, Case, Required, Workload
from benchmarks.sides import SIDES

SIDE = SIDES["rayshim"]
RAY = Competitor("ray", "Ray", SIDE, slow=True)
OURS = Competitor("rayshim", "rayshim", SIDE)
LIMIT = Competitor("limit", "limit", SIDE, shared=2)
OTHER = Competitor("other", "other", SIDE, same=False)
CASE = Case("small", {"size": 1}, work=10, required=(Required("ray", 3), Required("other", 2)))
WORKLOAD = Workload("made-up", "Made up", "nothing", (CASE,), (RAY, OURS, LIMIT, OTHER), rounds=8, longer=2)


def measured(*rounds, traces=("a", "b"), **changed):
    done = {"reason": None, "rounds": list(rounds), "traces": list(traces), "trace": "end", "left_behind": 0}
    return {**done, "start_up": 1.0, "peak_memory": 1 << 20, **changed}


def failed(reason):
    return {"reason": reason, "rounds": [], "traces": []}


def summary(**runs):
    others = {c.name: [measured(1.0)] for c in WORKLOAD.competitors}
    return standings.summary(WORKLOAD, CASE, {**others, **runs})


def row(name, found):
    return next(row for row in found["rows"] if row["name"] == name)


def test_a_cost_is_the_median_of_the_processes_medians_for_a_unit_of_work():
    found = summary(
        ray=[measured(10.0, 20.0, 90.0), measured(40.0, 40.0, 40.0)], rayshim=[measured(10.0)], limit=[measured(4.0)]
    )
    assert row("ray", found)["cost"] == 3.0
    assert row("rayshim", found)["over_ray"] == 3.0
    # The limit's processes work side by side, so half of its time counts.
    assert row("limit", found)["cost"] == 0.2 and row("rayshim", found)["of_limit"] == 0.2


def test_requirements_are_held_against_what_was_found():
    found = summary(ray=[measured(30.0)], rayshim=[measured(10.0)], other=[failed("no module")])
    over_ray, over_other = found["required"]
    assert over_ray["met"] is True and over_ray["found"] == 3.0
    assert over_other["met"] is None and over_other["found"] is None
    assert summary(ray=[measured(29.0)], rayshim=[measured(10.0)])["required"][0]["met"] is False


def test_what_was_left_out_is_required_of_nobody():
    alone = WORKLOAD.with_only(["rayshim", "limit"])
    found = standings.summary(alone, CASE, {c.name: [measured(1.0)] for c in alone.competitors})
    assert found["required"] == [] and standings.notes(found) == []


def test_a_row_tells_the_pace_of_the_machine_meanwhile():
    found = summary(
        ray=[measured(1.0, paces=[1.0, 3.0])],
        rayshim=[measured(1.0, paces=[1.0])],
        limit=[measured(1.0, paces=[1.25, 1.25])],
    )
    assert [row(name, found)["pace"] for name in ("ray", "rayshim", "limit", "other")] == [0.5, 1.0, 0.8, None]
    assert "the machine's pace differed from row to row: 50% to 100% of its best" in dict(standings.notes(found))
    even = summary(ray=[measured(1.0, paces=[1.0])], rayshim=[measured(1.0, paces=[1.1])])
    assert not any("pace" in text for text, _ in standings.notes(even))


def test_a_failure_is_a_row_that_says_why():
    found = summary(other=[failed("ModuleNotFoundError: no such library")])
    assert row("other", found)["cost"] is None
    assert "other failed: ModuleNotFoundError: no such library" in dict(standings.notes(found))


@pytest.mark.parametrize(
    "theirs, same",
    [
        (measured(1.0), True),
        (measured(1.0, traces=("a", "b", "c"), trace="later"), True),  # went further
        (measured(1.0, traces=("a", "x")), False),
        (measured(1.0, trace="another end"), False),
        (measured(1.0, traces=("a",), trace="sooner"), True),
    ],
)
def test_results_are_compared_as_far_as_both_went(theirs, same):
    assert row("rayshim", summary(rayshim=[measured(1.0), theirs]))["same"] is same


def test_what_computes_something_else_by_design_is_not_compared():
    found = summary(other=[measured(1.0, traces=("x", "y"))])
    assert row("other", found)["same"] is None and row("rayshim", found)["same"] is True


def test_competitors_take_turns_and_one_that_failed_is_not_asked_again(monkeypatch):
    asked = []

    def run(side, name, options, out, patience, listen=None):
        asked.append((options["who"], options["rounds"]))
        return failed("broken") if options["who"] == "b" else measured(1.0)

    monkeypatch.setattr(program, "run", run)
    a, b, c = (Competitor(name, name, SIDE, {"who": name}, slow=name == "a") for name in "abc")
    workload = Workload("made-up", "Made up", "nothing", (CASE,), (a, b, c), rounds=8, longer=2)
    (found,) = contest.run(workload, contest.Effort(repeat=2, share=0.5, quick=False))
    assert asked == [("a", 4), ("b", 8), ("c", 8), ("c", 8), ("a", 4)]
    assert [len(found["runs"][name]) for name in "abc"] == [2, 1, 2]


def test_figures_go_between_their_marks_only():
    text = "typed\n<!-- figures: one -->\nold\n<!-- end of figures -->\n<!-- figures: two -->\nkept\n<!-- end of figures -->\n"
    assert publish.filled(text, {"one": "new\n"}) == text.replace("old", "new")
    assert publish.filled(publish.filled(text, {"one": "new"}), {"one": "newer"}) == text.replace("old", "newer")


def test_every_result_has_a_place_on_a_page():
    results, readme = (path.read_text() for path in publish.PAGES)
    for name in [*WORKLOADS, "micro", "layers", "order", "pace", "summary"]:
        assert f"<!-- figures: {name} -->" in results
    assert "<!-- figures: highlights -->" in readme


def test_the_figures_of_the_readme_stand_in_the_results():
    results, readme = (path.read_text() for path in publish.PAGES)
    shown = readme.partition("<!-- figures: highlights -->")[2].partition("<!-- end of figures -->")[0]
    rows = [line for line in shown.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(publish.HIGHLIGHTS)
    for row in rows:
        assert row.split("|", 2)[2] in results  # the first cell, the workload, stands in the first of its rows only


def test_tables_are_made_from_the_json_alone():
    case = {"title": CASE.title, "options": CASE.options, **summary(ray=[measured(30.0)], rayshim=[measured(10.0)])}
    state = {"cores": 2, "processor": "P", "memory": 1 << 30, "system": "Linux-6.1-x", "python": "3.11", "versions": {}}
    state |= {"revision": None, "modified": None, "load": 0.0}
    found = {
        "title": "Made up: time",
        "unit": None,
        "axis": None,
        "published": "",
        "machine": state,
        "floors": {},
        "cases": [case],
    }
    told = publish.section("gymnasium", found)
    assert "| rayshim | 1 s ±0% | 3 |" in told and "at least 3, found 3: met" in told
    assert "| Made up | small | 3 s | 1 s | 3 | same |" in publish.summary({"gymnasium": found})
    assert "NOT MET" in publish.summary({"gymnasium": found})
    assert publish.highlights({"gymnasium": found}) is None


def test_the_readme_shows_some_rows_of_the_summary():
    state = {"cores": 2, "processor": "P", "memory": 1 << 30, "system": "Linux-6.1-x", "python": "3.11", "versions": {}}
    state |= {"revision": None, "modified": None, "load": 0.0}
    results = {}
    for name, title in publish.HIGHLIGHTS:
        case = {"title": title, "options": CASE.options, **summary(ray=[measured(30.0)], rayshim=[measured(10.0)])}
        results[name] = {
            "title": f"Of {name}: time",
            "unit": None,
            "axis": None,
            "published": "",
            "machine": state,
            "floors": {},
            "cases": [case],
        }
    told = publish.highlights(results)
    assert (
        "| Of impala | 50 steps a trajectory | 3 s | 1 s | 3 | same |" in told
        and told.count("an unknown revision") == 1
    )


def test_a_machine_stands_once_with_all_revisions_measured_there():
    state = {"cores": 2, "processor": "P", "memory": 1 << 30, "system": "Linux-6.1-x", "python": "3.11", "versions": {}}
    state |= {"modified": False, "load": 0.0}
    of = {name: {**state, "revision": number * 40} for name, number in zip(WORKLOADS, "bab", strict=False)}
    told = publish._machines({name: {"machine": machine} for name, machine in of.items()})
    assert told == "2 cores, P, 1 GiB, Linux 6.1, Python 3.11; ; rayshim at aaaaaaaaaa and bbbbbbbbbb.\n"


def test_publish_fills_the_pages_and_copies_the_plots(tmp_path, monkeypatch):
    case = {"title": CASE.title, "options": CASE.options, **summary(ray=[measured(30.0)], rayshim=[measured(10.0)])}
    state = {"cores": 2, "processor": "P", "memory": 1 << 30, "system": "Linux-6.1-x", "python": "3.11", "versions": {}}
    state |= {"revision": None, "modified": None, "load": 0.0}
    found = {
        "title": "Made up: time",
        "unit": None,
        "axis": None,
        "published": "",
        "machine": state,
        "floors": {},
        "cases": [case],
    }
    (tmp_path / "gymnasium.json").write_text(json.dumps(found))
    page = tmp_path / "RESULTS.md"
    page.write_text("# Results\n\n<!-- figures: gymnasium -->\nold\n<!-- end of figures -->\n")
    monkeypatch.setattr(publish, "PAGES", (page,))
    monkeypatch.setattr(publish, "PLOTS", tmp_path / "plots")
    assert publish.main(["--json", str(tmp_path), "--publish"]) == 0
    assert "| rayshim | 1 s ±0% | 3 |" in page.read_text() and "![gymnasium](plots/gymnasium.png)" in page.read_text()
    assert (tmp_path / "plots" / "gymnasium.png").exists()


def test_the_effort_is_the_usual_one_where_nothing_else_is_said():
    assert contest.effort(quick=False) == contest.Effort(3, 1.0, False)
    assert contest.effort(quick=True, repeat=2) == contest.Effort(2, 0.25, True)
    assert contest.effort(quick=False, share=0.5) == contest.Effort(3, 0.5, False)
    with pytest.raises(SystemExit):
        heads.arguments_from(["gymnasium", "--share", "0"])


def test_an_unknown_competitor_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        heads.arguments_from(["gymnasium", "--only", "nobody"])
    assert ended.value.code == 2 and "no competitor of gymnasium is called 'nobody'" in capsys.readouterr().err
