"""Files of roles: what they say, and a sentence with file, line and role for each mistake in one."""

import os
import sys

import pytest

import rayshim
from rayshim.placement.roles_file import read
from rayshim.tests.test_cli import start

CORE = min(os.sched_getaffinity(0))


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Writes a file of roles, roles.toml in the current directory, and reads it."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "roles.toml").write_text(text)
        return read("roles.toml")

    return write


def names(role):
    return role and role.name


def test_the_first_role_that_matches_applies(given):
    roles = given(
        """
[roles.best]
named = "best-*"
[roles.sampler]
actors = ["Sampler", "train.Outer.Env"]
[roles.work]
tasks = "collect*"
[roles.others]
actors = "*"
"""
    )
    env = ("Env", "Outer.Env", "train.Outer.Env")
    assert names(roles.of_actor(("Sampler", "Sampler", "train.Sampler"), None)) == "sampler"
    assert names(roles.of_actor(("Sampler", "Sampler", "train.Sampler"), "best-1")) == "best"
    assert names(roles.of_actor(env, None)) == "sampler"
    assert names(roles.of_actor(("sampler", "sampler", "train.sampler"), "other")) == "others"
    assert names(roles.of_task(("collect_all", "collect_all", "train.collect_all"))) == "work"
    assert names(roles.of_task(("Sampler", "Sampler", "train.Sampler"))) is None


def test_the_shared_processes_of_all_roles_are_numbered(given):
    roles = given(
        f"""
[roles.a]
actors = "A"
workers = 2
together = [["A#0", "A#3"]]
[roles.alone]
actors = "B"
alone = true
threads = 2
[roles.c]
actors = "C"
workers = 1
cores = [{CORE}]
apart = "C#1"
""".replace('"C#1"', '["C#1"]')
    )
    assert roles.plan() == {
        "workers": 3,
        "groups": [["A#0", "A#3"], [], []],
        "alone": ["C#1"],
        "born_with": [(None, False, None)] * 2 + [(None, False, ((CORE,), None))],
    }
    assert [role.where for role in roles.roles] == ["roles.toml:2", "roles.toml:6", "roles.toml:10"]
    assert [role.process for role in roles.roles] == [None, ((), 2), ((CORE,), None)]


