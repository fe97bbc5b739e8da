"""Variables of runtime environments beside seeds, other drivers, and the session's folder."""

import os
import subprocess
import sys

import pytest


def run(program, *arguments, cwd=None, **variables):
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SEEDED = """if True:
    import numpy as np
    import rayshim as ray

    @ray.remote
    class Draws:
        def draw(self):
            return np.random.rand()

    ray.init(num_cpus=1, seed=3)
    print(ray.get(Draws.options(runtime_env={"env_vars": {"PYTHONHASHSEED": "0"}}).remote().draw.remote()))
"""


def test_a_seed_holds_for_a_worker_with_an_interpreter_of_its_own():
    assert run(SEEDED) == run(SEEDED)


GUEST = """if True:
    import os, sys, time
    import rayshim as ray

    @ray.remote
    def seen():
        import only_here
        return os.environ.get("COMPAT_OWNER"), os.environ.get("COMPAT_GUEST"), time.localtime(0).tm_hour

    ray.init(address=sys.argv[1], runtime_env={"env_vars": {"PYTHONPATH": sys.argv[2], "COMPAT_GUEST": "1"}})
    print(ray.get(seen.remote()))
"""
OWNER = """if True:
    import subprocess, sys
    import rayshim as ray

    ray.init(num_cpus=1, runtime_env={"env_vars": {"COMPAT_OWNER": "1", "TZ": "Asia/Tokyo"}})
    address = ray.get_runtime_context().gcs_address
    subprocess.run([sys.executable, "-c", sys.argv[1], address, sys.argv[2]], check=True)
"""


def test_another_driver_has_its_own_variables(tmp_path):
    (tmp_path / "only_here.py").touch()
    assert "(None, '1', 0)" in run(OWNER, GUEST, str(tmp_path), TZ="UTC")


FOLDER = """if True:
    import os, sys
    import rayshim as ray
    from rayshim.session import folder

    ray.init(num_cpus=1, runtime_env={"env_vars": {"TMPDIR": sys.argv[1]}})
    path = folder.path()
    print(os.path.isdir(path), path == ray.get(ray.remote(folder.path).remote()) if len(sys.argv) > 2 else True)
    ray.shutdown()
    print(os.path.exists(path))
"""


def test_the_sessions_folder_is_the_same_for_all_and_is_removed(tmp_path):
    assert run(FOLDER, str(tmp_path), "with a task").split() == ["True", "True", "False"]


def test_the_folder_of_a_session_that_ends_at_once_is_removed(tmp_path):
    assert run(FOLDER, str(tmp_path)).split() == ["True", "True", "False"]


INSIDE = """if True:
    import os, sys
    import rayshim as ray
    from rayshim.session import folder

    ray.init(num_cpus=1)
    os.chdir(folder.path())
    ray.get(ray.remote(lambda: 1).remote())
    if len(sys.argv) > 1:
        ray.shutdown()
    print(os.getcwd())
"""


@pytest.mark.parametrize("arguments", [(), ("shutdown",)])
def test_the_folder_stays_as_long_as_the_program_is_in_it(arguments):
    path = run(INSIDE, *arguments).strip()
    assert "session_" in path and not os.path.exists(path)


WITHOUT_DIRECTORY = """if True:
    import os, shutil, sys
    import torch
    import rayshim as ray

    os.chdir(sys.argv[1])
    shutil.rmtree(sys.argv[1])
    ray.init(num_cpus=1)

    @ray.remote
    def total():
        return torch.ones(3).sum().item()

    print(ray.get(total.remote()))
"""


def test_the_programs_directory_may_have_been_removed(tmp_path):
    (tmp_path / "gone").mkdir()
    assert run(WITHOUT_DIRECTORY, str(tmp_path / "gone")) == "3.0\n"
