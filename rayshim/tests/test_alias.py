"""`import ray` is rayshim: one set of modules under two names, whether or not real Ray is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest


def run(code, tmp_path, *first):
    """What `code` prints in a fresh interpreter, with the directories `first` in front on its path."""
    path = os.pathsep.join([*map(str, first), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def real_ray(tmp_path):
    """A directory that holds a package named ray, which is not ours."""
    package = tmp_path / "site" / "ray"
    (package / "util").mkdir(parents=True)
    (package / "__init__.py").write_text("REAL = True\n")
    (package / "util" / "__init__.py").write_text("")
    (package / "only_in_ray.py").write_text("")
    return package.parent


INSTALL = "from rayshim import alias; alias.install(); "


def test_both_names_are_one_module(tmp_path):
    code = INSTALL + (
        "import ray, ray.util, ray.exceptions, ray.util.actor_pool, rayshim.util.actor_pool, rayshim.exceptions;"
        "import ray as again; import rayshim;"
        "print(ray is rayshim, again is ray, ray.exceptions is rayshim.exceptions,"
        "      ray.util.actor_pool is rayshim.util.actor_pool, ray.util is rayshim.util)"
    )
    assert run(code, tmp_path) == "True True True True True"


def test_ray_first_then_rayshim(tmp_path):
    code = INSTALL + (
        "from ray.exceptions import RayError; import ray.util.actor_pool as a;"
        "from rayshim.exceptions import RayError as Ours; import rayshim.util.actor_pool as b; import sys;"
        "print(RayError is Ours, a is b, a.__name__, a.__spec__.name, sys.modules['ray.util'].__spec__.name)"
    )
    assert run(code, tmp_path) == "True True rayshim.util.actor_pool rayshim.util.actor_pool rayshim.util"


def test_names_from_packages(tmp_path):
    code = (
        INSTALL + "from ray.util import ActorPool, log_once; print(ActorPool.__module__, log_once('k'), log_once('k'))"
    )
    assert run(code, tmp_path) == "ray.util.actor_pool True False"


def test_a_driver_without_the_alias_reads_what_one_with_it_has_sent(tmp_path):
    send = INSTALL + (
        "import sys; from ray.exceptions import GetTimeoutError; from ray.util.queue import Full; from reactor import codec;"
        "print(codec.pickled([GetTimeoutError('late'), Full, GetTimeoutError]).hex())"
    )
    read = (
        "import sys, rayshim; from reactor import codec; late, full, cls = codec.loads(bytes.fromhex('{}'), []);"
        "print(type(late) is rayshim.exceptions.GetTimeoutError is cls, late, full, 'ray' in sys.modules)"
    )
    assert run(read.format(run(send, tmp_path)), tmp_path) == "True late <class 'rayshim.util.queue.Full'> False"


def test_nothing_is_loaded_before_it_is_asked_for(tmp_path):
    code = INSTALL + "import sys, ray; print('rayshim.util.actor_pool' in sys.modules); import ray.util.actor_pool"
    assert run(code, tmp_path) == "False"


def test_an_installed_ray_is_not_used(tmp_path, real_ray):
    code = INSTALL + "import ray, ray.util; print(hasattr(ray, 'REAL'), ray.util.__name__)"
    assert run(code, tmp_path, real_ray) == "False rayshim.util"


def test_what_rayshim_lacks_is_said(tmp_path, real_ray):
    for name, listed in (
        ("only_in_ray", "exceptions"),
        ("workflow.api", "exceptions"),
        ("tests.conftest", "exceptions"),
        ("util.nothing", "actor_pool"),
    ):
        code = INSTALL + (
            f"\ntry:\n    import ray.{name}\nexcept ModuleNotFoundError as error:\n    print(error.name, '|', error)"
        )
        said = run(code, tmp_path, real_ray)
        assert "does not provide it" in said and listed in said, said
        assert said.startswith("ray.")


def test_names_that_only_begin_alike_are_left_alone(tmp_path):
    (tmp_path / "rays").mkdir()
    (tmp_path / "rays" / "__init__.py").write_text("x = 1")
    assert run(INSTALL + "import rays; print(rays.x)", tmp_path, tmp_path) == "1"


def test_installing_twice_changes_nothing(tmp_path):
    code = (
        "import sys; from rayshim import alias; print(alias.is_installed()); alias.install(); n = len(sys.meta_path);"
        "import ray; alias.install(); print(alias.is_installed(), len(sys.meta_path) == n)"
    )
    assert run(code, tmp_path).split("\n") == ["False", "True True"]


def test_too_late_when_real_ray_is_in(tmp_path, real_ray):
    code = (
        "import ray\nfrom rayshim import alias\n"
        "try:\n    alias.install()\nexcept ImportError as error:\n    print(alias.is_installed(), error)"
    )
    said = run(code, tmp_path, real_ray)
    assert said.startswith("False") and "real Ray is already imported" in said and str(real_ray) in said


def test_an_error_inside_a_module_is_not_hidden(tmp_path):
    code = INSTALL + (
        "\nimport rayshim.util, pathlib\n"
        "rayshim.util.__path__.append(str(pathlib.Path.cwd()))\n"
        "pathlib.Path('broken.py').write_text('import surely_not_there')\n"
        "try:\n    import ray.util.broken\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    )
    assert run(code, tmp_path) == "surely_not_there"


CHILDREN = """
import sys, multiprocessing, concurrent.futures
import ray

