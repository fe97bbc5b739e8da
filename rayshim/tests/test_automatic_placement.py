"""placement="auto": the choice by the profile, what a class does to its process, and whole programs run again and again."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

from rayshim.placement import habits, roles_file, roles_text
from rayshim.placement.automatic import Shared, choose, compare
from rayshim.placement.profile import Profile
from rayshim.tests import outside

STEP = "train.py:9 8 train.py:9 step"
count = 0
table = {}
limit = 7
names = ("a", "b")


def profile(isolated=None, packed=None, actors=8, **more):
    runs = {"isolated": isolated, "packed": packed}
    return Profile(
        "train.py",
        "1",
        {name: found for name, found in runs.items() if found},
        {f"Env#{k}": 0.01 for k in range(actors)},
        **more,
    )


def test_the_first_run_is_isolated_and_measures():
    choice = choose(Profile("train.py", "1"), 2)
    assert choice.placement == "isolated" and "measures" in choice.why


def test_the_second_run_is_packed_if_more_actors_than_cores_can_share():
    assert isinstance(choose(profile([{STEP: [100, 1.0]}]), 2).placement, Shared)
    assert choose(profile([{STEP: [100, 1.0]}], actors=2), 2).placement == "isolated"


def test_actors_that_need_a_process_do_not_count():
    alone = profile([{STEP: [100, 1.0]}], alone={"Env": "uses signals"})
    assert choose(alone, 2).placement == "isolated"
    waiting = profile([{STEP: [100, 1.0]}], actors=4, unreturned=["Env#0", "Env#1"])
    assert choose(waiting, 2).placement == "isolated"


def test_later_runs_have_the_faster_placement():
    assert isinstance(choose(profile([{STEP: [100, 1.0]}], [{STEP: [100, 0.5]}]), 2).placement, Shared)
    assert choose(profile([{STEP: [100, 1.0]}], [{STEP: [100, 2.0]}]), 2).placement == "isolated"


def test_isolated_is_kept_where_packed_gains_next_to_nothing():
    assert choose(profile([{STEP: [100, 1.0]}], [{STEP: [100, 0.99]}]), 2).placement == "isolated"


def test_runs_without_a_common_pattern_cannot_be_compared():
    assert compare([{STEP: [100, 1.0]}], [{"other": [100, 1.0]}]) is None
    assert choose(profile([{STEP: [100, 1.0]}], [{}]), 2).placement == "isolated"


def test_one_slow_run_does_not_decide():
    runs = [{STEP: [100, 0.5]}, {STEP: [100, 50.0]}, {STEP: [100, 0.5]}]
    gain, patterns = compare([{STEP: [100, 1.0]}], runs)
    assert (gain, patterns) == (pytest.approx(2.0), 1)


def test_a_run_of_another_length_compares_by_the_time_of_one_pattern():
    assert compare([{STEP: [1000, 1.0]}], [{STEP: [10, 0.01]}])[0] == pytest.approx(1.0)


def test_the_groups_come_from_the_profile():
    plan = Shared(2, profile=profile(actors=4, alone={"Env": "uses signals"})).plan()
    assert plan == {"workers": 2, "groups": [[], []], "alone": ["Env#0", "Env#1", "Env#2", "Env#3"]}
    assert sorted(actor for group in Shared(2, profile=profile(actors=4)).plan()["groups"] for actor in group) == [
        "Env#0",
        "Env#1",
        "Env#2",
        "Env#3",
    ]


class Plain:
    def __init__(self):
        self.total = 0

    def step(self, x):
        self.total += helper(x) * limit + len(names)
        return os.path.join("a", str(self.total))


def helper(x):
    return x + 1


class Counting:
    def step(self):
        global count
        count += 1


class ByHelper:
    def step(self):
        return remember(1)


def remember(x):
    table[x] = x


class Nested:
    def step(self):
        return [lambda: table[k] for k in range(3)]


class OfClass:
    made = 0

    def __init__(self):
        OfClass.made += 1


class Signals:
    def step(self):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class Leaves:
    def step(self):
        os._exit(0)


class OfOtherModule:
    def step(self):
        return outside.rng.random()


class ByOtherModule:
    def step(self):
        return outside.counted()


class ByDefault:
    def step(self):
        outside.kept(1)


class ByCache:
    def step(self):
        return outside.drawn()


class ByWrapper:
    def step(self):
        return outside.wrapped()


class Inherits(outside.Base):
    pass


class ByProperty:
    @property
    def x(self):
        return 1

    @x.setter
    def x(self, value):
        table["x"] = value


class ByFactory:
    def step(self):
        return Settings()


@dataclass
class Settings:
    number: int = field(default_factory=outside.counted)


class ByBoundMethod:
    def step(self):
        return push(1)


push = [].append
log = logging.getLogger("x")


class ByNamespace:
    def __init__(self):
        self.settings = outside.Settings

    def step(self):
        self.settings.rate += 1


class ByArgument:
    def step(self):
        raise_rate(outside.Settings)


def raise_rate(settings):
    settings.rate += 1


class OfNested(outside.Nesting):
    def step(self):
        self.Count.n += 1


class Harmless(outside.OnlyReads):
    __slots__ = ("slot",)

    def __init__(self, mode=None):
        super().__init__()
        self.slot, self.mode = mode, outside.LIMIT

    def step(self):
        log.info(outside.pure(outside.NAMES))
        self.total = outside.Settings.rate + outside.Settings().rate + isinstance(self, outside.Settings)
        return random.random(), np.random.rand(), Plain

    def put(self):
        self.rate = 1

    def name(self):
        return type(self).__name__


def test_a_class_that_shares_a_variable_of_the_function_around_it_has_a_reason():
    seen = []

    class Inner:
        def step(self):
            seen.append(1)

    assert habits.why_not_shareable(Inner) == "uses the variable seen of the function around it, a list"


def test_a_class_with_nothing_but_its_own_state_may_share():
    assert habits.why_not_shareable(Plain) == ""


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (Counting, "sets the variable count of its module"),
        (ByHelper, "uses the variable table of its module, a dict"),
        (Nested, "uses the variable table of its module, a dict"),
        (OfClass, "sets the attribute made of the class OfClass"),
        (Signals, "uses signals"),
        (Leaves, "ends processes by os._exit"),
        (OfOtherModule, f"uses the variable rng of the module {outside.__name__}, a Generator"),
        (ByOtherModule, "uses the variable table of its module, a dict"),
        (ByDefault, "uses a default argument of kept, a list"),
        (ByCache, f"uses the variable drawn of the module {outside.__name__}, a _lru_cache_wrapper"),
        (ByWrapper, "uses the variable calls of the function around it, a list"),
        (Inherits, "uses the attribute cache of the class Base, a dict"),
        (ByProperty, "uses the variable table of its module, a dict"),
        (ByFactory, "uses the variable table of its module, a dict"),
        (ByBoundMethod, "uses the variable push of its module, a builtin_function_or_method"),
        (outside.Counts, "sets attributes of a class in __init__"),
        (ByNamespace, "sets the attribute rate of the class Settings"),
        (ByArgument, "sets the attribute rate of the class Settings"),
        (OfNested, "sets the attribute n of the class Count"),
        (Harmless, ""),
        (outside.OnlyReads, ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_class_that_others_could_see_has_a_reason(cls, reason):
    assert habits.why_not_shareable(cls) == reason


class WithoutHash(type):
    def __eq__(cls, other):
        return cls is other

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def test_a_class_that_cannot_be_looked_at_has_a_process_of_its_own():
    odd = type("Odd", (), {"__dataclass_fields__": 5})
    assert habits.why_not_shareable(odd).startswith("has code that cannot be followed (AttributeError(")
    assert habits.why_not_shareable(WithoutHash("Plain", (), {})) == ""


PROGRAM = """
import os, resource
import rayshim as ray

