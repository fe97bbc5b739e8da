"""Assignment of numbered devices, such as GPUs, to tasks and actors."""

from reactor import _core


class Devices:
    """The machine's devices of each kind, numbered from 0, assigned as whole devices or as shares of one.

    A reservation (reactor.runtime.resources.reservations) takes its devices from the machine's, part by part. What runs inside gets devices of its part.

    Arguments: count, function from the name of a kind to the number of its devices.
    """

    def __init__(self, count):
        self._count = count
        self._free = {}  # kind -> {number: free units}
        self._parts = {}  # key of a reservation -> of each part {kind: {number: free units}}
        self._held = {}  # holder -> [(the dict that they are from, number, units)]

    def take(self, holder, amounts, within=None):
        """Assigns {kind: amount} to `holder` (hashable), until `give`: {kind: [(number, share)]}. None if not all of it is free.

        within: None, or (key, part) of a reservation; part -1 is any part.
        """
        taken, shown = [], {}
        for kind, amount in amounts.items():
            fits = [
                fit for fit in (_fit(free, round(amount * _core.UNIT)) for free in self._choice(kind, within)) if fit
            ]
            if not fits:
                _give(taken)
                return None
            _, shares = min(fits, key=lambda fit: fit[0])  # of equal ones the first
            for free, number, units in shares:
                free[number] -= units
            taken += shares
            shown[kind] = [(number, units / _core.UNIT) for _, number, units in shares]
        self._held.setdefault(holder, []).extend(taken)
        return shown

    def give(self, holder):
        """Takes back all that `holder` has."""
        _give(self._held.pop(holder, ()))

    def reserve(self, key, parts):
        """Takes devices for a reservation with these parts, {kind: amount} each. False, and nothing taken, if not all of it is free."""
        reserved = []
        for part in parts:
            taken = self.take(("reserved", key), part)
            if taken is None:
                self.give(("reserved", key))
                return False
            reserved.append(
                {kind: {n: round(share * _core.UNIT) for n, share in shares} for kind, shares in taken.items()}
            )
        self._parts[key] = reserved
        return True

    def release(self, key):
        """Ends a reservation's part in this, if it has one: nobody has any of its devices."""
        self._parts.pop(key, None)
        self.give(("reserved", key))

    def _choice(self, kind, within):
        """The free devices of a kind, of each place that they may be taken from."""
        if within is None:
            if kind not in self._free:
                self._free[kind] = dict.fromkeys(range(self._count(kind)), _core.UNIT)
            return [self._free[kind]]
        key, part = within
        parts = self._parts.get(key, ())
        return [p.get(kind, {}) for i, p in enumerate(parts) if part in (-1, i)]


def _fit(free, units):
    """(units that stay free of the device that is taken in part, [(free, number, units)]): the first devices that are whole, and for the rest of
    `units` the device of which least stays free. None if there are not enough."""
    whole = [number for number, left in free.items() if left == _core.UNIT][: units // _core.UNIT]
    rest = units % _core.UNIT
    if len(whole) < units // _core.UNIT:
        return None
    shares = [(free, number, _core.UNIT) for number in whole]
    if not rest:
        return 0, shares
    enough = [(left, number) for number, left in free.items() if number not in whole and left >= rest]
    if not enough:
        return None
    left, number = min(enough)
    return left - rest, [*shares, (free, number, rest)]


def _give(taken):
    for free, number, units in taken:
        free[number] += units
