"""Names of a module that another module sets when it is imported or called. This is the one way in which a module comes to code that lies above it.

test_layers.py holds that each such name is listed here, with the modules that set it, and that these lie above it.
"""

#: {name: modules that set it}. Functions and classes of upper layers, which the module below calls.
SLOTS = {
    # `init` and `shutdown`: for a program that uses rayshim without calling `init`, and for the end of the interpreter.
    "rayshim.session.session.start": {"rayshim.api.start"},
    "rayshim.session.session.stop": {"rayshim.api.start"},
    # How a ref is awaited in the event loop, or a thread of an actor, in timed order.
    "rayshim.session.session.timed_loop": {
        "rayshim.timing.loop",
        "rayshim.worker.concurrency",
        "rayshim.worker.timed_threads",
    },
    # How a value of the outside is journaled, such as a UUID, in a run with a journal.
    "rayshim.session.repeatable.journaled": {"rayshim.journal.journal"},
    # The loop of futures in a process whose threads take turns.
    "rayshim.session.futures._done": {"rayshim.journal.threads"},
    "rayshim.session.futures.watch_for": {"rayshim.journal.threads"},
    # Loads rayshim.dag, for `bind`.
    "rayshim.calls.binding.load": {"rayshim"},
    "rayshim.calls.binding.exit_actor": {"rayshim.worker.exit"},
    # The value of a name of `ray._private.worker`, which programs change.
    "rayshim.worker.shown": {"rayshim"},
    "rayshim.api.values.blocking_is_known": {"rayshim._private.worker"},
    # The class of the results of compiled graphs, for `get` and `wait`.
    "rayshim.api.values.compiled_refs": {"rayshim.experimental.compiled_dag_ref"},
    # CompiledDAG, for `experimental_compile`.
    "rayshim.dag.dag_node.compiler": {"rayshim.dag.compiled_dag_node"},
}

#: {name: modules that set it}. State that is no code: flags, descriptors.
STATE = {
    "rayshim.cli.replay_status.succeeds": {"rayshim.cli.command"},
    "rayshim.journal.checking.found": {"rayshim.journal.journal"},
    "rayshim.session.session.owes_time": {"rayshim.ordering.delays"},
    "rayshim.session.session.warn_on_blocking_get": {"rayshim.api.values", "rayshim.worker.concurrency"},
    "rayshim.worker.interrupts.methods_run_here": {"rayshim.worker.creation"},
    "reactor.runtime.spawning.descriptors.of_workers": {
        "reactor.runtime.worker.own_interpreter",
        "reactor.runtime.zygote.zygote",
    },
    "reactor.runtime.worker.worker.drained_as": {"rayshim.worker.concurrency", "rayshim.worker.exit"},
}
