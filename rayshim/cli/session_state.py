"""The commands `status`, `stack` and `memory`: each prints to `out` and returns the exit status."""

import os

from reactor.printable import printable
from reactor.runtime import silence

from rayshim.cli.running import sessions
from rayshim.errors import tracebacks
from rayshim.session import heads


def status(out):
    def show(running, head):
        print(_headline(running, head), file=out)
        for driver in head.get("drivers", []):
            if os.path.exists(f"/proc/{driver['pid']}"):
                print(f"  driver {driver['pid']}  {printable(driver['entrypoint'])}", file=out)
        for worker in running.workers:
            print(
                f"  worker {worker.pid}  {printable(worker.what):<40}  cpu {worker.cpu:.1f} s  private {_size(worker.private)}",
                file=out,
            )

    return _each(show, out)


def stack(out):
    def show(running, head):
        print(_headline(running, head), file=out)
        for worker in running.workers:
            found = tracebacks.of_process(worker.pid)
            print(f"\n--- worker {worker.pid}  {printable(worker.what)}", file=out)
            print(found, file=out)

    return _each(show, out)


def memory(out):
    def show(running, head):
        processes = [running.driver, running.zygote, *running.workers]
        print(_headline(running, head), file=out)
        print(f"  shared      {_size(running.shared):>10}  objects, messages and queues of all processes", file=out)
        for process in processes:
            print(f"  {process.pid:<10}  {_size(process.private):>10}  {printable(process.what)}", file=out)
        print(f"  total       {_size(running.shared + sum(p.private for p in processes)):>10}", file=out)

    return _each(show, out)


def _each(show, out):
    found = sessions()
    there = (
        {facts["pid"]: facts for facts in heads.running()} if found else {}
    )  # asked once: who is stopped takes its time
    for i, running in enumerate(found):
        if i:
            print(file=out)
        show(running, there.get(running.driver.pid, {}))
        for process, who in ((running.driver, "the process that has started it"), (running.zygote, "its supervisor")):
            if silence.is_stopped(process.pid):
                print(f"  stopped: {who}, pid {process.pid}; `kill -CONT {process.pid}` lets it go on", file=out)
    if not found:
        print("no session of this user is running on this machine", file=out)
    return 0 if found else 1


def _headline(running, head):
    """`head`: the facts of a session that outlives its drivers; of others {}."""
    if head:
        amounts = ", ".join(
            f"{amount:g} {printable(name)}" for name, amount in head["resources"].items() if name in ("CPU", "GPU")
        )
        return f"head {running.driver.pid}  {head['address']}  {amounts}  ({len(running.workers)} workers)"
    return f"driver {running.driver.pid}  {printable(running.driver.what)}  ({len(running.workers)} workers)"


def _size(n):
    return f"{n / (1 << 30):.1f} GiB" if n >= 1 << 30 else f"{n / (1 << 20):.0f} MiB"
