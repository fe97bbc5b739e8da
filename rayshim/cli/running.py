"""Finds the running sessions on this machine through /proc, for `rayshim status`, `stack` and `memory`."""

import os
from dataclasses import dataclass, field

from reactor.runtime.processes import process_stat

_ZYGOTE = "reactor.runtime.zygote.zygote import main"
_HEAP = "/memfd:reactor"


@dataclass
class Process:
    """One process. `what`: its command line, or the actor or task of a worker; `private`: bytes of its private memory; `cpu`: seconds."""

    pid: int
    what: str
    private: int
    cpu: float


@dataclass
class Running:
    """One session: its driver, its zygote, its workers, and the bytes of shared memory in use."""

    driver: Process
    zygote: Process
    workers: list = field(default_factory=list)
    shared: int = 0


def sessions():
    """The sessions of this user (for root: of all users), a list of Running sorted by the drivers' pids."""
    parents, commands = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = process_stat.of_process(name).parent
                commands[int(name)] = " ".join(process_stat.words(name, "cmdline")).strip()
            except (OSError, ValueError):
                continue  # it has ended, or belongs to another user
    # A worker's command line is its title; at first, it is that of the zygote from which it was forked.
    zygotes = [
        pid for pid, command in commands.items() if _ZYGOTE in command and _ZYGOTE not in commands.get(parents[pid], "")
    ]
    found = []
    for zygote in sorted(zygotes, key=lambda pid: parents[pid]):
        shared = _shared(zygote)
        if shared is None:
            continue  # its program has not started a session yet
        workers = [_process(pid, commands[pid]) for pid in sorted(parents) if parents[pid] == zygote]
        driver = _process(parents[zygote], commands.get(parents[zygote], ""))
        session = Running(driver, _process(zygote, "zygote"), [w for w in workers if w is not None], shared)  # pyright: ignore[reportArgumentType]
        if session.driver is not None and session.zygote is not None:
            found.append(session)
    return found


def _process(pid, command):
    try:
        ticks = process_stat.of_process(pid).own_ticks
        private = process_stat.memory(pid, "Private_")
    except OSError:
        return None
    return Process(pid, command, private, ticks / os.sysconf("SC_CLK_TCK"))


def _shared(pid):
    """Bytes in use of the session's shared memory, which all its processes have open; None if this process has none."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if os.readlink(path).startswith(_HEAP):
                return os.stat(path).st_blocks * 512
    except OSError:
        pass
    return None
