"""The models of the core's protocols (native/models), each tried in all its executions by GenMC: `python reactor/tests/models.py [NAME ...]`, or `make models`.

A model has to hold, and each of its mutants, which do one thing wrong, has to fail. GenMC (https://github.com/MPI-SWS/genmc, tried with 0.11.0) is built from source with
clang and LLVM 13 to 20; on Debian:

    apt-get install clang-19 llvm-19-dev libffi-dev zlib1g-dev libedit-dev autoconf automake
    autoreconf --install && CXX=clang++-19 CC=clang-19 ./configure --with-llvm=/usr/lib/llvm-19 && make

`genmc` is looked up on PATH; the environment variable GENMC names another program.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

MODELS = Path(__file__).parent / "native" / "models"
CORE = Path(__file__).parent.parent / "native"


def names():
    return sorted(path.stem for path in MODELS.glob("*.c"))


def mutants(name):
    """What the model can do wrong."""
    text = (MODELS / f"{name}.c").read_text()
    return re.search(r"^MUTANTS\((.*?)\)", text, re.MULTILINE | re.DOTALL)[1].replace("\n", " ").split(", ")


def quotes():
    """[(model, file of the core, line that stands there)]"""
    return [
        (path.name, file, text)
        for path in sorted(MODELS.iterdir())
        for file, text in re.findall(r"^ *//= (\S+): (.*)$", path.read_text(), re.MULTILINE)
        if file != "FILE"
    ]


def checker():
    """The path of GenMC; None: it is not installed."""
    return shutil.which(os.environ.get("GENMC", "genmc"))


def run(name, mutant="NO_MUTANT"):
    """(whether the model holds, executions explored, what GenMC has printed). RuntimeError: GenMC could not try it."""
    command = [checker(), "--rc11", "--disable-estimation", "--", f"-DMUTANT={mutant}", f"-I{MODELS}", f"{MODELS / name}.c"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    printed = ran.stdout + ran.stderr
    holds = "No errors were detected" in printed
    if holds == (ran.returncode != 0) or not (holds or "Verification unsuccessful" in printed):
        raise RuntimeError(f"GenMC could not try {name}, {mutant}: exit status {ran.returncode}\n{printed}")
    return holds, int(re.search(r"complete executions explored: (\d+)", printed)[1]), printed


def main(chosen):
    if not checker():
        sys.exit(f"The models need GenMC, and there is none: install it, or name it by GENMC.\n\n{__doc__}")
    wrong = 0
    for name in chosen or names():
        holds, executions, printed = run(name)
        survivors = [mutant for mutant in mutants(name) if run(name, mutant)[0]]
        print(f"{name:12} {'holds' if holds else 'FAILS':6} {executions:6} executions, {len(mutants(name)):2} mutants", end="")
        print(f", of which hold, too: {', '.join(survivors)}" if survivors else ", all found")
        if not holds:
            print(printed)
        wrong += not holds or bool(survivors)
    if wrong:
        sys.exit(f"{wrong} of the models do not say what they should")


if __name__ == "__main__":
    main(sys.argv[1:])
