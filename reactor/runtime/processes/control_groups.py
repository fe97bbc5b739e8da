"""What the control groups of this process allow it, of versions 1 and 2 (https://docs.kernel.org/admin-guide/cgroup-v2.html): processors and bytes of memory. Containers,
batch systems and systemd set such limits.

A group's limit holds for all groups in it, so the least one counts of the process's own group and of those around it. In a container the names that /proc
gives may be the host's, which are not there; then the group that is mounted is the container's.
"""

import contextlib
import math
import os
from typing import NamedTuple

PROC, GROUPS = "/proc", "/sys/fs/cgroup"
# Names of the limit, the usage and the statistics of a memory group, and its pages of files in the statistics, by version.
_MEMORY = {
    2: ("memory.max", "memory.current", "memory.stat", ("inactive_file", "active_file")),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", ("total_inactive_file", "total_active_file")),
}


class MemoryGroup(NamedTuple):
    """A control group that limits memory. limit: bytes."""

    folder: str
    version: int
    limit: int

    def used(self):
        """Bytes in use; pages of files, which the kernel can take back, do not count. OSError, ValueError or KeyError if the group does not say it."""
        _, current, statistics, files = _MEMORY[self.version]
        with open(f"{self.folder}/{statistics}") as file:
            counts = {words[0]: int(words[1]) for line in file if len(words := line.split()) > 1}
        return max(int(_read(f"{self.folder}/{current}")) - sum(counts[name] for name in files), 0)


def memory_group(proc=PROC, groups=GROUPS):
    """The MemoryGroup with the least limit, or None."""
    found = []
    for version, folder in _folders("memory", proc, groups):
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            limit = int(_read(f"{folder}/{_MEMORY[version][0]}"))
            if limit > 0:
                found.append(MemoryGroup(folder, version, limit))
    return min(found, key=lambda group: group.limit, default=None)


def memory(proc=PROC, groups=GROUPS):
    """Bytes of memory that this process may use: the machine's, or fewer if a control group says so."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    group = memory_group(proc, groups)
    return min(machine, group.limit) if group else machine


def processors(proc=PROC, groups=GROUPS):
    """How many processors' time the control groups allow, such as 1.5; None: no group limits it."""
    found = []
    for version, folder in _folders("cpu", proc, groups):
        with contextlib.suppress(OSError, ValueError):
            if version == 2:
                quota, period = map(float, _read(f"{folder}/cpu.max").split())  # "max 100000": no limit
            else:
                quota, period = (float(_read(f"{folder}/cpu.cfs_{name}_us")) for name in ("quota", "period"))
            if quota > 0 and period > 0:
                found.append(quota / period)
    return min(found, default=None)


def whole_cpus():
    """How many CPUs a program may count on: those that this process may run on, or fewer, rounded down, if a control group allows less time. At least one."""
    limit = processors()
    return max(1, int(min(len(os.sched_getaffinity(0)), math.inf if limit is None else limit)))


def cores():
    """How many processes can run at the same time: the machine's cores, or fewer, rounded up, if a control group allows less time."""
    limit = processors()
    return max(1, math.ceil(min(os.cpu_count() or 1, math.inf if limit is None else limit)))


def _folders(controller, proc, groups):
    """(version, folder) of each group of this process in which the controller may have files, and of the groups around it."""
    paths = {}  # version -> name of the group
    with contextlib.suppress(OSError):
        for line in _read(f"{proc}/self/cgroup").splitlines():
            _, controllers, name = line.split(":", 2)
            if not controllers:
                paths[2] = name
            elif controller in controllers.split(","):
                paths[1] = name
    for version, mounts in ((2, (groups, f"{groups}/unified")), (1, (f"{groups}/{controller}",))):
        parts = [part for part in paths.get(version, "").split("/") if part]
        if ".." in parts:  # the group is outside of what is mounted here
            parts = []
        for mount in mounts:
            for depth in range(len(parts), -1, -1):
                yield version, "/".join((mount, *parts[:depth]))


def _read(path):
    with open(path) as file:
        return file.read()
