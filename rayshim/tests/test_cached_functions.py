"""functools.lru_cache on functions that other processes do not find by their name, as those of the main script: they travel by value."""

import functools
import pickle
import subprocess
import sys

from reactor import codec

_PROGRAM = """
import functools
import ray

ray.init(num_cpus=1, log_to_driver=False)

@functools.lru_cache(maxsize=7, typed=True)
def double(x):
    return 2 * x

@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

@ray.remote
def use():
    return double(3), fibonacci(30), double.cache_parameters(), double.__name__, double.__wrapped__(4)

@ray.remote
def call(f, x):
    return f(x), f.cache_info().misses

print(ray.get(use.remote()))
double(5)
print(ray.get([call.remote(double, 5), call.remote(fibonacci, 10)]))
"""


def test_cached_functions_of_the_main_script_run_in_tasks(tmp_path):
    (tmp_path / "cached.py").write_text(_PROGRAM)
    command = [sys.executable, "-m", "rayshim", str(tmp_path / "cached.py")]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[-2:] == [
        "(6, 832040, {'maxsize': 7, 'typed': True}, 'double', 8)",
        "[(10, 1), (55, 11)]",
    ]


@functools.lru_cache
def of_this_module(x):
    return x


def test_a_cached_function_that_is_found_by_its_name_is_pickled_by_it():
    data, buffers = codec.dumps(of_this_module)
    assert pickle.loads(data, buffers=buffers) is of_this_module
