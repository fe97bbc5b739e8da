"""Which slow modules code uses, and that its workers are forked with them."""

import os
import subprocess
import sys

import pytest

MAKES = [
    "ByName",
    "ByModule",
    "ByImport",
    "ByHelper",
    "Inherited",
    "ByProperty",
    "ByDefault",
    "ByLambda",
    "make",
    "in_a_decorator",
    "make",
]
MAKES_NONE = ["Without", "Odd", "Asks", "decorated", "Linear", "len", "3", "None", "ByParent"]
USES = ["ByParent", "ByModuleOfPackage", "ByImportInside", "by_class", "WithProxies"]


def test_what_code_uses():
    program = os.path.join(os.path.dirname(__file__), "using_code.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    expected = [f"{name} True" for name in MAKES] + [f"{name} False" for name in MAKES_NONE]
    expected += [*(f"{name} True" for name in USES), "() ()"]
    assert done.stdout.splitlines() == expected, done.stderr


@pytest.mark.parametrize("kind", ["actor", "task", "actor of Tune"])
def test_the_workers_have_been_forked_with_it(kind):
    program = f"""if True:
        import sys, torch
        import rayshim as ray

        def has():
            before = "torch._dynamo" in sys.modules
            torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
            return before

        @ray.remote
        class Actor:
            def has(self):
                return has()

        ray.init(num_cpus=1)
        env = {{"env_vars": {{"PL_DISABLE_FORK": "1", "RAY_X": "1"}}}} if {kind!r} == "actor of Tune" else {{}}
        actor = Actor.options(runtime_env=env).remote()
        print(ray.get(ray.remote(has).remote() if {kind!r} == "task" else actor.has.remote()), "torch._dynamo" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_the_garbage_collector_of_a_worker_does_not_look_at_them():
    program = """if True:
        import gc, sys, torch
        import rayshim as ray

        @ray.remote
        class Actor:
            def looked_at(self):
                torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
                modules = {id(vars(sys.modules[name])) for name in ("torch", "torch._dynamo", "sympy")}
                return [id(thing) in modules for thing in gc.get_objects()].count(True)

        ray.init(num_cpus=1)
        print(ray.get(Actor.remote().looked_at.remote()))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["0"], done.stderr


@pytest.mark.parametrize("env", [{}, {"env_vars": {"ANY_VARIABLE": "1"}}])
def test_the_workers_have_been_forked_with_a_package_that_their_code_names(env):
    pytest.importorskip("matplotlib")
    program = f"""if True:
        import os
        import matplotlib.colors as colors
        import rayshim as ray

        @ray.remote
        class Actor:
            def red(self):
                with open(f"/proc/{{os.getppid()}}/maps") as zygotes:
                    return colors.to_rgb("red"), any("matplotlib" in line for line in zygotes)

        ray.init(num_cpus=1, runtime_env={env})
        print(ray.get(Actor.remote().red.remote()))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "((1.0, 0.0, 0.0), True)", done.stderr


@pytest.mark.parametrize("kind", ["actor", "task"])
def test_what_an_import_may_read_is_set_before_it(kind):
    pytest.importorskip("matplotlib")
    program = f"""if True:
        import matplotlib
        import rayshim as ray

        def backend():
            return matplotlib.rcParams._get_backend_or_none()

        @ray.remote
        class Actor:
            def backend(self):
                return backend()

        ray.init(num_cpus=1, runtime_env={{"env_vars": {{"MPLBACKEND": "svg"}}}})
        print(ray.get(ray.remote(backend).remote() if {kind!r} == "task" else Actor.remote().backend.remote()))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "svg", done.stderr
