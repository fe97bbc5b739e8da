"""The runner of published programs, on two programs as short as can be."""

import pytest

from benchmarks.published import command
from benchmarks.published.command import EXPERIMENTS, Experiment

SCRIPT = """
import ray
ray.init()
@ray.remote
class Client:
    def task(self, n):
        return n + 1
client, n = Client.remote(), 0
while True:
    n = ray.get(client.task.remote(n))
    print(f"Overhead: {n / 1000} seconds")
"""
PROGRAM = """
target Python
reactor Client {
  input n
  output more
  reaction(n) -> more {= more.set(n.value + 1) =}
}
main reactor {
  state n = 0
  client = new Client()
  logical action again
  reaction(startup, again) -> client.n {= client.n.set(self.n) =}
  reaction(client.more) -> again {=
    self.n = client.more.value
    print(f"Overhead: {self.n / 1000} seconds")
    again.schedule(0)
  =}
}
"""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "program.lf").write_text(PROGRAM)
    return tmp_path


@pytest.mark.timeout(120)
@pytest.mark.parametrize("side", ["rayshim", "reactor"])
def test_a_program_runs_until_its_rounds_are_printed(side, repository):
    experiment = Experiment("short", "script.py", "program.lf", r"Overhead: ([\d.]+) seconds", "", 2, 5)
    arguments = command._command(side, experiment, repository, "inline")
    found = command._run(arguments, side, experiment.line, 5, 60.0)
    assert found == {"costs": [0.004, 0.005, 0.006, 0.007, 0.008, 0.009], "reason": None}


def test_a_program_that_prints_no_cost_is_timed(repository):
    found = command._run(["-m", "reactor", str(repository / "program.lf")], "reactor", "Overhead", 5, 60.0)
    assert found["reason"] is None and len(found["costs"]) == 1 and found["costs"][0] > 0


def test_a_program_that_ends_too_early_says_why(repository):
    (repository / "script.py").write_text("raise SystemExit('no environment')")
    found = command._run([str(repository / "script.py")], "rayshim", "Overhead", 5, 60.0)
    assert found == {"costs": [], "reason": "0 rounds, then: no environment"}


def test_the_table_has_the_ratio_beside_the_printed_one():
    runs = {"Ray": [{"costs": [0.4, 0.4]}], "rayshim": [{"costs": [0.2]}], "reactor": [{"costs": [0.1]}]}
    found = {"experiments": {"gym": {"title": "15 steps", "paper": "1.21", "runs": runs}}}
    assert list(command.cells(found)) == [["15 steps", "400.00", "200.00", "100.00", "2.00", "4.00", "1.21"]]


def test_experiments_are_the_papers():
    assert all(experiment.program.endswith(".lf") and experiment.paper for experiment in EXPERIMENTS.values())