ray.init(seed=3)

@ray.remote
class Env:
    def __init__(self, k):
        self.k = k
    def step(self, x):
        import random
        return self.k + x + random.random()
    def pid(self):
        return os.getpid()

@ray.remote
class Limiting:
    def step(self, x):
        resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE))
        return x
    def pid(self):
        return os.getpid()

envs = [Env.remote(k) for k in range(6)]
limiting = [Limiting.remote() for _ in range(2)]
for i in range(200):
    values = ray.get([a.step.remote(i) for a in envs + limiting])
print(ray.digest(), len(set(ray.get([e.pid.remote() for e in envs]))), len(set(ray.get([m.pid.remote() for m in limiting]))), ray.report().placement)
"""


@pytest.fixture
def program(tmp_path):
    """Runs a program under `--placement auto` with profiles of its own; gives its output."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*command):
        command = command or ("run", "--placement", "auto", str(script))
        return subprocess.run(
            [sys.executable, "-m", "rayshim", *command], capture_output=True, text=True, env=env, cwd=tmp_path
        )

    run.script, run.folder = script, tmp_path / "cache" / "rayshim" / "profiles"
    return run


def test_a_program_is_measured_isolated_then_packed_with_one_digest(program):
    first, second, third = (program().stdout.split(maxsplit=3) for _ in range(3))
    assert first[0] == second[0] == third[0]
    assert first[1] == "6" and first[3].startswith("isolated (auto: nothing is known")
    assert int(second[1]) == (min(6, os.cpu_count())) and second[3].startswith("packed (auto: 6 actors can share")
    assert second[2] == "2"  # they set limits, which their neighbours would have, too
    assert "as fast as isolated" in third[3]


