"""An `init` that fails undoes all that it has done, whatever step fails."""

import subprocess
import sys

import pytest

# Each function of the runtime that `init` calls raises once, at its first call: one `init` for each.
PROGRAM = """
import gc, os, signal, sys, threading
import rayshim as ray
from reactor import _core

placement, error, every = sys.argv[1], {"error": ZeroDivisionError, "interrupt": KeyboardInterrupt}[sys.argv[2]], int(sys.argv[3])
ROOTS = tuple(os.path.dirname(module.__file__) + os.sep for module in (ray, sys.modules["reactor"]))
UNDOING = ("stop", "_wait_for_end", "end", "withdraw")  # an error in what undoes is another subject
failed_already, now = set(), []


def start():
    ray.init(num_cpus=1, placement=placement, logging_level="ERROR", log_to_driver=False)


def state():
    gc.collect()
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return {
            "descriptors": len(os.listdir("/proc/self/fd")),
            "children": children.read(),
            "threads": threading.active_count(),
            "handlers": [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)],
            "session": ray.is_initialized(),
            "run": _core.attached(),
            "directory": os.getcwd(),
        }


def fail(frame, event, argument):
    code = frame.f_code
    if event != "call" or now or not code.co_filename.startswith(ROOTS) or code.co_name in UNDOING:
        return
    place = code.co_filename, code.co_firstlineno
    if place not in failed_already:
        failed_already.add(place)
        now.append(code)
        if len(failed_already) % every == 0:
            raise error("injected")


start()
ray.shutdown()
before = state()
failed = 0
while True:
    now.clear()
    sys.settrace(fail)
    try:
        start()
    except error:
        failed += 1
    finally:
        sys.settrace(None)
    if not now:
        break
    if ray.is_initialized():  # the function raised nothing, or its caller does without it
        ray.shutdown()
    after = state()
    assert after == before, (now, {name: (before[name], after[name]) for name in before if before[name] != after[name]})
assert ray.get(ray.remote(lambda: 1).remote()) == 1
ray.shutdown()
assert state() == before
print(failed)
"""


@pytest.mark.slow
@pytest.mark.parametrize("error", ["error", "interrupt"])
@pytest.mark.parametrize(("placement", "every"), [("inline", 1), ("isolated", 3)])
def test_whatever_function_fails_everything_is_undone(placement, every, error):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, placement, error, str(every)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout) > 20


def _run(program, *, descriptors=None):
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))\n"
    return subprocess.run(
        [sys.executable, "-c", (limit if descriptors else "") + program], capture_output=True, text=True, check=False
    )


def test_after_an_amount_that_is_too_large_the_next_init_works():
    ran = _run(
        "import rayshim as ray\n"
        "try: ray.init(resources={'x': 1e300}, log_to_driver=False)\n"
        "except Exception as error: print(type(error).__name__, 'x' in str(error))\n"
        "ray.init(num_cpus=1, log_to_driver=False, logging_level='ERROR')\n"
        "print(ray.get(ray.remote(lambda: 1).remote()))\n"
    )
    assert ran.stdout == "ValueError True\n1\n", ran.stderr


def test_with_a_low_limit_of_descriptors_init_says_so_and_leaves_nothing():
    ran = _run(
        "import os, rayshim as ray\n"
        "before = sorted(os.listdir('/proc/self/fd'))\n"
        "try: ray.init(num_cpus=1, log_to_driver=False, logging_level='ERROR')\n"
        "except RuntimeError as error: print('ulimit -n' in str(error), ray.is_initialized())\n"
        "print(sorted(os.listdir('/proc/self/fd')) == before)\n",
        descriptors=16,
    )
    assert ran.stdout == "True False\nTrue\n", ran.stderr


def test_however_few_descriptors_are_free_init_works_or_leaves_nothing():
    ran = _run(
        "import gc, os, rayshim as ray\n"
        "def start(): ray.init(num_cpus=1, log_to_driver=False, logging_level='ERROR')\n"
        "start(); ray.shutdown(); gc.collect()\n"
        "taken = []\n"
        "while True:\n"
        "    try: taken.append(os.open('/dev/null', os.O_RDONLY))\n"
        "    except OSError: break\n"
        "failed = 0\n"
        "while True:\n"
        "    try: start()\n"
        "    except (OSError, RuntimeError) as error: assert 'Too many open files' in str(error), error\n"
        "    else: break\n"
        "    failed += 1\n"
        "    assert not ray.is_initialized()\n"
        "    probes = []\n"
        "    try:\n"
        "        while True: probes.append(os.open('/dev/null', os.O_RDONLY))\n"
        "    except OSError: pass\n"
        "    assert len(probes) == failed - 1, (len(probes), failed)\n"
        "    for fd in [*probes, taken.pop()]: os.close(fd)\n"
        "print(failed > 3, ray.get(ray.remote(lambda: 1).remote()))\n",
        descriptors=64,
    )
    assert ran.stdout == "True 1\n", ran.stderr
