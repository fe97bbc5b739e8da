"""A worker with an interpreter of its own: the forked process has started Python again (spawning.restart), and imports its modules itself.

That takes longer than to go on as a copy of the zygote. It is needed where the zygote's modules were imported with other environment variables than
the worker is to have (reactor.runtime.spawning.imported_with).
"""

import importlib
import os
import pickle
import sys


def main(given):
    """`given`: descriptor of the file with what `spawning.restart` was called with."""
    with open(given, "rb") as file:
        variables, config, plugin, arguments, numbers = pickle.load(file)
    from reactor.runtime.spawning import descriptors, spawning

    own = descriptors.of_workers = descriptors.OfWorkers(*numbers)
    spawning.inherit(False)
    if config.get("scope") and config["cwd"] is not None:
        os.chdir(config["cwd"])
    with spawning.existing_directory():
        from reactor import _core, codec
        from reactor.runtime.spawning import inspect_stack
        from reactor.runtime.worker import worker

        codec.install()
        codec.pickler_class()
        plugin = importlib.import_module(plugin)
        plugin.install(config["settings"], "zygote")
    inspect_stack.skip_module_search()
    sys.path[:] = config["path"] = spawning.path_with(config["path"], variables)

    def attach(slot):
        _core.attach_new_worker(own.heap, slot, own.send, own.spill)

    slot, facts, gpus, setting, birth = arguments
    worker.go_on(slot, facts, gpus, setting, birth, variables, config, plugin, attach)
