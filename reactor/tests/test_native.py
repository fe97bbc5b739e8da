"""The core's shared structures under attack, without Python: native/stress.cpp, built with the compilers' sanitizers."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parent / "native"
CORE = Path(__file__).parent.parent / "native"
COMPILER = next(filter(shutil.which, filter(None, [os.environ.get("CXX"), "g++", "clang++", "c++"])), None)
TESTS = re.findall(r'\{"(\w+)", stress::', (NATIVE / "stress.cpp").read_text())
SECONDS = "1.2"  # for each test that repeats

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),  # the first test of each kind waits for the compiler
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler (CXX, g++, clang++, c++)"),
]


@pytest.fixture(scope="module", params=["thread", "address,undefined"])
def stress(request, tmp_path_factory):
    """The command that runs stress.cpp, built with one kind of sanitizer."""
    program = tmp_path_factory.mktemp("stress") / "stress"
    # ThreadSanitizer does not follow the fences of bell.h; no data is handed over by them, they only order looks (-Wno-tsan).
    flags = ["-std=c++20", "-O1", "-g", "-pthread", f"-fsanitize={request.param}", "-fno-sanitize-recover=all"]
    flags += ["-Wall", "-Wextra", "-Wno-missing-field-initializers"]
    if "clang" not in COMPILER:
        flags.append("-Wno-tsan")
    subprocess.run([COMPILER, *flags, "-I", CORE, NATIVE / "stress.cpp", "-o", program], check=True)
    # The thread sanitizer's memory layout does not bear as much address randomization as new kernels do.
    plain = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    return [*plain, program]


@pytest.mark.parametrize("name", TESTS)
def test_stress(stress, name):
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    ran = subprocess.run([*stress, name, SECONDS], env=environment, capture_output=True, text=True, timeout=50)
    assert ran.returncode == 0, f"{name}: exit status {ran.returncode}\n{ran.stderr[-8000:]}"
