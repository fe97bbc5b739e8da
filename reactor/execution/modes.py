"""Modes: what starts with them, what is suspended when they are left, and what comes back.

An event belongs to the modes that its element lies in. While one of them is not active it waits in that mode's `suspended`, with
the time that was left when the mode was left: local time stands still in a mode that is not active.
"""

from heapq import heapify

from reactor.execution.loading import prepared, timer_entry
from reactor.model.elements import RESET, SHUTDOWN, STARTUP


def begin(loop):
    """Puts the first events in place: startup, and the timers."""
    start(loop, list(loop.top.walk()))


def start(loop, instances):
    """Puts the first events of reactors in place."""
    for instance in instances:
        for timer in instance.timers.values():
            _start_timer(loop, timer)
    _enter(loop, instances)


def switch(loop):
    """Makes the transitions that were asked for at this tag, outer reactors first."""
    asked = sorted(loop.transitions.items(), key=lambda item: item[0].path.count("."))
    loop.transitions.clear()
    for instance, (target, history) in asked:
        for mode in instance.modes.values():
            if mode.active:
                _leave(loop, mode)
        target.active = True
        inside = list(_contained(instance, target))
        if not history:
            _reset(loop, instance, target, inside)
        _resume(loop, target)
        _enter(loop, [instance, *inside])


def fire_shutdown(loop):
    """Makes the reactions to shutdown ready, those in modes too if these were ever active."""
    for reaction in loop.wiring.readers.get(SHUTDOWN, ()):
        if reaction.instance.federate and not reaction.instance.federate.present:
            continue
        if all(mode.started for mode in reaction.modes):
            if reaction.modes and not all(mode.active for mode in reaction.modes):
                loop.calls[reaction.index] = prepared(loop, reaction)
            loop.fire_event(SHUTDOWN, [reaction])


def _contained(instance, mode):
    """The reactors that lie in `mode` of `instance`, at any depth."""
    for child in instance.children:
        if child.mode is mode:
            yield from child.walk()


def _waiting_in(element):
    """The mode for which the events of an element wait; None: they need not."""
    return next((mode for mode in reversed(element.modes) if not mode.active), None)


def _put(loop, left, microstep, entry):
    """An event that is due in `left` nanoseconds of the local time of its modes."""
    mode = _waiting_in(entry[2])
    if mode is not None:
        mode.suspended.append((left, microstep, entry))
    elif left > 0 or not loop.running_tags:
        _insert(loop, loop.time + left, 0, entry)
    else:
        _insert(loop, loop.time, loop.microstep + max(1, microstep), entry)


def _insert(loop, time, microstep, entry):
    pending = getattr(entry[2], "pending", None)
    if pending is not None:
        pending[time, microstep] = entry
    loop.insert(time, microstep, entry)


def _start_timer(loop, timer):
    _put(loop, timer.offset, 0, timer_entry(timer))


def _leave(loop, mode):
    mode.active = False
    kept = []
    for event in loop.events:
        time, microstep, _, entry = event
        if entry[2] is not None and mode in entry[2].modes:
            if hasattr(entry[2], "pending"):
                entry[2].pending.pop((time, microstep), None)
            left = time - loop.time
            mode.suspended.append((left, microstep - loop.microstep if left == 0 else microstep, entry))
        else:
            kept.append(event)
    loop.events[:] = kept
    heapify(loop.events)
    mode.suspended.sort(key=lambda event: event[:2])


def _resume(loop, mode):
    waiting, mode.suspended = mode.suspended, []
    for left, microstep, entry in waiting:
        _put(loop, left, microstep, entry)


def _reset(loop, instance, target, inside):
    """Everything in `target` is as it was in the beginning, but for state that is not declared `reset`."""
    target.suspended = []
    for reactor in inside:
        for mode in reactor.modes.values():
            mode.suspended = []
            mode.active = mode.initial
    timers = [timer for timer in instance.timers.values() if timer.mode is target]
    actions = [action for action in instance.actions.values() if action.mode is target]
    for reactor in inside:
        timers.extend(reactor.timers.values())
        actions.extend(reactor.actions.values())
    for action in actions:
        action.last = None
    for timer in timers:
        _start_timer(loop, timer)
    for reactor in [instance, *inside]:
        if reactor.reset_state:
            reactor.reset_state(target if reactor is instance else None)
    reactions = [r for r in instance.reactions if r.mode is target] + [r for one in inside for r in one.reactions]
    _event(loop, RESET, [r for r in reactions if RESET in r.triggers and all(mode.active for mode in r.modes)])


def _enter(loop, instances):
    """The reactions to startup of what is active for the first time."""
    found = [
        reaction
        for instance in instances
        for reaction in instance.reactions
        if STARTUP in reaction.triggers and reaction not in loop.started and all(m.active for m in reaction.modes)
    ]
    for instance in loop.top.walk():
        around = instance.enclosing_modes()
        for mode in instance.modes.values():
            if mode.active and all(outer.active for outer in around):
                mode.started = True
    loop.started.update(found)
    _event(loop, STARTUP, found)


def _event(loop, name, reactions):
    if reactions:
        microstep = loop.microstep + 1 if loop.running_tags else 0
        loop.insert(loop.time, microstep, [lambda _: loop.fire_event(name, reactions), None, None])
