"""Ends heads for `rayshim stop`, also those that are stopped or hang: they are found through /proc and signalled by pidfd, which needs no answer of theirs."""

import json
import os
import select
import signal
import time
from dataclasses import dataclass

from reactor.runtime.processes import descendants, process_stat

from rayshim.cli import running
from rayshim.cli.head import OPTIONS
from rayshim.session import heads, rendezvous

_KILLED_SECONDS = 10.0  # until a process that was killed is gone, on a busy machine
_LOOK_SECONDS = 0.02


@dataclass
class Head:
    """One head: pidfds of the process that `rayshim start` has started, and of its supervisor; their pids."""

    pid: int
    supervisor: int
    pidfds: tuple[int, int]

    def signal(self, number):
        for pidfd in self.pidfds:
            _send(pidfd, number)

    def lives(self):
        poll = select.poll()
        for pidfd in self.pidfds:
            poll.register(pidfd, select.POLLIN)  # readable: it has ended
        return len(poll.poll(0)) < len(self.pidfds)

    def close(self):
        for pidfd in self.pidfds:
            os.close(pidfd)


def find(directory):
    """The Heads of this user with this temporary directory (see heads.directory_of), whether or not they answer."""
    found = []
    for session in running.sessions():
        pids = session.driver.pid, session.zygote.pid
        try:
            pidfds = os.pidfd_open(pids[0]), os.pidfd_open(pids[1])
        except ProcessLookupError:
            continue  # it has just ended
        head = Head(*pids, pidfds)
        # The pidfds are there: what is read now is of these processes, or they have ended.
        if _directory(pids[0]) == heads.directory_of(directory):
            found.append(head)
        else:
            head.close()
    return found


def end(found, grace, directory):
    """Ends Heads with this temporary directory: asks them to, and kills those that have not ended after `grace` seconds, with all that they have started.
    Returns those that live on."""
    trees = {head.pid: _tree(head) for head in found}
    for head in found:
        if grace > 0:
            _send(head.pidfds[0], signal.SIGTERM)
            head.signal(signal.SIGCONT)  # who is stopped cannot end
    _wait(found, grace)
    for head in (late := [head for head in found if head.lives()]):
        trees[head.pid].update(_tree(head))
        head.signal(signal.SIGKILL)
    _wait(late, _KILLED_SECONDS)
    for head in late:
        descendants.end(lambda head=head: _left(head, trees[head.pid]))
    left = [head for head in found if head.lives()]
    _remove_sockets({head.pid for head in late} - {head.pid for head in left}, directory)
    for head in found:
        head.close()
    return left


def _remove_sockets(pids, directory):
    """Removes the sockets of heads that were killed."""
    for folder in heads.folders(directory):
        for place in rendezvous.found(folder, rendezvous.HEAD):
            if place.pid in pids:
                rendezvous.withdraw(place)


def _wait(found, seconds):
    deadline = time.monotonic() + seconds
    while any(head.lives() for head in found) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _tree(head):
    """{pid: start time} of what has come from a head."""
    processes = {pid: descendants.look(pid) for pid in descendants.of(head.pid, head.supervisor)}
    return {pid: process.start for pid, process in processes.items() if process}


def _left(head, tree):
    """Pids of those that live on: they may have left the head's group and its POSIX session."""
    same = [pid for pid, start in tree.items() if (now := descendants.look(pid)) and now.start == start and now.lives]
    return sorted({*same, *descendants.in_session(head.supervisor)})


def _send(pidfd, number):
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass  # it has ended


def _directory(pid):
    """The temporary directory of the head that runs in this process; None if it is no head of this user."""
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return None
        words = process_stat.words(pid, "cmdline")
        variables = {
            name: value for name, _, value in (word.partition("=") for word in process_stat.words(pid, "environ"))
        }
    except OSError:
        return None  # it has ended
    if any("rayshim.cli.head import main" in word for word in words):
        given = json.loads(variables[OPTIONS])[0]["temp_dir"] if OPTIONS in variables else None
    elif "start" in words and "--head" in words:  # `rayshim start --head --block`
        given = _option(words, "--temp-dir")
    else:
        return None
    return os.path.abspath(given or variables.get("RAY_TMPDIR") or "/tmp")


def _option(words, name):
    for word, after in zip(words, [*words[1:], None]):
        if word == name:
            return after
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