def told(x):
    return [x, hasattr(ray, "REAL"), sys.modules["ray"].__name__]

def told_by_grandchild(x):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(told, [x])[0]

class Rows:
    def __len__(self):
        return 1
    def __getitem__(self, i):
        return told(i)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    context.set_forkserver_preload(["ray"])
    if sys.argv[2] == "pool":
        with context.Pool(1) as pool:
            print(pool.map(told, [1]))
    elif sys.argv[2] == "executor":
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            print(list(pool.map(told_by_grandchild, [1])))
    else:
        from torch.utils.data import DataLoader
        print(list(DataLoader(Rows(), num_workers=1, multiprocessing_context=context, batch_size=None)))
"""


@pytest.mark.parametrize("what", ["pool", "executor", "loader"])
@pytest.mark.parametrize("how", ["spawn", "forkserver"])
@pytest.mark.parametrize("as_module", [False, True])
def test_children_of_multiprocessing_import_rayshim(tmp_path, real_ray, how, what, as_module):
    if what == "loader" and (find_spec("torch") is None or as_module or how == "forkserver"):
        pytest.skip("torch is not installed, or would take seconds for what the other two show")
    (tmp_path / "script.py").write_text(CHILDREN)
    path = os.pathsep.join([str(real_ray), *filter(None, sys.path)])
    program = ["-m", "script"] if as_module else ["script.py"]
    done = subprocess.run(
        [sys.executable, "-m", "rayshim", *program, how, what],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"[[{0 if what == 'loader' else 1}, False, 'rayshim']]\n", done.stderr


def test_children_find_rayshim_where_only_the_program_has_it_on_its_path(tmp_path):
    (tmp_path / "script.py").write_text(
        f"import sys; sys.path += {[path for path in sys.path if path]!r}\n"
        "import rayshim.alias; rayshim.alias.install(); sys.path.remove(sys.path[-1])\n"
        "import multiprocessing.popen_spawn_posix\n"
        "def told():\n    import ray; print(ray.__name__)\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=told); child.start(); child.join()\n"
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "rayshim\n", done.stderr


LATE = """
import warnings
import rayshim
from rayshim import alias

rayshim.init(num_cpus=4, log_to_driver=False, configure_logging=False, placement=PLACEMENT)

@rayshim.remote
class Actor:
    def told(self):
        try:
            import ray.util
        except ModuleNotFoundError:
            return "none"
        return "real" if hasattr(ray, "REAL") else ray.util.__name__