def test_the_file_of_roles_that_it_writes_gives_the_same_placement(program):
    groups = "\npids = ray.get([e.pid.remote() for e in envs])\nprint(*(pids.index(pid) for pid in pids))\n"
    program.script.write_text(PROGRAM + groups)
    for roles in ("Env 6 actors in 6 processes", f"shared 6 actors in {min(6, os.cpu_count())} processes"):
        run = program().stdout.split()
        (file,) = program.folder.glob("*.toml")
        copied = program.script.with_name("roles.toml")
        copied.write_text(file.read_text())
        again = program("--placement", str(copied), str(program.script))
        assert f"{roles}; Limiting 2 actors in 2 processes" in again.stdout and not again.stderr.count("roles.toml")
        assert (again.stdout.split()[:3], again.stdout.split()[-6:]) == (run[:3], run[-6:])
        assert str(file) in program("profile", "show").stdout


def test_the_file_of_roles_has_the_groups_the_reasons_and_the_figures(tmp_path):
    found = profile(actors=4, alone={"Learner#[]": "uses signals"}, unreturned=["Env#3"])
    found.seconds["Learner#[]#0"] = 2.5
    found.chosen = "packed: it was faster"
    plan = {"workers": 2, "groups": [["Env#0", "Env#2"], ["Env#1"]], "alone": ["Env#3", "Learner#[]#0"]}
    path = tmp_path / "roles.toml"
    path.write_text(roles_text.text(found, "", plan))
    roles = roles_file.read(path)
    assert roles.plan()["groups"] == plan["groups"] and roles.plan()["alone"] == ["Env#3"]
    learner = roles.of_actor(("Learner#[]",), None)
    assert learner.workers is None and learner.name == "Learner#[]"
    assert '["Env#0", "Env#2"],  # 0.02 s in methods' in path.read_text()
    assert "# 1 actor, 2.5 s in methods" in path.read_text() and "alone = true  # it uses signals" in path.read_text()
    assert "of train.py:" in path.read_text() and "packed: it was faster" in path.read_text()
    assert roles_text.text(Profile("train.py", "1"), "", None) == ""


def test_a_changed_program_is_measured_again(program):
    program()
    program.script.write_text(PROGRAM + "\n# another text\n")
    assert "nothing is known" in program().stdout


def test_profiles_are_shown_and_deleted(program):
    program()
    shown = program("profile", "show", str(program.script)).stdout
    assert (
        "isolated: 1 run measured" in shown
        and "each actor of Limiting has a process of its own: it sets limits of its process" in shown
    )
    assert program("profile", "clear").stdout == "1 profile deleted\n" and not list(program.folder.iterdir())
    gone = program("profile", "show")
    assert gone.returncode == 1 and "no profile" in gone.stdout


def test_a_damaged_profile_is_told_of_and_replaced(program):
    program()
    (path,) = program.folder.glob("*.json")
    path.write_text('{"program": ')
    again = program()
    assert "nothing is known" in again.stdout and str(path) in again.stderr and "Traceback" not in again.stderr
    assert json.loads(path.read_text())["runs"]["isolated"]


def test_a_folder_that_cannot_be_written_costs_the_profile_alone(program):
    program.folder.parent.parent.mkdir()
    program.folder.parent.write_text("a file")
    found = program()
    assert found.returncode == 0 and "cannot be written" in found.stderr and "nothing is known" in found.stdout


def test_a_program_without_a_file_runs_isolated(program):
    text = "import rayshim as ray; ray.init(placement='auto'); print(ray.report().placement)"
    assert "has no file" in program("-c", text).stdout
