"""Facts on which a figure depends besides the program: the machine, the versions, the revision, the load."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

DISTRIBUTIONS = (
    "ray",
    "rayshim",
    "numpy",
    "torch",
    "gymnasium",
    "ale-py",
    "stable-baselines3",
    "pufferlib",
    "envpool",
    "cloudpickle",
)


def _first_value(path, key):
    try:
        with open(path) as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return None


def _git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def version(distribution):
    """Of an installed distribution; None if it is not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe():
    """The machine, as a dictionary for the JSON. `load` is the load average over the last minute."""
    changes = _git("status", "--porcelain")
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": _first_value("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "shared_memory": _size_of_dev_shm(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: found for name in DISTRIBUTIONS if (found := version(name))},
        "revision": _git("rev-parse", "HEAD"),
        "modified": None if changes is None else bool(changes),
        "load": os.getloadavg()[0],
    }


def _size_of_dev_shm():
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


def in_words(machine):
    """One line for a table's caption."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    revision = "an unknown revision" if machine["revision"] is None else machine["revision"][:10]
    if machine["modified"]:
        revision += " with changes"
    return (
        f"{machine['cores']} cores, {machine['processor']}, {machine['memory'] / 2**30:.0f} GiB, "
        f"Linux {machine['system'].split('-')[1]}, Python {machine['python']}; {versions}; rayshim at {revision}; "
        f"load {machine['load']:.2f} before"
    )
