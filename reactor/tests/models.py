"""The models of the core's protocols (native/models), each tried in all its executions by GenMC: `python reactor/tests/models.py [NAME ...]`, or `make models`.

A model has to hold under RC11, C11's memory model as repaired by Lahav et al. (PLDI 2017), and under IMM (Podkopaev et al., POPL 2019), which stands for what compilers
make of it on ARM, POWER and RISC-V. Each of its mutants, which do one thing wrong, has to fail under RC11. How many also fail under TSO, where a processor shows its
stores in order, is printed beside: the others no run on x86-64 could find. (GenMC's TSO lets a seq_cst store pass by a later load, which x86-64 does not.) GenMC (https://github.com/MPI-SWS/genmc, tried with 0.11.0) is built from source with
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODELS = Path(__file__).parent / "native" / "models"
MEMORY_MODELS = ("rc11", "imm")
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


def gone(quoted, core):
    """Those of the quotes whose line is not in the core."""
    return [(model, file, text) for model, file, text in quoted if text not in (core / file).read_text()]


def checker():
    """The path of GenMC; None: it is not installed."""
    return shutil.which(os.environ.get("GENMC", "genmc"))


def run(name, mutant="NO_MUTANT", model="rc11"):
    """(whether the model holds under this memory model, executions explored, what GenMC has printed). RuntimeError: GenMC could not try it."""
    program = [f"-DMUTANT={mutant}", f"-I{MODELS}", f"{MODELS / name}.c"]
    command = [checker(), f"--{model}", "--disable-estimation", "--", *program]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    printed = ran.stdout + ran.stderr
    holds = "No errors were detected" in printed
    if holds == (ran.returncode != 0) or not (holds or "Verification unsuccessful" in printed):
        raise RuntimeError(f"GenMC could not try {name}, {mutant}: exit status {ran.returncode}\n{printed}")
    return holds, int(re.search(r"complete executions explored: (\d+)", printed)[1]), printed


def survivors(name, model="rc11"):
    """The mutants that hold, too."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        tried = threads.map(lambda mutant: run(name, mutant, model)[0], mutants(name))
        return [mutant for mutant, holds in zip(mutants(name), tried, strict=True) if holds]


def main(chosen):
    if not checker():
        sys.exit(f"The models need GenMC, and there is none: install it, or name it by GENMC.\n\n{__doc__}")
    wrong = 0
    print(f"{'model':12} {'executions':>10} {'mutants':>8} {'found':>6} {'TSO':>5}")
    for name in chosen or names():
        all_of_it, not_found = mutants(name), survivors(name)
        found = len(all_of_it) - len(not_found)
        on_tso = len(all_of_it) - len(survivors(name, "tso"))
        tried = [run(name, model=model) for model in MEMORY_MODELS]
        print(f"{name:12} {tried[0][1]:10} {len(all_of_it):8} {found:6} {on_tso:5}", flush=True)
        for model, (holds, _, printed) in zip(MEMORY_MODELS, tried, strict=True):
            if not holds:
                print(f"{name} FAILS under {model}:\n{printed}")
        if not_found:
            print(f"{name}: not found: {', '.join(not_found)}")
        wrong += bool(not_found) or not all(holds for holds, _, _ in tried)
    if wrong:
        sys.exit(f"{wrong} of the models do not say what they should")


if __name__ == "__main__":
    main(sys.argv[1:])
