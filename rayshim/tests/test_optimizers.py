"""Which code makes optimizers of torch, and that its workers are forked with what torch imports for the first one."""

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
]
MAKES_NONE = ["Without", "Odd", "decorated", "Linear", "len", "3", "None"]


def test_code_that_makes_optimizers_is_found():
    program = os.path.join(os.path.dirname(__file__), "optimizer_code.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    expected = [f"{name} True" for name in MAKES] + [f"{name} False" for name in MAKES_NONE]
    assert done.stdout.splitlines() == expected, done.stderr


@pytest.mark.parametrize("kind", ["actor", "task"])
def test_the_workers_have_the_import(kind):
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
        print(ray.get(ray.remote(has).remote() if {kind!r} == "task" else Actor.remote().has.remote()), "torch._dynamo" in sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.stdout.split() == ["True", "False"], done.stderr
