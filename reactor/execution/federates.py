"""Tardy values between federates.

All federates share one loop over tags. In decentralised coordination, a federate with a `maxwait` waits for an input at most for this time, by the
physical clock, and then continues. Here a value is tardy if it is set later than that, and the receiving federate has events of its own until then.
A tardy value arrives one microstep later, with its intended tag, and handlers of tardy values run.
"""

from reactor.model.elements import Action, Connection, Port, Timer


def crossing(loop, connection):
    """(what a value becomes when it is sent, or None; what is called with that when it arrives) of a connection between federates."""
    there, target, convert = connection.federate, connection.target, loop.converter(connection)

    def deliver(value):
        if there.present:
            target.set(value)

    if there.maxwait is None or loop.fast or connection.physical:
        return convert, deliver
    longer = connection.wait or _limit(loop, target)

    def send(value):
        return convert(value) if convert else value, loop.physical()

    def arrive(sent):
        value, when = sent
        wait = there.maxwait + longer
        if when > loop.time + wait and _went_on(loop, there, when - wait):
            loop.insert(loop.time, loop.microstep + 1, [arrive_tardy, (value, loop.tag()), connection])
        else:
            deliver(value)

    def arrive_tardy(late):
        value, intended = late
        loop.tardy.setdefault(target, intended)
        deliver(value)

    return send, arrive


def _limit(loop, port):
    """The longest time that reactions to a port ask to wait for it."""
    return max((reaction.tardy_limit for reaction in loop.wiring.readers.get(port, ())), default=0)


def _went_on(loop, federate, until):
    """Whether a federate had something of its own to do from the current tag on until this time."""
    if federate.reached == (loop.time, loop.microstep):
        return True
    ready = (loop.reactions[index] for index in loop.ready)
    if any(reaction.instance.federate is federate and any(map(_is_own, reaction.triggers)) for reaction in ready):
        return True
    for time, _, _, entry in loop.events:
        if time <= until and not isinstance(entry[2], Connection) and federate_of(entry[2]) is federate:
            return True
    return False


def _is_own(trigger):
    return isinstance(trigger, Timer) or (isinstance(trigger, Action) and trigger.is_present)


def federate_of(element):
    """The Federate that the event of an element is for, or None."""
    if element is None:
        return None
    return (element.target if isinstance(element, Connection) else element).instance.federate


def around(loop, reaction, call, tardy):
    """The function that runs a reaction of a federate: `tardy` if a value that it reads is, and it has a handler for that."""
    federate, reads, written = reaction.instance.federate, _reads(loop, reaction), writes(loop, reaction)

    def inside():
        loop.federate = federate
        federate.reached = loop.time, loop.microstep
        late = loop.tardy and intended(loop, reads)
        if not late:
            call()
        elif tardy:
            tardy()
        else:
            call()
            hand_on(loop, written, late)

    return inside


def _reads(loop, reaction):
    return [loop.wiring.root(port) for port in (*reaction.triggers, *reaction.sources) if isinstance(port, Port)]


def writes(loop, reaction):
    """The ports of the same federate that have what a reaction sets."""
    wiring, federate = loop.wiring, reaction.instance.federate
    roots = [wiring.root(port) for port in reaction.effects if isinstance(port, Port)]
    return [port for root in roots for port in wiring.reached(root) if port.instance.federate is federate]


def intended(loop, reads):
    """The earliest intended tag of the tardy values in these ports, or None."""
    return min((loop.tardy[port] for port in reads if port.is_present and port in loop.tardy), default=None)


def hand_on(loop, written, tag):
    """Makes tardy what a reaction has set from tardy values without handling that."""
    for port in written:
        if port.is_present:
            loop.tardy.setdefault(port, tag)