early, other = Actor.remote(), Actor.remote()
rayshim.get(other.__ray_ready__.remote())
print(rayshim.get(early.told.remote()))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    alias.install()
print(len(caught), *[str(one.message).split(":")[0] for one in caught])
print(rayshim.get([actor.told.remote() for actor in (early, other, Actor.remote())]))
"""


@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_installing_after_init_reaches_workers(tmp_path, placement):
    code = LATE.replace("PLACEMENT", repr(placement)).replace(
        "print(rayshim.get(early.told.remote()))", "rayshim.get(early.__ray_ready__.remote())"
    )
    assert run(code, tmp_path).split("\n") == ["0", "['rayshim.util', 'rayshim.util', 'rayshim.util']"]


def test_a_worker_that_has_imported_real_ray_is_told_of(tmp_path, real_ray):
    assert run(LATE.replace("PLACEMENT", "'isolated'"), tmp_path, real_ray).split("\n") == [
        "real",
        "1 rayshim.alias.install() was called after init()",
        "['real', 'rayshim.util', 'rayshim.util']",
    ]


def test_the_text_of_the_module_names_ray(tmp_path):
    code = (
        INSTALL
        + "import importlib.util, ray; print(str(ray).startswith(\"<module 'ray' \"), importlib.util.find_spec('ray').name)"
    )
    assert run(code, tmp_path) == "True ray"
    assert run("import rayshim; print(str(rayshim).startswith(\"<module 'rayshim' \"))", tmp_path) == "True"


WITHOUT = """
import rayshim as ray
for text in ("from rayshim import tune", "import rayshim.data", "from rayshim.util import dask", "import rayshim.train.torch", "ray.rllib"):
    try:
        exec(text)
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, "python -m rayshim script.py" in str(error))
from importlib.util import find_spec
print(hasattr(ray, "tune"), find_spec("rayshim.tune"))
try:
    from rayshim import nothing_of_that_name
except ImportError as error:
    print("python -m rayshim" in str(error))
"""


def test_an_import_of_what_is_only_under_the_name_ray_tells_how_to_get_it(tmp_path):
    assert run(WITHOUT, tmp_path).split("\n") == [
        *["ModuleNotFoundError True"] * 4,
        "AttributeError True",
        "False None",
        "False",
    ]


def stderr_of(code, tmp_path, *first):
    """What the program `code` writes on stderr, with the directories `first` in front on its path."""
    script = tmp_path / "script.py"
    script.write_text(code)
    path = os.pathsep.join([*map(str, first), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


MIXED = "import rayshim as ray; IMPORT; ray.init(num_cpus=1); ray.shutdown()"


@pytest.mark.parametrize("text", ["from ray.util import Taken", "import ray.util as util", "import other"])
def test_names_of_ray_itself_beside_rayshim_are_told_of(tmp_path, real_ray, text):
    (real_ray / "ray" / "util" / "__init__.py").write_text("class Taken: pass\n")
    (tmp_path / "other.py").write_text("import ray")
    said = stderr_of(MIXED.replace("IMPORT", text), tmp_path, real_ray)
    assert "is Ray itself" in said and "python -m rayshim script.py" in said
    assert ("other.py" if "other" in text else "script.py") in said


@pytest.mark.parametrize(
    "text", ["import rayshim, ray as theirs", "from rayshim.util import ActorPool", "import installed"]
)
def test_a_program_that_knows_of_both_or_a_package_that_imports_ray_is_not_told(tmp_path, real_ray, text):
    packages = tmp_path / "lib" / "python" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "installed.py").write_text("import ray")
    assert "Ray itself" not in stderr_of(MIXED.replace("IMPORT", text), tmp_path, packages, real_ray)


@pytest.mark.skipif(find_spec("ray") is None, reason="real Ray is not installed")
@pytest.mark.parametrize("modules", ["rayshim, ray", "ray, rayshim"])
def test_beside_real_ray_its_logger_writes_each_line_once(modules):
    code = f"import {modules}\nimport logging\nlogging.getLogger('ray').warning('once')\nlogging.getLogger('ray.child').warning('once, too')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert [line.split(" -- ")[1] for line in run.stderr.splitlines()] == ["once", "once, too"], run.stderr
