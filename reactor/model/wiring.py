"""The paths of values: ports that are the same, ports that pass values on at once, and ports that pass them on later."""

from collections import defaultdict
from itertools import pairwise

from reactor.model.elements import EVENTS, Port
from reactor.model.levels import CausalityError


class Wiring:
    """The connections of a program, flattened.

    An input that has one source, at the same tag, is that source: there is one Port for both, the root. A port with several sources
    (in different modes, say) is a root of its own, and its sources pass their values on to it.

    Attributes:
        forwards: {root: [(a root that gets its values at the same tag, the connection)]}
        delays: {root: [(connection, root of its target)]} of connections with a delay and physical ones.
        readers: {trigger: reactions that it triggers}, of root Ports, Actions, Timers, Watchdogs and the names of events.
    """

    def __init__(self, top):
        self.reactions = [reaction for instance in top.walk() for reaction in instance.reactions]
        self.connections = [connection for instance in top.walk() for connection in instance.connections]
        self._alias = {}
        self.forwards, self.delays = defaultdict(list), defaultdict(list)
        self._join(top)
        for port in self._alias:
            self.root(port)  # refuses circles, also where no reaction is
        self.readers = defaultdict(list)
        for reaction in self.reactions:
            for trigger in dict.fromkeys(map(self.root, reaction.triggers)):
                self.readers[trigger].append(reaction)

    def root(self, element):
        """The Port that stands for a Port; any other element itself."""
        first = self._alias.get(element)
        if first is None or first not in self._alias:
            return element if first is None else first
        seen = []
        while (source := self._alias.get(element)) is not None:
            seen.append(element)
            if len(seen) > len(self._alias):
                circle = list(dict.fromkeys(seen[seen.index(element) :]))[::-1]
                raise self._circle([*circle, circle[0]])
            element = source
        return element

    def _circle(self, ports):
        """The error for ports of which each is connected to the next one, and the last one is the first."""
        declared_at = {connection.target: connection.site for connection in self.connections}
        path = [port.path for port in ports]
        rows = [f"  {one.path} is connected to {other.path} ({declared_at[other]})" for one, other in pairwise(ports)]
        head = f"Connections in a circle without any reaction: {' -> '.join(path)}"
        return CausalityError("\n".join([head, *rows, "Take one of these connections out."]), path)

    def reached(self, root):
        """The roots that get what is set on `root` at the same tag, `root` itself included."""
        found, ahead = [root], [root]
        while ahead:
            for target, _ in self.forwards.get(ahead.pop(), ()):
                if target not in found:
                    found.append(target)
                    ahead.append(target)
        return found

    def _join(self, top):
        written = {effect for reaction in self.reactions for effect in reaction.effects if isinstance(effect, Port)}
        sources = defaultdict(list)
        for connection in self.connections:
            sources[connection.target].append(connection)
        for target, found in sources.items():
            (first, *others) = found
            at_once = first.delay is None and not first.physical and first.convert is None
            if not others and at_once and not target.mutable and target not in written:
                self._alias[target] = first.source
        for target, found in sources.items():
            if target in self._alias:
                continue
            for connection in found:
                if connection.delay is None and not connection.physical:
                    self.forwards[self.root(connection.source)].append((target, connection))
                else:
                    self.delays[self.root(connection.source)].append((connection, target))

    def precedences(self):
        """{reaction: [(an earlier reaction, why)]} by what flows at the same tag."""
        reads = defaultdict(list)
        for reaction in self.reactions:
            for element in (*reaction.triggers, *reaction.sources):
                if isinstance(element, Port):
                    reads[self.root(element)].append(reaction)
        before = defaultdict(list)
        for writer in self.reactions:
            for effect in writer.effects:
                if isinstance(effect, Port):
                    for root in self.reached(self.root(effect)):
                        for reader in reads.get(root, ()):
                            if reader is not writer and not _never_together(writer, reader):
                                before[reader].append((writer, effect))
        return before


def _never_together(one, other):
    """Whether two reactions lie in different modes of one reactor."""
    modes = {mode.instance: mode for mode in one.modes}
    return any(modes.get(mode.instance, mode) is not mode for mode in other.modes)


def triggers_of(reaction):
    """Names of its triggers, for people."""
    return [trigger if trigger in EVENTS else trigger.path for trigger in reaction.triggers]
