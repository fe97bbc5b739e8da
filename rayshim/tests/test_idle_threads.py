"""The threads of numeric libraries sleep early, in the program and in the workers, unless the program has chosen how long they wait."""

import os
import subprocess
import sys

import pytest

LOOK = """
import ctypes, os
import rayshim as ray

def look():
    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    names = b"GOMP_SPINCOUNT", b"OPENBLAS_THREAD_TIMEOUT"
    return [get(name) for name in names], [os.environ.get(name.decode()) for name in names]

ray.init(num_cpus=1, logging_level="ERROR")
print(look() == ray.get(ray.remote(look).remote()), *look())
"""


@pytest.mark.parametrize(
    "chosen, expected",
    [
        ({}, "True [b'10000', b'14'] [None, None]\n"),
        ({"GOMP_SPINCOUNT": "7"}, "True [b'7', None] ['7', None]\n"),
        ({"OMP_WAIT_POLICY": "active"}, "True [None, None] [None, None]\n"),
    ],
)
def test_libraries_are_told_unless_the_program_has_chosen(chosen, expected):
    named = "GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT", "OMP_WAIT_POLICY"
    environment = {name: value for name, value in os.environ.items() if name not in named}
    ran = subprocess.run(
        [sys.executable, "-c", LOOK], env={**environment, **chosen}, capture_output=True, text=True, timeout=200
    )
    assert (ran.returncode, ran.stdout) == (0, expected), ran.stderr
