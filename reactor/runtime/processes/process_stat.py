"""Reads what /proc tells of a process (proc(5))."""

import os
from typing import NamedTuple


class ProcessStat(NamedTuple):
    """Times are in clock ticks, of which `os.sysconf("SC_CLK_TCK")` are a second."""

    state: str
    parent: int
    group: int
    session: int
    own_ticks: int  # processor time, user and system
    reaped_ticks: int  # processor time of the children that it waited for, including their children
    start: int  # time since the start of the machine; distinguishes a process from an earlier one with the same pid

    @property
    def lives(self):
        return self.state not in "ZX"


def of_process(pid):
    """ProcessStat of a process; OSError if it has ended and was waited for."""
    return _read(f"/proc/{pid}/stat")


def of_thread(tid):
    """ProcessStat of a thread of this process, with the thread's state and times; OSError if it has ended."""
    return _read(f"/proc/self/task/{tid}/stat")


def words(pid, name):
    """The words of the command line of a process ("cmdline"), or its environment ("environ"), a list of str; OSError if it has ended, or is not ours."""
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return os.fsdecode(file.read()).split("\0")


def memory(pid, kind):
    """Bytes of a process's memory: "Pss:", each shared page divided by the number of processes that map it, or "Private_"; OSError as above."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith(kind))


def _read(path):
    with open(path, "rb") as file:
        # The name is in brackets and may itself hold spaces and brackets.
        fields = file.read().rpartition(b")")[2].split()
    return ProcessStat(
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        own_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        start=int(fields[19]),
    )
