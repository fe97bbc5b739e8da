"""Variables of a runtime environment that the interpreter, the C library or a library reads when it is loaded."""

import os
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.needs_processes


def env(**variables):
    return {"env_vars": variables}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "compat_only_here.py").write_text("X = 1\n")
    return str(tmp_path)


def imported():
    import compat_only_here  # pyright: ignore[reportMissingImports]

    return compat_only_here.X


def test_a_task_finds_modules_by_its_pythonpath(ray, folder):
    importer = ray.remote(imported)
    assert ray.get(importer.options(runtime_env=env(PYTHONPATH=folder)).remote()) == 1
    with pytest.raises(ModuleNotFoundError):
        ray.get(importer.remote())


def test_workers_find_modules_by_the_sessions_pythonpath(bare_ray, backend, folder):
    importer = bare_ray.remote(imported)
    backend.init(num_cpus=1, runtime_env=env(PYTHONPATH=folder))
    assert bare_ray.get(importer.remote()) == 1
    assert bare_ray.get(importer.options(runtime_env=env(COMPAT_A="1")).remote()) == 1
    assert folder not in sys.path


def test_a_worker_hashes_with_the_seed_of_its_environment(ray):
    @ray.remote
    class Hashes:
        def of(self, text):
            return hash(text), sys.flags.hash_randomization

    a, b = (Hashes.options(runtime_env=env(PYTHONHASHSEED="0", COMPAT_A=a)).remote() for a in "12")
    first = ray.get(a.of.remote("some text"))
    assert first == ray.get(b.of.remote("some text")) and first[1] == 0


def test_interpreters_have_the_mode_of_their_environment(ray):
    @ray.remote
    def flags():
        return sys.flags.dev_mode, sys.flags.optimize, sys.flags.utf8_mode

    given = env(PYTHONDEVMODE="1", PYTHONOPTIMIZE="1", PYTHONUTF8="1")
    assert ray.get(flags.options(runtime_env=given).remote()) == (True, 1, 1)


def test_a_worker_has_the_time_zone_of_its_environment(ray):
    @ray.remote
    def zone():
        import time

        return time.tzname[0], time.localtime(0).tm_hour

    assert ray.get(zone.options(runtime_env=env(TZ="Asia/Tokyo")).remote()) == ("JST", 9)


