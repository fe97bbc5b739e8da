"""The programs of lf_programs.py catch an engine that breaks a rule: each mutant here makes at least one trace differ.

A mutant is a line of the engine's source, changed; the module is compiled with it and the programs are run in a process of its own.
"""

import importlib
import inspect
import multiprocessing
import resource

import pytest
from reactor.tests.lf_mode_programs import PROGRAMS
from reactor.tests.running import lines

pytest.importorskip("lark")

_LOOP, _LOADING, _MODES = "reactor.execution.loop", "reactor.execution.loading", "reactor.execution.modes"
_MEMBERSHIP, _FEDERATES = "reactor.execution.membership", "reactor.execution.federates"
_PLAN, _DECLARED, _WIRING, _INSTANTIATING = (
    "reactor.plan",
    "reactor.declared",
    "reactor.model.wiring",
    "reactor.lf.instantiating",
)

_PROCESSOR_TIME, _PATIENCE = 4, 60  # seconds; the programs need less than one

# name: (module, what stands there, what stands there in the mutant)
MUTANTS = {
    "reactions in the reverse order": (
        _DECLARED,
        "reasons[position[earlier], position[later]] = SAME_REACTOR",
        "reasons[position[later], position[earlier]] = SAME_REACTOR",
    ),
    "no order within a reactor": (
        _DECLARED,
        "reasons[position[earlier], position[later]] = SAME_REACTOR",
        "pass",
    ),
    "no order by what flows": (_DECLARED, 'reasons[position[writer], position[reader]] = f"by {port.path}"', "pass"),
    "deadlines do not matter to the order": (
        _PLAN,
        "(deadline[k], level[k], k)",
        "(level[k], k)",
    ),
    "deadlines are not handed to what comes before": (
        _PLAN,
        "min(found[earlier], found[k])",
        "found[earlier]",
    ),
    "after is dropped": (_WIRING, "at_once = first.delay is None and", "at_once = True and"),
    "after is doubled": (_LOOP, "(self.time + delay, 0) if delay else", "(self.time + 2 * delay, 0) if delay else"),
    "after 0 comes at the same microstep": (
        _LOOP,
        "if delay else (self.time, self.microstep + 1)\n",
        "if delay else (self.time + 1, 0)\n",
    ),
    "after keeps the microstep": (
        _LOOP,
        "(self.time + delay, 0) if delay",
        "(self.time + delay, self.microstep + 1) if delay",
    ),
    "a delayed value is the first one set": (_LOOP, "value = root.value\n", "value = 1\n"),
    "microsteps are merged": (_LOADING, "(loop.time, loop.microstep + 1)", "(loop.time + 1, 0)"),
    "actions do not pile up": (_LOOP, "microstep += 1\n", "return\n"),
    "minimum delay is forgotten": (_LOADING, "delay = minimum + extra_delay", "delay = extra_delay"),
    "extra delay is forgotten": (_LOADING, "delay = minimum + extra_delay", "delay = minimum"),
    "spacing is skipped": (_LOOP, "if (time, microstep) < earliest:", "if False:"),
    "spacing off by one": (_LOOP, "(before[0] + action.spacing, 0) if", "(before[0] + action.spacing + 1, 0) if"),
    "dropped events are deferred": (_LOOP, "if action.policy == DROP:", "if False:"),
    "replace defers": (_LOOP, "elif waiting is not None and action.policy != DEFER:", "elif False:"),
    "update replaces": (_LOOP, "if waiting is not None and action.policy == UPDATE:", "if False:"),
    "the timeout is not looked at": (_LOOP, "self.stop_tag = (self.start + self.timeout, 0)", "pass"),
    "events at microsteps after the timeout run": (
        _LOOP,
        "(self.start + self.timeout, 0)",
        "(self.start + self.timeout, 9)",
    ),
    "request_stop waits for nothing": (
        _LOOP,
        "self.stop_tag = min(self.stop_tag, (self.time, self.microstep + 1))\n        else",
        "pass\n        else",
    ),
    "no shutdown": (_LOOP, "modes.fire_shutdown(self)", "pass"),
    "ports stay present": (_LOOP, "element.is_present = False", "pass"),
    "a reaction runs once for each trigger": (_LOOP, "if index != last:", "if True:"),
    "timers fire once": (_LOADING, "        if period:\n", "        if False:\n"),
    "offsets are forgotten": (_MODES, "_put(loop, timer.offset, 0,", "_put(loop, 0, 0,"),
    "mutable inputs are shared": (_LOADING, "port.value = copy.deepcopy(port.value)", "pass"),
    "mutable copies stay": (_LOADING, "port.value = original", "pass"),
    "a mode that is not active reacts": (_LOADING, "            if only.active:\n", "            if True:\n"),
    "inner modes do not look at outer ones": (
        _LOADING,
        "if all(mode.active for mode in modes):",
        "if modes[-1].active:",
    ),
    "transitions do nothing": (_MODES, "        target.active = True\n", "        continue\n"),
    "history is reset": (_MODES, "if not history:", "if True:"),
    "reset is history": (_MODES, "if not history:", "if False:"),
    "events of a left mode stay": (_MODES, "if entry[2] is not None and mode in entry[2].modes:", "if False:"),
    "time goes on in a left mode": (_MODES, "left = time - loop.time", "left = 1"),
    "suspended events are lost": (
        _MODES,
        "waiting, mode.suspended = mode.suspended, []",
        "waiting, mode.suspended = [], []",
    ),
    "reset keeps what is pending": (_MODES, "if not entered.issuperset(_within(entry[2], target)):", "if True:"),
    "reset discards what waits in inner modes": (
        _MODES,
        "if not entered.issuperset(_within(entry[2], target)):",
        "if False:",
    ),
    "an inner transition overrides a reset": (_MODES, "if instance in reset:", "if False:"),
    "reset comes with each entry": (_MODES, "reaction.modes[-1].needs_reset", "True"),
    "reset does not wait for the outer mode": (
        _MODES,
        "if mode.active and all(outer.active for outer in around):",
        "if mode.active:",
    ),
    "reset leaves inner modes": (_MODES, "mode.active = mode in entered", "pass"),
    "reset state is not reset": (_MODES, "reactor.reset_state(mode)", "pass"),
    "reset triggers nothing": (_MODES, "_event(loop, RESET,", "(lambda *_: None)(loop, RESET,"),
    "startup comes with each entry": (_MODES, "loop.started.update(found)", "pass"),
    "modes never entered shut down": (_MODES, "if all(mode.started for mode in reaction.modes):", "if True:"),
    "inactive modes do not shut down": (_MODES, "loop.calls[reaction.index] = prepared(loop, reaction)", "pass"),
    "deadline 0 is met": (_LOADING, "limit == 0 or", ""),
    "deadlines are always missed": (_LOADING, "loop.physical() > loop.time + limit", "True"),
    "interleaved goes member by member": (_INSTANTIATING, "if reference.interleaved:", "if False:"),
    "federates share values": (_INSTANTIATING, "return copy.deepcopy if self.federated else None", "return None"),
    "a federate that left is there": (_MEMBERSHIP, "federate.present, federate.leaves = False, None", "pass"),
    "events of a federate that left stay": (_MEMBERSHIP, "is not federate]", "is not None]"),
    "a federate leaves late": (_MEMBERSHIP, "loop.time, loop.microstep + 1\n", "loop.time, loop.microstep + 2\n"),
    "a federate leaves without shutdown": (_MEMBERSHIP, "heappush(loop.ready, reaction.index)", "pass"),
    "values reach a federate that left": (_FEDERATES, "if there.present:", "if True:"),
    "inherited reactions come last": (
        _INSTANTIATING,
        "self.members.extend((reactor, member) for",
        "self.members[:0] = ((reactor, member) for",
    ),
}


