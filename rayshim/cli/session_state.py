"""The commands `status`, `stack` and `memory`: each prints to `out` and returns the exit status."""

import os

from reactor.printable import printable
from reactor.runtime.processes import silence

from rayshim.cli.running import sessions
from rayshim.errors import tracebacks
from rayshim.session import heads


def status(out):
    def show(running, facts):
        print(_headline(running, facts), file=out)
        for driver in facts.get("drivers", []):
            if os.path.exists(f"/proc/{driver['pid']}"):
                print(f"  driver {driver['pid']}  {printable(driver['entrypoint'])}", file=out)
        for worker in running.workers:
            print(
                f"  worker {worker.pid}  {printable(worker.what):<40}  cpu {worker.cpu:.1f} s  private {_size(worker.private)}",
                file=out,
            )

    return _each(show, out)


def stack(out):
    def show(running, facts):
        print(_headline(running, facts), file=out)
        for worker in running.workers:
            found = tracebacks.of_process(worker.pid)
            print(f"\n--- worker {worker.pid}  {printable(worker.what)}", file=out)
            print(found, file=out)

    return _each(show, out)


def memory(out):
    def show(running, facts):
        processes = [running.driver, running.zygote, *running.workers]
        print(_headline(running, facts), file=out)
        print(f"  shared      {_size(running.shared):>10}  objects, messages and queues of all processes", file=out)
        for process in processes:
            print(f"  {process.pid:<10}  {_size(process.private):>10}  {printable(process.what)}", file=out)
        print(f"  total       {_size(running.shared + sum(p.private for p in processes)):>10}", file=out)

    return _each(show, out)


def _each(show, out):
    found = sessions()
    # Asked once: who is stopped takes its time.
    there = {facts["pid"]: facts for kind in (heads.HEAD, heads.OWN) for facts in heads.look(kind)[0]} if found else {}
    for i, running in enumerate(found):
        if i:
            print(file=out)
        show(running, there.get(running.driver.pid, {}))
        for process, who in ((running.driver, "the process that has started it"), (running.zygote, "its supervisor")):
            if silence.is_stopped(process.pid):
                print(f"  stopped: {who}, pid {process.pid}; `kill -CONT {process.pid}` continues it", file=out)
    if not found:
        print("no session of this user is running on this machine", file=out)
    return 0 if found else 1


def _headline(running, facts):
    """`facts`: of a session that other drivers can join; of others {}."""
    workers, address = f"({len(running.workers)} workers)", facts.get("address", "")
    if facts and facts["place"].kind == heads.HEAD:
        amounts = ", ".join(
            f"{amount:g} {printable(name)}" for name, amount in facts["resources"].items() if name in ("CPU", "GPU")
        )
        return f"head {running.driver.pid}  {address}  {amounts}  {workers}"
    return f"driver {running.driver.pid}  {printable(running.driver.what)}  {address and address + '  '}{workers}"


def _size(n):
    return f"{n / (1 << 30):.1f} GiB" if n >= 1 << 30 else f"{n / (1 << 20):.0f} MiB"