def test_a_library_of_the_program_is_loaded_with_the_workers_variables(ray):
    torch = pytest.importorskip("torch")

    @ray.remote
    def precision():
        import torch

        return torch.get_float32_matmul_precision()

    other = precision.options(runtime_env=env(TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1"))
    assert ray.get([precision.remote(), other.remote()]) == [torch.get_float32_matmul_precision(), "high"]


def test_the_sessions_variables_are_extended_once(bare_ray, backend):
    backend.init(num_cpus=1, runtime_env=env(PATH="/compat/a:${PATH}", LANG="C.UTF-8"))

    @bare_ray.remote
    def path():
        return os.environ["PATH"]

    before = os.environ["PATH"]
    inner, own = path, path.options(runtime_env=env(PATH="/compat/b:${PATH}", PYTHONHASHSEED="1"))
    assert bare_ray.get([inner.remote(), own.remote()]) == [f"/compat/a:{before}", f"/compat/b:{before}"]
    assert os.environ["PATH"] == before


def test_such_an_actor_is_as_any_other(ray):
    @ray.remote
    class Worker:
        def __init__(self):
            self.calls = 0

        def add(self, array):
            self.calls += 1
            return array + self.calls

        def fail(self):
            raise KeyError("told")

        def numbers(self, n):
            for k in range(n):
                yield k

        def ask(self, other):
            return ray.get(other.add.remote(np.ones(1)))[0], os.environ["PYTHONHASHSEED"]

        def child(self):
            @ray.remote
            def variable():
                return os.environ.get("PYTHONHASHSEED"), sys.flags.hash_randomization

            return ray.get(variable.remote())

        def leave(self):
            os._exit(3)

    plain = Worker.remote()
    worker = Worker.options(runtime_env=env(PYTHONHASHSEED="0"), max_restarts=1, name="compat_seeded").remote()
    big = np.arange(1 << 18, dtype=float)
    assert np.array_equal(ray.get(worker.add.remote(ray.put(big))), big + 1)
    with pytest.raises(KeyError, match="told"):
        ray.get(worker.fail.remote())
    stream = worker.numbers.options(num_returns="streaming").remote(3)
    assert [ray.get(ref) for ref in stream] == [0, 1, 2]
    assert ray.get(worker.ask.remote(plain)) == (2.0, "0")
    assert ray.get(worker.child.remote()) == ("0", 0)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(worker.leave.remote())
    assert ray.get(ray.get_actor("compat_seeded").add.options(max_task_retries=-1).remote(np.zeros(1)))[0] == 1
    ray.kill(worker)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(worker.add.remote(big))


def test_async_and_threaded_actors_may_have_such_variables(ray):
    @ray.remote
    class Async:
        async def seed(self):
            return os.environ["PYTHONHASHSEED"], sys.flags.hash_randomization

    @ray.remote(max_concurrency=2)
    class Threaded:
        def seed(self):
            return os.environ["PYTHONHASHSEED"], sys.flags.hash_randomization

    actors = [kind.options(runtime_env=env(PYTHONHASHSEED="0")).remote() for kind in (Async, Threaded)]
    assert ray.get([actor.seed.remote() for actor in actors]) == [("0", 0), ("0", 0)]


def test_a_tasks_pythonpath_replaces_the_sessions(bare_ray, backend, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    backend.init(num_cpus=1, runtime_env=env(PYTHONPATH=folder))
    importer = bare_ray.remote(imported).options(runtime_env=env(PYTHONPATH=str(other)))
    with pytest.raises(ModuleNotFoundError):
        bare_ray.get(importer.remote())


def test_a_package_of_the_pythonpath_comes_before_an_installed_one(bare_ray, backend, tmp_path):
    import gymnasium  # noqa: F401  which workers would have been forked with

    (tmp_path / "gymnasium.py").write_text("OWN = True\n")
    backend.init(num_cpus=1, runtime_env=env(PYTHONPATH=str(tmp_path)))

    @bare_ray.remote
    def own():
        import gymnasium

        return hasattr(gymnasium, "OWN")

    assert bare_ray.get(own.remote()) is True


def test_variables_refer_to_others_in_the_order_of_their_names(bare_ray, backend):
    backend.init(num_cpus=1, runtime_env=env(COMPAT_B="1", COMPAT_A="${COMPAT_B}x", COMPAT_C="${COMPAT_B}y"))

    @bare_ray.remote
    def read():
        return os.environ["COMPAT_A"], os.environ["COMPAT_C"]

    assert bare_ray.get([read.remote(), read.options(runtime_env=env(COMPAT_D="1")).remote()]) == [("x", "1y")] * 2


def test_a_worker_has_the_pythonpath_that_it_was_given(scripts, tmp_path):
    (tmp_path / "compat_only_here.py").write_text("X = 1\n")
    out = scripts.run(
        """
        import os, subprocess, sys
        import ray
        INIT

        @ray.remote
        def path():
            started = subprocess.run([sys.executable, "-c", "import compat_only_here, os, ray; print(ray.__name__)"], capture_output=True, text=True, cwd="/")
            return os.environ["PYTHONPATH"], started.stdout.strip() + started.stderr[-300:]

        print(*ray.get(path.options(runtime_env={"env_vars": {"PYTHONPATH": sys.argv[1]}}).remote()))
        """,
        str(tmp_path),
    )
    assert out.split() in ([str(tmp_path), "ray"], [str(tmp_path), "rayshim"])
