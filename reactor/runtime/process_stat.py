"""Reads the line of a process or of a thread under /proc (proc_pid_stat(5))."""

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