def _mutate(name):
    module, old, new = MUTANTS[name]
    source = inspect.getsource(importlib.import_module(module))
    assert source.count(old) >= 1, f"{module} has no {old!r}: write the mutant again"
    loaded = importlib.import_module(module)
    exec(compile(source.replace(old, new, 1), loaded.__file__, "exec"), vars(loaded))


def _first_difference(name, folder):
    """The first program whose trace differs with this mutant, or None."""
    if name:
        _mutate(name)
        for module in (
            _FEDERATES,
            _LOADING,
            _MODES,
            _MEMBERSHIP,
            _LOOP,
            _WIRING,
            _PLAN,
            _DECLARED,
            "reactor.program",
        ):
            if module != MUTANTS[name][0]:  # they hold names of the mutated module
                loaded = importlib.import_module(module)
                exec(compile(inspect.getsource(loaded), loaded.__file__, "exec"), vars(loaded))
    from reactor.tests import running

    exec(compile(inspect.getsource(running), running.__file__, "exec"), vars(running))
    for key, written in PROGRAMS.items():
        try:
            ran = running.program(folder, written.text, **written.settings)
            ran.run()
            seen = running.trace_of(ran)
        except Exception as error:
            return f"{key}: {error}"
        if seen != lines(written.trace):
            return key
    return None


def _child(connection, name, folder):
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_TIME, _PROCESSOR_TIME))
    connection.send(_first_difference(name, folder))


def _tried(name, folder):
    """What catches a mutant, in a fork; "hangs" if it does not end within its processor time, or sleeps for ever."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_child, args=(there, name, folder))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(_PATIENCE) else "hangs"
    except EOFError:
        return "hangs"
    finally:
        child.kill()
        child.join()


def test_the_engine_itself_is_not_caught(tmp_path):
    assert _tried(None, tmp_path) is None


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name, tmp_path):
    assert _tried(name, tmp_path) is not None
