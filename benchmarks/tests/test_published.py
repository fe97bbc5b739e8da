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


def run(side, repository, line, **more):
    experiment = Experiment("short", "script.py", "program.lf", line, "", 2, 5, **more)
    return command._run(
        side,
        experiment,
        5,
        command._parser().parse_args([str(repository), "--placement", "inline", "--patience", "60"]),
    )


@pytest.mark.parametrize("side", ["rayshim", "reactor"])
def test_a_program_runs_until_its_rounds_are_printed(side, repository):
    found = run(side, repository, r"Overhead: ([\d.]+) seconds")
    assert found == {"costs": [0.004, 0.005, 0.006, 0.007, 0.008, 0.009], "reason": None}


def test_a_program_that_prints_no_cost_is_timed(repository):
    found = run("reactor", repository, "Overhead")
    assert found["reason"] is None and len(found["costs"]) == 1 and found["costs"][0] > 0


def test_a_program_that_ends_too_early_says_why(repository):
    (repository / "script.py").write_text("raise SystemExit('no environment')")
    assert run("rayshim", repository, "Overhead") == {"costs": [], "reason": "0 rounds, then: no environment"}


@pytest.mark.parametrize("side", ["rayshim", "reactor"])
def test_a_program_finds_its_files_where_it_is_started(side, repository):
    (repository / "policies").mkdir()
    (repository / "policies" / "first.txt").write_text("seven")
    (repository / "script.py").write_text("raise SystemExit(open('first.txt').read())")
    (repository / "program.lf").write_text(
        "target Python\nmain reactor { reaction(startup) {= raise SystemExit(open('first.txt').read()) =} }"
    )
    assert "seven" in run(side, repository, "Overhead", files="policies/*.txt")["reason"]


def test_the_environment_of_a_program_is_exchanged_once(repository):
    body = 'target Python\nmain reactor {{ reaction(startup) {{= {0}\nraise SystemExit("found nothing") =}} }}'
    arguments = command._parser().parse_args([str(repository)])
    experiment = Experiment("short", "script.py", "program.lf", "", "", 2, 5, environment="Pong-v4")
    (repository / "own").mkdir()
    (repository / "program.lf").write_text(body.format('gym.make("Pole-v1")'))
    command._command("reactor", experiment, repository / "own", arguments)
    assert (repository / "own" / "program.lf").read_text() == body.format('gym.make("Pong-v4")')
    (repository / "program.lf").write_text(body.format("pass"))
    with pytest.raises(SystemExit, match="names 0 environments"):
        command._command("reactor", experiment, repository / "own", arguments)


@pytest.mark.parametrize("name", ["Env", "make", "spaces"])
def test_gym_stands_for_what_the_programs_use_of_it(name, repository):
    (repository / "script.py").write_text(
        f"import gym, gym.utils.seeding\nfrom gym.envs.registration import register\ngym.{name}\n"
        "register(id='Own-v0', entry_point='collections:OrderedDict', kwargs={'a': 1, 'b': 2})\n"
        "raise SystemExit(str(sorted(gym.make('collections:Own-v0', b=3).items())))"
    )
    assert run("rayshim", repository, "Overhead")["reason"] == "0 rounds, then: [('a', 1), ('b', 3)]"


def test_the_table_has_the_ratio_beside_the_printed_one():
    runs = {"Ray": [{"costs": [0.4, 0.4]}], "rayshim": [{"costs": [0.2]}], "reactor": [{"costs": [0.1]}]}
    found = {"experiments": {"gym": {"title": "15 steps", "paper": "1.21", "runs": runs}}}
    assert list(command.cells(found)) == [["15 steps", "400.00", "200.00", "100.00", "2.00", "4.00", "1.21"]]


def test_experiments_are_the_papers():
    assert all(experiment.program.endswith(".lf") and experiment.paper for experiment in EXPERIMENTS.values())
