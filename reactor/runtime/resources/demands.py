"""The numbers of resource demands, as the supervisor gives them."""

from reactor import _core
from reactor.runtime.resources.reservations import Reservations


class Demands:
    """Arguments: tell, called with a text for the user if a demand can never be met; more, how the user gets more resources; devices, the machine's."""

    def __init__(self, tell, more, devices):
        self._tell, self._more = tell, more
        self._numbers = {(frozenset({("CPU", _core.UNIT)}), None): _core.ONE_CPU, (frozenset(), None): _core.NOTHING}
        self.settings = [None]  # what task workers are born with, by number; the demands of tasks name one
        self.unused = set()  # settings of drivers that have ended
        self.reservations = Reservations(self.number, _core.reply, devices)

    def number(self, resources, whose, within=None, setting=None):
        """Number of the demand {name: amount in 1/10000}, `within` the reservation of that key. Tells the driver once if it can
        never be met."""
        index = self._index_of(setting)
        if within is not None:
            return self.reservations.demand_within(within, resources, index)
        amounts = frozenset((k, v) for k, v in resources.items() if v)
        key = (amounts, setting)
        if key not in self._numbers:
            parts = [(k, _core.register_resource(k, 0), v) for k, v in sorted(amounts)]
            self._numbers[key] = _core.demand([(index_of, v) for _, index_of, v in parts], index)
            lacking = [
                f"{v / _core.UNIT:g} of {k}, of which there are {_core.resource_at(index_of).total / _core.UNIT:g}"
                for k, index_of, v in parts
                if v > _core.resource_at(index_of).total
            ]
            if lacking:
                self._tell(
                    f"{whose} asks for {'; '.join(lacking)}: it will wait for ever. Ask for less, or {self._more}"
                )
        return self._numbers[key]

    def _index_of(self, setting):
        """The index of a setting in `settings`. A new one takes the index of an unused one, because demands name it and the number of indices is limited."""
        if setting in self.settings:
            return self.settings.index(setting)
        for index, old in enumerate(self.settings):
            if old in self.unused:
                self.unused.discard(old)
                self.settings[index] = setting
                for amounts, of in [key for key in self._numbers if key[1] == old]:
                    self._numbers[amounts, setting] = self._numbers.pop((amounts, of))
                return index
        self.settings.append(setting)
        return len(self.settings) - 1
