"""What rayshim writes is for its user alone, whatever the program's umask is."""

import os
import stat
import subprocess
import sys
import textwrap

import pytest


def modes(directory):
    """{path in the directory: its mode, in octal}, of the directory itself, too."""
    found = {".": directory, **{str(path.relative_to(directory)): path for path in directory.rglob("*")}}
    return {name: f"{stat.S_IMODE(path.lstat().st_mode):o}" for name, path in found.items()}


def program(path, source, *arguments, **variables):
    path.write_text("import os, sys\nos.umask(0)\nimport rayshim as ray\n" + textwrap.dedent(source))
    ran = subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


WORK = """
@ray.remote
class Counter:
    def add(self, x):
        return x + 1
counter = Counter.remote()
assert ray.get([counter.add.remote(i) for i in range(3)]) == [1, 2, 3]
ray.shutdown()
"""


def test_a_journal_and_the_directories_made_for_it(tmp_path):
    path = tmp_path / "runs" / "first"
    program(tmp_path / "program.py", "ray.init(num_cpus=1, record=sys.argv[1])" + WORK, path)
    found = modes(tmp_path / "runs")
    assert {found.pop("."), found.pop("first")} == {"700"}
    assert len(found) >= 3 and set(found.values()) == {"600"}, found


def test_a_journal_does_not_follow_a_link_that_lies_in_its_place(tmp_path):
    from rayshim.journal import files

    (tmp_path / "there").write_text("")
    (tmp_path / "link.jsonl").symlink_to("there")
    with pytest.raises(OSError, match="symbolic links"):
        files.Writer(str(tmp_path / "link.jsonl"))


def test_a_profile(tmp_path):
    cache = tmp_path / "cache"
    program(tmp_path / "program.py", "ray.init(num_cpus=1, placement='auto')" + WORK, XDG_CACHE_HOME=str(cache))
    found = modes(cache)
    files = [found.pop(name) for name in list(found) if name.endswith((".json", ".toml"))]
    assert files == ["600"] * 2 and set(found.values()) == {"700"}, found


def test_what_a_session_unpacks(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("module.py", "VALUE = 1\n")
    (tmp_path / "tmp").mkdir()
    source = """
    ray.init(num_cpus=1, runtime_env={"working_dir": sys.argv[1]})
    from pathlib import Path
    from rayshim.tests.test_private_files import modes
    print(modes(Path(os.environ["TMPDIR"])))
    """
    printed = program(tmp_path / "program.py", source, tmp_path / "app.zip", TMPDIR=str(tmp_path / "tmp"))
    found = eval(printed)
    name = f"rayshim-{os.geteuid()}"
    (session,) = [path for path in found if path.startswith(f"{name}/session_") and path.count("/") == 1]
    for path in (name, session, f"{session}/logs", f"{session}/runtime_resources"):
        assert found[path] == "700", found
    assert os.listdir(tmp_path / "tmp") == []
