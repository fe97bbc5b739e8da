"""Reservations: amounts that are taken from the machine's resources and offered under other names until they are released.

Tasks and actors that request the offered names run inside the reservation. None of them runs before all amounts could be taken, and all of them
end when the reservation ends. Used by the supervisor, and by the driver if everything is in one process.
"""

from time import perf_counter

from reactor import _core

PENDING, MADE, RELEASED = "PENDING", "MADE", "RELEASED"


class Reservation:
    """`wanted` and `offered`: {resource: amount in 1/10000}; `facts`: the creator's dict, which `table` returns.

    The facts include "possible", False if this machine can never fulfil it, and "kind", what messages call it. They may include "devices": what each
    part of the reservation takes of numbered devices, {kind: amount}.
    """

    def __init__(self, key, facts, wanted, offered):
        self.key, self.facts, self.wanted, self.offered = key, facts, wanted, offered
        self.state = PENDING
        self.asked = perf_counter()
        self.attempts = 0  # to take what it wants
        self.ready_after = self.attempt_took = (
            0.0  # seconds from the request to its fulfilment, and of the attempt that succeeded
        )
        self.demand = None  # number of the demand `wanted`
        self.index = {}  # offered name -> index of the resource
        self.demands = {}  # ({(offered name, amount)}, setting) -> number of that demand
        self.kind = facts.get("kind", "reservation")
        self.waiters = []  # (value when made, value when released, whether the latter is an error, where the answer goes)


class Reservations:
    """Arguments: demand, function from {name: amount} and the asker's name to the number of the demand; reply, function (where, value, is_error);
    devices, the machine's reactor.runtime.resources.devices.Devices."""

    def __init__(self, demand, reply, devices):
        self._demand, self._reply, self._devices = demand, reply, devices
        self.all = {}  # key -> Reservation, released ones included
        self._open = {}  # those of them that wait for resources: to be made, or, after their release, to be given back
        self._retired = {}  # number of a demand -> key of the released reservation to which it belongs

    def add(self, key, facts, wanted, offered):
        r = self.all[key] = self._open[key] = Reservation(key, facts, wanted, offered)
        r.demand = self._demand(wanted, f"a {r.kind}")
        for name in offered:
            self._index(r, name)

    def demand_within(self, key, amounts, setting=0):
        """Number of the demand {offered name: amount}. After the release of the reservation, this demand is never fulfilled. `setting`: number of the
        setting of its task workers."""
        r = self.all[key]
        wanted = (frozenset(amounts.items()), setting)
        number = r.demands.get(wanted)
        if number is None:
            if r.state == RELEASED:
                number = _core.demand([])
                self._retire(number, key)
            else:
                wants = [(self._index(r, name), amount) for name, amount in sorted(amounts.items())]
                number = _core.demand(wants, setting)
            r.demands[wanted] = number
        return number

    def _index(self, r, name):
        """Index of the resource, registered at the first time. Of one that the reservation does not offer there is never any: what asks for it waits
        until the release."""
        if name not in r.index:
            r.index[name] = _core.register_resource(name, 0, name.startswith("CPU_"))
        return r.index[name]

    def retired(self, number):
        """The key of the released reservation to which the demand belongs, or None."""
        return self._retired.get(number)

    def _retire(self, number, key):
        self._retired[number] = key
        _core.retire_demand(number)

    def open(self):
        """The number of reservations that wait for resources: to be made, or, after their release, to be given back."""
        return len(self._open)

    def advance(self):
        """Makes the reservations that are possible now, and gives back amounts that are not used any more. Called when resources became free."""
        for r in list(self._open.values()):
            if r.state == RELEASED:
                self._settle(r)
        for r in list(self._open.values()):
            if r.state == PENDING and r.facts["possible"]:
                self._attempt(r)

    def _attempt(self, r):
        begun = perf_counter()
        r.attempts += 1
        if not _core.take_resources(r.demand):
            return
        if not self._devices.reserve(r.key, r.facts.get("devices", ())):
            _core.give_resources(r.demand)
            return
        r.state = MADE
        del self._open[r.key]
        for name, amount in r.offered.items():
            _core.add_resource(r.index[name], amount)
        end = perf_counter()
        r.ready_after, r.attempt_took = end - r.asked, end - begun
        self._answer(r)

    def when_decided(self, key, reserved, released, is_error, where):
        """Replies `reserved` when the reservation is made, or `released` when it is released or unknown."""
        r = self.all.get(key)
        if r is None:
            self._reply(where, released, is_error)
            return
        r.waiters.append((reserved, released, is_error, where))
        if r.state != PENDING:
            self._answer(r)

    def release(self, key):
        """Ends the reservation: nothing more starts in it. Returns it if something may still run in it, else None."""
        r = self.all.get(key)
        if r is None or r.state == RELEASED:
            return None
        was, r.state = r.state, RELEASED
        self._open[key] = r
        for demand in r.demands.values():
            self._retire(demand, key)
        if was == PENDING:
            self._forget(r)
        self._answer(r)
        return r

    def _settle(self, r):
        there = [_core.resource_at(r.index[name]) for name in r.offered]
        if all(amount.free == amount.total for amount in there):
            _core.give_resources(r.demand)
            self._forget(r)

    def _forget(self, r):
        del self._open[r.key]
        self._devices.release(r.key)
        for index in r.index.values():
            _core.forget_resource(index)
        r.index = {}

    def _answer(self, r):
        for reserved, released, is_error, where in r.waiters:
            if r.state == MADE:
                self._reply(where, reserved, False)
            else:
                self._reply(where, released, is_error)
        r.waiters = []

    def table(self, key=None):
        """[(key, facts, state, (attempts, seconds until it was made, seconds of the attempt that made it))] of all, or of that with this key."""
        these = self.all.values() if key is None else [self.all[key]] if key in self.all else []
        return [(r.key, r.facts, r.state, (r.attempts, r.ready_after, r.attempt_took)) for r in these]
