"""Prepares a program for its loop: sets `set`, `schedule` and the like, and makes one callable per reaction, which has nothing left to look up."""

import copy
import gc
from contextlib import contextmanager
from functools import partial
from heapq import heappush
from operator import index
from types import MethodType

from reactor.execution import federates
from reactor.model.elements import Contained, Multiport, Port, Transition, channels


@contextmanager
def uncollected():
    """No garbage is collected while the graph of a program is made: nothing of it can be freed, and a large program makes much."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@uncollected()
def load(loop):
    """The callables of the reactions, by index."""
    wiring = loop.wiring
    ports = [port for instance in loop.top.walk() for port in instance.channels()]
    noted = {}  # root: [(channels that are present of a multiport which has it, its channel there)]
    for port in ports:
        port._clock = loop
    for instance in loop.top.walk():
        for element in instance.ports.values():
            if isinstance(element, Multiport):
                is_input = any(port.is_input for port in element)
                element[:] = [wiring.root(port) for port in element]
                if is_input:
                    element.found = []
                    for channel, root in enumerate(element):
                        noted.setdefault(root, []).append((element.found, channel))
        for action in instance.actions.values():
            load_action(loop, action)
        for watchdog in instance.watchdogs.values():
            _load_watchdog(loop, watchdog)
    roots = dict.fromkeys(wiring.root(port) for port in ports)
    triggered = {}  # id of a multiport's present channels: {the reactions that a channel of it triggers}
    for root, several in noted.items():
        for found, _ in several:
            triggered.setdefault(id(found), set()).add(_indices(loop, root))
    for root in roots:
        several = noted.get(root, ())
        alike = all(len(triggered[id(found)]) == 1 for found, _ in several)
        root.set = _setter(loop, root, several, alike)
    arrivals = {root: [] for root in wiring.delays}
    for root, found in arrivals.items():
        root.set = _later(loop, root, found)
    for root, delays in wiring.delays.items():
        for connection, target in delays:
            if connection.federate:
                arrivals[root].append((connection, *federates.crossing(loop, connection)))
            else:
                arrivals[root].append((connection, loop.converter(connection), target.set))
    _load_timers(loop)
    return [_callable(loop, reaction) for reaction in loop.reactions]


def _indices(loop, trigger):
    return tuple(reaction.index for reaction in loop.wiring.readers.get(trigger, ()))


def _setter(loop, port, noted, alike):
    """`set` of a port: there is one shape for each way that values go, because a call of it is a large part of a reaction's cost.

    `alike`: all channels of the multiport that it is in trigger the same reactions, so the first one that is set has triggered them."""
    ready, appear, push, note = loop.ready, loop.present.append, heappush, loop.found.append
    targets = _indices(loop, port)
    forwards = [partial(_set, target) for target, c in loop.wiring.forwards.get(port, ()) if not c.convert]
    crossing = [_crossing(loop, *forward) for forward in loop.wiring.forwards.get(port, ()) if forward[1].convert]
    if forwards or crossing:

        def set(value=None):
            port.value = value
            if not port.is_present:
                port.is_present = True
                appear(port)
                for target in targets:
                    push(ready, target)
                for found, channel in noted:
                    if not found:
                        note(found)
                    found.append(channel)
            for forward in forwards:
                forward(value)
            if crossing:
                loop.crossing[port] = crossing

    elif len(noted) == 1 and alike:
        ((found, channel),) = noted

        def set(value=None):
            port.value = value
            if not port.is_present:
                port.is_present = True
                appear(port)
                if not found:
                    note(found)
                    for target in targets:
                        push(ready, target)
                found.append(channel)

    elif len(targets) == 1 and not noted:
        (only,) = targets

        def set(value=None):
            port.value = value
            if not port.is_present:
                port.is_present = True
                appear(port)
                push(ready, only)

    else:

        def set(value=None):
            port.value = value
            if not port.is_present:
                port.is_present = True
                appear(port)
                for target in targets:
                    push(ready, target)
                for found, channel in noted:
                    if not found:
                        note(found)
                    found.append(channel)

    return set


def _set(target, value):
    target.set(value)


def _crossing(loop, target, connection):
    """(what converts a value when the reaction that set it has ended; what takes it in)"""
    if connection.federate:
        return federates.crossing(loop, connection)
    return loop.converter(connection), partial(_set, target)


def _later(loop, port, delays):
    """`set` of a port with delayed connections: they take the value that it has at the end of the tag."""
    at_once, later = port.set, loop.later

    def set(value=None):
        if not port.is_present:
            later.append((port, delays))
        at_once(value)

    return set


def load_action(loop, action):
    ready, appear, push, pending = loop.ready, loop.present.append, heappush, action.pending
    targets = action.targets = _indices(loop, action)
    minimum, unspaced, events = action.delay, action.spacing is None, loop.events
    quick, queued, soon = unspaced and not minimum and not action.modes, False, loop.soon

    def fire(value):
        nonlocal queued
        queued = False
        if pending:
            pending.pop((loop.time, loop.microstep), None)
        action.value = value
        action.is_present = True
        appear(action)
        for target in targets:
            push(ready, target)

    own = [fire, None, action]  # its entry in `soon`

    def schedule(extra_delay=0, value=None):
        nonlocal queued
        if quick and not extra_delay and not queued and not pending:
            queued = True
            own[1] = value
            soon.append(own)
            return
        if queued:
            pending[loop.time, loop.microstep + 1] = own
        delay = minimum + checked_delay(action, extra_delay)
        time, microstep = (loop.time + delay, 0) if delay else (loop.time, loop.microstep + 1)
        if unspaced and (time, microstep) not in pending:
            pending[time, microstep] = entry = [fire, value, action]
            push(events, (time, microstep, loop.number(), entry))
        else:
            loop.schedule_action(action, time, microstep, value)

    def schedule_physical(extra_delay=0, value=None):
        loop.schedule_physical(action, checked_delay(action, extra_delay), value)

    action.fire = fire
    action.schedule = schedule_physical if action.physical else schedule


def checked_delay(action, delay):
    """A delay that a reaction asks for, as an int.

    Raises:
        TypeError, ValueError: it is no delay.
    """
    try:
        delay = index(delay)
    except TypeError:
        message = f"Action {action.path} is scheduled {delay!r} from now: a delay is a whole number of nanoseconds, such as MSEC(10)"
        raise TypeError(message) from None
    if delay < 0:
        raise ValueError(f"Action {action.path} is scheduled {delay} ns from now: a delay is 0 or more")
    return delay


def _load_watchdog(loop, watchdog):
    targets = _indices(loop, watchdog)

    def fire(_):
        watchdog.is_present = True
        loop.present.append(watchdog)
        for target in targets:
            heappush(loop.ready, target)

    def start(extra=0):
        watchdog.deadline = loop.time + watchdog.timeout + extra

    def stop():
        watchdog.deadline = None

    watchdog.fire, watchdog.start, watchdog.stop = fire, start, stop


def _load_timers(loop):
    for instance in loop.top.walk():
        for timer in instance.timers.values():
            timer.fire = _timer(loop, timer)


def _timer(loop, timer):
    ready, push, targets, period = loop.ready, heappush, _indices(loop, timer), timer.period
    events = loop.events

    def fire(entry):
        for target in targets:
            push(ready, target)
        if period:
            push(events, (loop.time + period, 0, loop.number(), entry))

    return fire


def timer_entry(timer):
    """The event of a timer; it is its own argument, so that it can come again."""
    entry = [timer.fire, None, timer]
    entry[1] = entry
    return entry


# ---- reactions


def _callable(loop, reaction):
    call = prepared(loop, reaction)
    return _in_modes(reaction.modes, call) if reaction.modes else call


def prepared(loop, reaction):
    """The function that runs a reaction, whether its modes are active or not."""
    ordinary, late, tardy = bodies(loop, reaction)
    for effect in reaction.effects:
        if isinstance(effect, Transition):
            effect.set = _transition(loop, effect.mode, effect.history)
    call = ordinary
    if late:
        call = _unless_late(loop, reaction.deadline, call, late)
    roots = [loop.wiring.root(port) for port in reaction.effects if isinstance(port, Port)]
    if any(connection.convert for root in roots for _, connection in loop.wiring.forwards.get(root, ())):
        call = _before(call, loop.cross)
    if reaction.instance.federate:
        call = federates.around(loop, reaction, call, tardy)
    if loop.trace:
        call = loop.trace.around(loop, reaction, call)
    if loop.before_reaction:
        call = _after(loop.before_reaction, call)
    return call


def bodies(loop, reaction):
    """(the reaction, its handler of a missed deadline or None, that of tardy values or None), to be called without arguments."""
    arguments = tuple(_argument(loop, argument) for argument in reaction.arguments)

    def body(function):
        # A method is quicker to call than a partial.
        own = reaction.instance.object
        return partial(function, own, *arguments) if arguments else MethodType(function, own)

    ordinary = body(reaction.function)
    if reaction.mutable:
        ordinary = _with_copies([port for element in reaction.mutable for port in channels(element)], ordinary)
    late = body(reaction.deadline.function) if reaction.deadline else None
    if reaction.deadline and hasattr(reaction.instance.object, "check_deadline"):
        ordinary = _with_deadline(reaction, ordinary, late)
    return ordinary, late, body(reaction.tardy) if reaction.tardy else None


def _with_deadline(reaction, call, late):
    """A reaction that may ask for its deadline while it runs."""
    own = reaction.instance.object

    def with_deadline():
        own.__deadline__ = reaction.deadline, late
        try:
            call()
        finally:
            own.__deadline__ = None

    return with_deadline


def _transition(loop, mode, history):
    def set(history=history):
        loop.transitions[mode.instance] = (mode, history)

    return set


def _argument(loop, argument):
    if isinstance(argument, Port):
        return loop.wiring.root(argument)
    if isinstance(argument, Contained):
        return Contained({name: _argument(loop, port) for name, port in vars(argument).items()})
    if type(argument) is list:  # a bank
        return [_argument(loop, one) for one in argument]
    return argument


def _with_copies(ports, call):
    def with_copies():
        originals = [port.value for port in ports]
        for port in ports:
            if port.is_present:
                port.value = copy.deepcopy(port.value)
        try:
            call()
        finally:
            for port, original in zip(ports, originals):
                port.value = original

    return with_copies


def _unless_late(loop, deadline, call, late):
    def unless_late():
        limit = deadline.limit
        (late if limit == 0 or loop.physical() > loop.time + limit else call)()

    return unless_late


def _after(first, call):
    def after():
        first()
        call()

    return after


def _before(call, last):
    def before():
        call()
        last()

    return before


def _in_modes(modes, call):
    if len(modes) == 1:
        (only,) = modes

        def in_mode():
            if only.active:
                call()

        return in_mode

    def in_modes():
        if all(mode.active for mode in modes):
            call()

    return in_modes
