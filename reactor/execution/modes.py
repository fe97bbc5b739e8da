"""Modes: the events that start when a mode is entered, are suspended when it is left, and continue when it is entered again.

An event belongs to the modes of its element. While one of them is not active, the event waits in that mode's `suspended`, with the time that was left
when the mode was left. So local time stands still in a mode that is not active.
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
    """Makes the transitions that were asked for at this tag, outer reactors first.

    A reactor that an outer one resets enters its initial mode, whatever it asked for itself."""
    asked = sorted(loop.transitions.items(), key=lambda item: item[0].path.count("."))
    loop.transitions.clear()
    reset = set()
    for instance, (target, history) in asked:
        if instance in reset:
            continue
        for mode in instance.modes.values():
            if mode.active:
                _leave(loop, mode)
        target.active = True
        if not history:
            reset.update(_reset(loop, instance, target))
        else:
            target.needs_reset = False
        _resume(loop, target)
        _enter(loop, [instance, *_contained(instance, target)])


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
    remaining = []
    for event in loop.events:
        time, microstep, _, entry = event
        if entry[2] is not None and mode in entry[2].modes:
            if hasattr(entry[2], "pending"):
                entry[2].pending.pop((time, microstep), None)
            left = time - loop.time
            mode.suspended.append((left, microstep - loop.microstep if left == 0 else microstep, entry))
        else:
            remaining.append(event)
    loop.events[:] = remaining
    heapify(loop.events)
    mode.suspended.sort(key=lambda event: event[:2])


def _resume(loop, mode):
    waiting, mode.suspended = mode.suspended, []
    for left, microstep, entry in waiting:
        _put(loop, left, microstep, entry)


def _reset(loop, instance, target):
    """Everything in `target` is as it was in the beginning, but for state that is not declared `reset`.

    That goes for the initial modes of the reactors in it, and theirs. What lies in other modes of them stays as it was suspended.
    Returns the reactors that were reset.
    """
    inside = dict(_entered(instance, target))
    entered = {target, *(mode for mode in inside.values() if mode)}
    waiting, target.suspended = target.suspended, []
    for mode in entered:
        waiting += mode.suspended
        mode.suspended = []
        mode.needs_reset = True
    for reactor in inside:
        for mode in reactor.modes.values():
            mode.active = mode in entered
    for left, microstep, entry in waiting:
        if not entered.issuperset(_within(entry[2], target)):
            _put(loop, left, microstep, entry)
    inside[instance] = target
    for reactor, entered_mode in inside.items():
        lies_in = (target,) if reactor is instance else (None, entered_mode)
        for timer in reactor.timers.values():
            if timer.mode in lies_in:
                _start_timer(loop, timer)
        for action in reactor.actions.values():
            if action.mode in lies_in:
                action.last = None
        if reactor.reset_state:
            for mode in dict.fromkeys(lies_in):
                reactor.reset_state(mode)
    del inside[instance]
    return inside


def _entered(instance, mode):
    """(reactor, its initial mode or None) of the reactors that a reset of `mode` resets."""
    for child in instance.children:
        if child.mode is mode:
            yield from _from_the_beginning(child)


def _from_the_beginning(reactor):
    initial = next((mode for mode in reactor.modes.values() if mode.initial), None)
    yield reactor, initial
    for child in reactor.children:
        if child.mode is None or child.mode is initial:
            yield from _from_the_beginning(child)


def _within(element, mode):
    """The modes that an element lies in, from `mode` on inwards."""
    return element.modes[element.modes.index(mode) :]


def _enter(loop, instances):
    """The reactions to startup of what is active for the first time, and those to reset of what is active since it was reset."""
    active = [
        reaction for instance in instances for reaction in instance.reactions if all(m.active for m in reaction.modes)
    ]
    found = [reaction for reaction in active if STARTUP in reaction.triggers and reaction not in loop.started]
    reset = [
        reaction
        for reaction in active
        if RESET in reaction.triggers and reaction.modes and reaction.modes[-1].needs_reset
    ]
    for instance in loop.top.walk():
        around = instance.enclosing_modes()
        for mode in instance.modes.values():
            if mode.active and all(outer.active for outer in around):
                mode.started, mode.needs_reset = True, False
    loop.started.update(found)
    _event(loop, RESET, reset)
    _event(loop, STARTUP, found)


def _event(loop, name, reactions):
    if reactions:
        microstep = loop.microstep + 1 if loop.running_tags else 0
        loop.insert(loop.time, microstep, [lambda _: loop.fire_event(name, reactions), None, None])
