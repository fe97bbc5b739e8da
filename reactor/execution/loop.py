"""The executor: one loop over tags.

`events` is a heap of (time, microstep, number, entry), an entry being [what to call, its argument, the element]; `ready` is a heap of
the indices of reactions that are triggered at the current tag. An index is pushed once for each trigger; since indices come out in
order, and no reaction triggers one before it, equal ones come out one after the other. `soon` has entries of the next
microstep, which need no heap; those in `events` that have the same tag come first.
"""

import itertools
import os
import threading
import time as clock
from collections import deque
from functools import partial
from heapq import heappop, heappush

from reactor.execution import loading, membership, modes
from reactor.execution.errors import ReactionError
from reactor.model.elements import DEFER, DROP, UPDATE
from reactor.model.time import FOREVER, Tag

_NEVER_STOP = (FOREVER, 0)


class Loop:
    """Executes a program in this process.

    Arguments:
        top: its topmost reactor (model.elements.Instance).
        plan, wiring: of reactor.declared.plan_of.
        timeout: nanoseconds of logical time after which the program ends; None: when nothing is left to do.
        fast: do not wait for the physical clock.
        keepalive: wait for physical actions when nothing else is left; None: if the program has one.
        trace: a tracing.Trace to write to, or None.
        before_reaction: called before each reaction, or None.
    """

    def __init__(
        self, top, plan, wiring, *, timeout=None, fast=False, keepalive=None, trace=None, before_reaction=None
    ):
        self.top, self.plan, self.wiring = top, plan, wiring
        self.timeout, self.fast, self.trace, self.before_reaction = timeout, fast, trace, before_reaction
        self.events, self.soon, self.ready, self.present, self.later = [], [], [], [], []
        self.found = []  # lists of the channels of multiports that are present, those with any; see loading
        self.time = self.microstep = 0
        self.number = itertools.count().__next__
        self.start = self.tag_reached = 0
        self.stop_tag = _NEVER_STOP
        self.inbox, self.wake = deque(), threading.Event()
        self.transitions, self.started = {}, set()  # {reactor: Transition}, reactions to startup that were triggered
        self.running_tags = self.waiting = (
            False  # it executes tags; it waits for the physical clock or for something from outside
        )
        self.federate, self.leaving = None, []  # the Federate whose reaction runs, and those that leave at this tag
        self.tardy = {}  # {port: intended tag of its value}
        self.crossing = {}  # {port that the reaction which runs has set: what gets a converted value of it}; see loading
        self.federation = f"federation-{os.getpid()}-{os.urandom(4).hex()}"
        self._offset = clock.time_ns() - clock.monotonic_ns()
        actions = [action for instance in top.walk() for action in instance.actions.values()]
        self.watchdogs = [watchdog for instance in top.walk() for watchdog in instance.watchdogs.values()]
        self.keepalive = any(action.physical for action in actions) if keepalive is None else keepalive
        self.reactions = sorted(wiring.reactions, key=lambda reaction: reaction.index)
        self.calls = loading.load(self)
        for instance in top.children:
            if instance.federate:
                instance.federate.fire = partial(membership.join, self, instance.federate)

    # ---- what reactions ask

    def tag(self):
        return Tag(self.time, self.microstep)

    def elapsed(self):
        """Nanoseconds of logical time since the start."""
        return self.time - self.start

    def physical(self):
        """The physical clock, in nanoseconds since 1970; it never goes back."""
        return clock.monotonic_ns() + self._offset

    def request_stop(self):
        """Ends the program one microstep from now, with the reactions to shutdown."""
        if threading.get_ident() == self._thread:
            self.stop_tag = min(self.stop_tag, (self.time, self.microstep + 1))
        else:
            self.inbox.append((None, 0, None))
            self.wake.set()

    def stop(self):
        """Ends the federate whose reaction calls this; in a program that has none, the program."""
        if self.federate:
            membership.leave(self, self.federate)
        else:
            self.request_stop()

    def deadline_changed(self, deadline):
        """A reaction gave its Handler of a deadline another limit."""

    def maxwait_changed(self, federate):
        """A reaction gave its Federate another `maxwait`."""

    def converter(self, connection):
        """The function that converts the values of a connection, or None."""
        return connection.convert

    # ---- events

    def insert(self, time, microstep, entry):
        heappush(self.events, (time, microstep, self.number(), entry))

    def gather(self):
        """Puts what comes at the next microstep into `events`."""
        for entry in self.soon:
            self.insert(self.time, self.microstep + 1, entry)
        self.soon.clear()

    def schedule_action(self, action, time, microstep, value):
        """Puts an event of `action` at this tag, or where its minimum spacing and earlier events allow."""
        pending = action.pending
        if action.spacing is None:
            while (time, microstep) in pending:
                microstep += 1
        elif action.last is not None:
            before = action.last
            earliest = (before[0] + action.spacing, 0) if action.spacing else (before[0], before[1] + 1)
            if (time, microstep) < earliest:
                if action.policy == DROP:
                    return
                waiting = pending.get(before)
                if waiting is not None and action.policy == UPDATE:
                    waiting[0] = _nothing
                    del pending[before]
                elif waiting is not None and action.policy != DEFER:
                    waiting[1] = value
                    return
                else:
                    time, microstep = earliest
        action.last = (time, microstep)
        pending[time, microstep] = entry = [action.fire, value, action]
        self.insert(time, microstep, entry)

    def schedule_physical(self, action, extra, value):
        """Called from any thread."""
        self.inbox.append((action, self.physical() + action.delay + extra, value))
        self.wake.set()

    def _take_inbox(self):
        while self.inbox:
            action, time, value = self.inbox.popleft()
            if action is None:
                self.stop_tag = min(self.stop_tag, (self.time, self.microstep + 1))
                continue
            time, microstep = (time, 0) if time > self.time else (self.time, self.microstep + 1)
            if not all(mode.active for mode in action.modes):
                continue
            if hasattr(action, "pending"):
                self.schedule_action(action, time, microstep, value)
            else:
                self.insert(time, microstep, [action.fire, value, action])

    # ---- running

    def run(self):
        """Runs the program to its end.

        Raises:
            ReactionError: a reaction raised; the program ended there.
        """
        self._thread = threading.get_ident()
        self._begin()
        self.running_tags = True
        self._run()

    def _begin(self):
        self.time = self.start = self.tag_reached = self.physical()
        if self.timeout is not None:
            self.stop_tag = (self.start + self.timeout, 0)
        if self.trace:
            self.trace.begin(self)
        self.insert(self.start, 0, [_nothing, None, None])
        modes.begin(self)

    def _run(self):
        events, soon, present, later, inbox = self.events, self.soon, self.present, self.later, self.inbox
        found, tardy, leaving, watchdogs = self.found, self.tardy, self.leaving, self.watchdogs
        crossing, transitions, react = self.crossing, self.transitions, self.react
        never_waits = self.fast and not watchdogs
        while True:
            if soon and not inbox and not watchdogs:
                tag = self.time, self.microstep + 1
            else:
                tag = events[0][:2] if never_waits and events and not soon and not inbox else _NEVER_STOP
            last = tag >= self.stop_tag  # also if there is no tag yet
            if last:
                self.gather()
                tag = self._next()
                last = tag == self.stop_tag  # what a reaction asks for comes later
            time, microstep = self.time, self.microstep = tag
            while events and events[0][0] == time and events[0][1] == microstep:
                entry = heappop(events)[3]
                entry[0](entry[1])
            if soon:
                for entry in soon:
                    entry[0](entry[1])
                soon.clear()
            if last:
                modes.fire_shutdown(self)
            if crossing:
                self.cross()
            react()
            for element in present:
                element.is_present = False
            if later:
                self._send_later()
            present.clear()
            if found:
                for channels in found:
                    channels.clear()
                found.clear()
            if tardy:
                tardy.clear()
            if last:
                return
            if leaving:
                membership.remove_left(self)
            if transitions:
                self.gather()
                modes.switch(self)

    def react(self):
        """Runs what is ready, and what that makes ready, at the current tag."""
        ready, calls, pop = self.ready, self.calls, heappop
        last = -1
        try:
            while ready:
                index = pop(ready)
                if index != last:
                    last = index
                    calls[index]()
        except Exception as error:
            raise ReactionError(self.reactions[last], self.time - self.start, self.microstep, error) from error

    def cross(self):
        """Hands on, converted, what has been set of ports whose values are converted on their way."""
        while self.crossing:
            port, targets = self.crossing.popitem()
            for convert, arrive in targets:
                arrive(convert(port.value))

    def _send_later(self):
        for root, delays in self.later:
            value = root.value
            for connection, convert, arrive in delays:
                if not all(mode.active for mode in connection.modes):
                    continue
                if connection.physical:
                    time = max(self.physical() + (connection.delay or 0), self.time)
                    time, microstep = (time, 0) if time > self.time else (time, self.microstep + 1)
                else:
                    delay = connection.delay
                    time, microstep = (self.time + delay, 0) if delay else (self.time, self.microstep + 1)
                arriving = convert(value) if convert else value
                if time == self.time:
                    self.soon.append([arrive, arriving, connection])
                else:
                    self.insert(time, microstep, [arrive, arriving, connection])
        self.later.clear()

    def _next(self):
        """The next tag, as soon as it is to be executed."""
        while True:
            if self.inbox:
                self._take_inbox()
            if self.events and (self.events[0][0], self.events[0][1]) <= self.stop_tag:
                tag = self.events[0][:2]
            elif self.stop_tag != _NEVER_STOP and (self.events or self.keepalive or self._armed()):
                tag = self.stop_tag
            elif not self.keepalive and not self._armed():
                tag = self.stop_tag = min(self.stop_tag, (self.time, self.microstep + 1))
            else:
                tag = _NEVER_STOP
            if self.watchdogs and self._watch():
                continue
            waits = tag == _NEVER_STOP or (tag[0] > self.time and (not self.fast or not self.events))
            if not waits or self._wait_until(tag[0]):
                self.tag_reached = self.physical() if tag[0] != self.time else self.tag_reached
                return tag

    def _wait_until(self, time):
        """Whether `time` came without anything else happening before it."""
        if self.fast and time != FOREVER and not self.keepalive:
            return not self._watch()
        limit = min((w.deadline for w in self.watchdogs if w.deadline), default=FOREVER)
        left = (min(time, limit) - self.physical()) / 1e9
        if left > 0 and not self.inbox:
            self.waiting = True
            self.wake.wait(min(left, 3600.0))
            self.waiting = False
        self.wake.clear()
        return not self._watch() and not self.inbox and time <= self.physical()

    def _armed(self):
        return any(watchdog.deadline for watchdog in self.watchdogs)

    def _watch(self):
        """Runs the handlers of the watchdogs that have expired."""
        expired = [w for w in self.watchdogs if w.deadline and w.deadline <= self.physical()]
        for watchdog in expired:
            watchdog.deadline = None
            watchdog.handler(watchdog.instance.object, *watchdog.arguments)
            self.inbox.append((watchdog, self.physical(), None))
        return bool(expired)

    def fire_event(self, name, reactions):
        """Makes ready those of `reactions` that the event `name` triggers."""
        for reaction in reactions:
            if name in reaction.triggers:
                heappush(self.ready, reaction.index)


def _nothing(_):
    pass
