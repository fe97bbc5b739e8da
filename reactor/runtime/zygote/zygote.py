"""The zygote: a new interpreter that imports the heavy packages once and forks the workers.

As the parent of all workers it is also their supervisor (reactor.runtime.supervisor). It has only one thread, so that forking is safe.
reactor.runtime.driver starts it, with its descriptors at fixed numbers.
"""

import gc
import os
import pickle
import signal
import sys


def main(early=False):
    """`early`: it was started before its run, and waits for it first (reactor.runtime.zygote.early_zygote)."""
    from reactor import _core
    from reactor.runtime.spawning import descriptors
    from reactor.runtime.spawning.descriptors import ALL, CONTROL_FD, HEAP_FD, LINE_FD, SEND_FD, SOME, SPILL_FD

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's; it decides what ends
    if early:
        from reactor.runtime.zygote import early_zygote

        early_zygote.wait()
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # the driver had closed it
        null = os.open(os.devnull, os.O_RDWR)
    if os.isatty(0):
        os.dup2(null, 0)  # a worker that reads from a terminal would be stopped: it is not in the foreground
    os.close(null)
    config = _read_config(LINE_FD)
    if config["die_with_parent"]:
        _core.die_with_parent(signal.SIGTERM)
    _core.adopt_orphans()
    for fd in (*ALL, *(fd for name, fd in SOME.items() if config[name])):
        os.set_inheritable(fd, False)  # what a worker starts must not keep the run's memory
    sys.path[:] = config["own_path"]
    if config["cwd"] is not None:
        os.chdir(config["cwd"])
    _raise_descriptor_limit()
    spill = _core.move_high(SPILL_FD) if config["spilling"] else -1
    descriptors.of_workers = descriptors.OfWorkers(_core.move_high(SEND_FD), _core.move_high(HEAP_FD), spill)
    _core.attach_supervisor(descriptors.of_workers.heap, descriptors.of_workers.send, spill)

    from reactor.runtime.spawning import spawning

    with spawning.existing_directory():
        import importlib

        from reactor import codec

        codec.install()
        codec.pickler_class()
        plugin = importlib.import_module(config["plugin"])
        plugin.install(config["settings"], "zygote")
        from reactor.runtime.spawning import inspect_stack
        from reactor.runtime.spawning.preloading import preload
        from reactor.runtime.supervisor.supervisor import Supervisor

    inspect_stack.skip_module_search()
    sys.path[:] = spawning.path_with(config["own_path"], config["environment"])
    preload(config["preload"])

    sys.path[:] = spawning.path_with(config["path"], config["environment"])  # from here on modules are the program's
    gc.collect()
    gc.freeze()  # the collector would otherwise touch, and so copy, every page shared with the workers
    Supervisor(config, plugin, CONTROL_FD, LINE_FD).run()
    os._exit(0)


def _read_config(fd):
    def exactly(n):
        data = b""
        while len(data) < n:
            part = os.read(fd, n - len(data))
            if not part:
                os._exit(0)  # the driver died before it said anything
            data += part
        return data

    return pickle.loads(exactly(int.from_bytes(exactly(4), "little")))


def _raise_descriptor_limit():
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
