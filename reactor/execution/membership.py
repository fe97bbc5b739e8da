"""Federates that leave and join while the program runs."""

from heapq import heapify, heappush

from reactor.execution import loading, modes
from reactor.execution.federates import federate_of
from reactor.model.elements import SHUTDOWN
from reactor.model.time import Tag


def leave(loop, federate):
    """Ends a federate one microstep from now, with its reactions to shutdown."""
    if federate.present and federate.leaves is None:
        federate.leaves = loop.time, loop.microstep + 1
        loop.insert(*federate.leaves, [lambda _: _shut_down(loop, federate), None, None])


def _shut_down(loop, federate):
    loop.leaving.append(federate)
    for reaction in loop.wiring.readers.get(SHUTDOWN, ()):
        if reaction.instance.federate is federate and all(mode.active for mode in reaction.modes):
            heappush(loop.ready, reaction.index)


def remove_left(loop):
    """Takes away what is pending of the federates that left at this tag."""
    loop.gather()
    for federate in loop.leaving:
        federate.present, federate.leaves = False, None
        loop.events[:] = [event for event in loop.events if federate_of(event[3][2]) is not federate]
        for instance in federate.instance.walk():
            for watchdog in instance.watchdogs.values():
                watchdog.deadline = None
    heapify(loop.events)
    loop.leaving.clear()


def join(loop, federate, _=None):
    """Starts a federate that has left: with new state, its timers and its reactions to startup from the next microstep on."""
    if federate.present:
        return
    federate.present, federate.start = True, Tag(loop.time, loop.microstep + 1)
    inside = list(federate.instance.walk())
    for instance in inside:
        for port in instance.channels():
            loop.wiring.root(port).value = None
        for action in instance.actions.values():
            action.last = None
            action.pending.clear()
            loading.load_action(loop, action)
        for mode in instance.modes.values():
            mode.active, mode.started, mode.needs_reset, mode.suspended = mode.initial, False, False, []
        loop.started.difference_update(instance.reactions)
        if instance.make_state:
            instance.make_state(loop)
    modes.start(loop, inside)