TABLE = '[roles.s]\nactors = "S"\n'


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        (TABLE + "wrokers = 2", "3: role s", "unknown key 'wrokers'. The keys are actors"),
        (TABLE + "workers = 0", "3: role s", "workers = 0 is not a number of workers"),
        (TABLE + "workers = true", "3: role s", "workers = True is not a number"),
        (TABLE + "workers = 1001", "3: role s", "from 1 to 1000"),
        (TABLE + "\n\nalone = false", "5: role s", "Write `alone = true`, or `workers = N`"),
        (TABLE + "workers = 2\nalone = true", "4: role s", "exclude each other"),
        (TABLE + "threads = 1.5", "3: role s", "threads = 1.5 is not"),
        (TABLE + "workers = 2\nthreads = 2", "4: role s", "use 1 thread"),
        (TABLE + "cores = [0, 100000]", "3: role s", "[100000] cannot be used. Give a list of cores"),
        (TABLE + "cores = 0", "3: role s", "cores = 0"),
        (TABLE + "cores = []", "3: role s", "cores = []"),
        (TABLE + "gpu = 1.5", "3: role s", "gpu = 1.5 is no share"),
        (TABLE + "gpu = inf", "3: role s", "gpu = inf is no share"),
        (TABLE + "workers = 2\ngpu = 0.5", "4: role s", "have a process each"),
        (TABLE + "time_share = 'a b'", "3: role s", "'a b' is no name of a device"),
        (TABLE + "time_share = true", "3: role s", "True is no name of a device"),
        (TABLE + "workers = 1\ntime_share = 'a'", "4: role s", "actors with 'time_share' have a process each"),
        (TABLE + "together = [[]]", "3: role s", "no meaning without 'workers'"),
        (TABLE + 'workers = 1\ntogether = ["S#0"]', "4: role s", "no list of lists"),
        (TABLE + 'workers = 1\ntogether = [\n["S#0"], ["S#1"]]', "4: role s", "2 lists for 1 processes"),
        (TABLE + 'workers = 1\ntogether = [["S"]]', "4: role s", "no list of actors"),
        (TABLE + 'workers = 1\ntogether = [["S#0"]]\napart = ["S#0"]', "5: role s", "'S#0' is listed twice"),
        (TABLE + 'workers = 1\napart = ["T#0"]', "2: role s", "the class of T#0 is not among"),
        (TABLE + '[roles.t]\nworkers = 1\nactors = ["T", "S"]', "5: role t", "role s has actors = 'S', too"),
        ("# nothing\n\n[roles.s]\nworkers = 1", "3: role s", "neither which actors nor which tasks"),
        ('[roles."a b"]\nactors = ""', "2: role a b", "is no name"),
        (
            '[roles.s]\ntasks = "f"\nalone = true',
            "3: role s",
            "tasks run in a pool of processes, and cannot have 'alone'",
        ),
        ("[roles]\ns = 5", "2: role s", "5 is not a table"),
        ('roles.s.actors = "S"\nroles.s.x = 5', "1: role s", "unknown key 'x'"),
        (
            '[roles.a]\nactors = "A"\nalone = true\n[roles.alone]\nactors = "S"\nalone = 1',
            "6: role alone",
            "is not true",
        ),
        ("[default]\nalone = true", "1: unknown table or key 'default'", "Each role is a table [roles.NAME]"),
        (TABLE + "workers 2", "3: not TOML", "Correct the line"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_role(given, text, where, words):
    with pytest.raises(ValueError) as found:
        given(text)
    assert str(found.value).startswith(f"roles.toml:{where}") and words in str(found.value)
    assert "\n" not in str(found.value)


def test_a_file_without_roles_and_one_that_cannot_be_read_are_refused(given, tmp_path):
    with pytest.raises(ValueError, match=r"roles.toml: there is no role. Write a table \[roles.NAME\]"):
        given("")
    with pytest.raises(ValueError, match=r"missing.toml: the file of roles cannot be read \(No such file"):
        read("missing.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe4")
    with pytest.raises(ValueError, match=r"latin.toml: the file of roles is not in UTF-8"):
        read(tmp_path / "latin.toml")


def test_python_without_a_reader_of_toml_says_which_package_has_one(given, monkeypatch):
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=r"pip install 'rayshim\[roles\]'"):
        given(TABLE)


def test_init_refuses_the_file_before_a_process_is_started(given):
    with pytest.raises(ValueError, match="workers = 0"):
        given(TABLE + "workers = 0")
    for path in ("roles.toml", os.path.abspath("roles.toml")):
        with pytest.raises(ValueError, match=rf"roles.toml:3: role s: .*init\(placement=\) at {__file__}:"):
            rayshim.init(placement=path)
    with pytest.raises(ValueError, match="the path of a file of roles, which ends with .toml"):
        rayshim.init(placement="roles.txt")
    assert not rayshim.is_initialized()


def test_more_gpus_than_the_session_has_are_refused(given, tmp_path):
    given(TABLE + "gpu = 2")
    with pytest.raises(ValueError, match=r"roles.toml:1: role s: gpu = 2, but the session has 1 GPUs"):
        rayshim.init(placement=tmp_path / "roles.toml", num_gpus=1)
    assert not rayshim.is_initialized()


def test_the_command_line_refuses_the_file_before_the_program_starts(given, tmp_path):
    (tmp_path / "program.py").write_text("open('started', 'w')")
    with pytest.raises(ValueError, match="unknown key"):
        given(TABLE + "wokers = 0")
    done = start(["--placement", "roles.toml", "program.py"], tmp_path)
    assert done.returncode == 2 and not (tmp_path / "started").exists()
    assert "argument --placement: roles.toml:3: role s: unknown key 'wokers'" in done.stderr
    assert done.stderr.count("\n") == 1
