"""What the layer above gives to a run: a module with these functions. This module is the one without a layer above.

    install(settings, role)     set the core's hooks in this process; role is "driver", "zygote", "actor" or "task"
    begin(settings, record)     in a worker, after the fork; record is what the creator told of the actor (None: task worker)
    died(facts)                 in the zygote: the value stored as the reason of a death (see reactor.runtime.supervisor)
"""


def install(settings, role):
    from reactor import _core

    _core.set_hook("failure", lambda error, what, argument: error)
    _core.set_hook("error", lambda state, value, ref: value if isinstance(value, BaseException) else RuntimeError(value))
    _core.set_hook("function", lambda ref: _core.get([ref], None)[0])


def begin(settings, record):
    pass


def died(facts):
    return facts
