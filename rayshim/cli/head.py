"""`rayshim start --head`: a session without a driver of its own, in a process that outlives the command."""

import os
import signal
import sys

from reactor.printable import printable

from rayshim.session import folder, heads, rendezvous

OPTIONS = "RAYSHIM_HEAD"


def run(options, ready):
    """Runs the session of these options (dict) in this process until it is told to end. `ready`: descriptor on which its facts, or an error, are
    facts as JSON once it runs."""
    import json

    from reactor import _core

    os.set_inheritable(ready, False)  # who reads the facts waits for their end: the zygote must not keep it open
    # If the process that ends what workers have started is killed, orphans in sessions of their own, too, become children of this one.
    _core.adopt_orphans()
    try:
        driver, facts = _started(options)
    except Exception as error:
        driver, facts = None, {"error": f"{type(error).__name__}: {error}"}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    os.write(ready, json.dumps(facts).encode())
    os.close(ready)
    if driver is None:
        return 1
    try:
        driver.wait()
    except _Ended:
        pass
    driver.stop()
    rendezvous.withdraw(driver.settings.place)
    _end_orphans()
    return 0


def _end_orphans():
    from reactor.runtime.processes import descendants

    descendants.end_own()


class _Ended(BaseException):
    """Somebody has facts this process to end."""


def _end(number, frame):
    signal.signal(number, signal.SIG_IGN)
    raise _Ended


def _started(options):
    from reactor.runtime.driver.driver import Driver

    from rayshim.api import arguments
    from rayshim.resources import num_threads
    from rayshim.session.settings import Settings
    from rayshim.worker import hooks

    directory = options["temp_dir"]
    accepted = {"_temp_dir": directory, "_system_config": options["system_config"]}
    given = (options["num_cpus"], options["num_gpus"], options["object_store_memory"])
    arguments.check(*given, options["resources"], options["labels"], None, heads.PLACEMENT, {})
    amounts, store = arguments.amounts(
        options["num_cpus"],
        options["num_gpus"],
        options["resources"],
        options["object_store_memory"],
        options.get("memory"),
    )
    order, patience = arguments.check_order(options["ordering"]), arguments.budget(options["patience"])
    node = os.urandom(28).hex()
    listener, place = heads.listen(options["port"], directory)
    about = {
        **heads.about(f"{options['node_ip_address']}:{options['port']}", options["port"], order, amounts),
        "client_port": options["client_port"],
        "node": node,
    }
    settings = Settings(
        namespace=os.urandom(16).hex(),
        session_name=arguments.session_name(),
        folder=folder.name(os.getpid()),
        place=place,
        temp_dir=arguments.temp_dir(accepted),
        placement=heads.PLACEMENT,
        ordering=order,
        node=node,
        labels=arguments.node_labels(options["labels"], node, amounts),
        threads_set_by_user=num_threads.is_set_by_user(),
        resources=amounts,
        retry_delay=arguments.retry_delay(accepted),
        driver=os.getpid(),
        recording=True,
        trace=False,
        address=about["address"],
    )
    driver = Driver(
        variables=num_threads.VARIABLES,
        cpus=amounts["CPU"],
        resources={name: amount for name, amount in amounts.items() if name != "CPU"},
        store_limit=store,
        plugin="rayshim.worker.hooks",
        settings=settings,
        preload=["numpy"],
        ordering=order,
        patience=patience,
        digesting=1,
        spilling=arguments.spilling(None, accepted),
        full_wait=arguments.full_wait(accepted),
        memory=arguments.memory(accepted),
        retry_delay=settings.retry_delay,
        listening=listener,
        about=about,
        head=True,
    )
    try:
        driver.start()
    except BaseException:
        heads.withdraw(listener, place)
        raise
    hooks.install(settings, "driver")
    listener.close()
    if options["block"]:
        driver.show = _show
    return driver, about


def _show(stream, label, pid, line):
    from reactor.runtime.messages.output import STDOUT

    print(f"({printable(label)} pid={pid}) {line}", file=sys.stdout if stream == STDOUT else sys.stderr, flush=True)


def main():
    """The process of a head. A variable of its environment has its options, and the number of the descriptor on which it tells that it is ready."""
    import json

    sys.exit(run(*json.loads(os.environ.pop(OPTIONS))))
