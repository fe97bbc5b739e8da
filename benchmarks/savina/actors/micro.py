"""The micro benchmarks as actors."""

from benchmarks.savina.actor import Actor
from benchmarks.savina.work import Random, complement, sine


class Ping(Actor):
    def __init__(self, pings):
        self.left, self.returned = pings, 0

    def meet(self, pong):
        self.pong = pong

    def begin(self):
        self.left -= 1
        self.send(self.pong, "hit")

    def back(self):
        self.returned += 1
        if self.left:
            self.begin()
        else:
            self.finish(self.returned)


class Pong(Actor):
    def __init__(self, ping):
        self.ping = ping

    def hit(self):
        self.send(self.ping, "back")


def ping_pong(system, pings):
    ping = system.spawn(Ping, pings)
    system.ask(ping, "meet", system.spawn(Pong, ping))
    system.send(ping, "begin")
    return system.result()


class Counter(Actor):
    def __init__(self):
        self.count = 0

    def increment(self):
        self.count += 1

    def end(self):
        self.finish(self.count)


class Producer(Actor):
    def __init__(self, counter, messages):
        self.counter, self.messages = counter, messages

    def begin(self):
        for _ in range(self.messages):
            self.send(self.counter, "increment")
        self.send(self.counter, "end")


def counting(system, messages):
    system.send(system.spawn(Producer, system.spawn(Counter), messages), "begin")
    return system.result()


class Worker(Actor):
    def __init__(self):
        self.count = 0

    def work(self):
        sine()
        self.count += 1

    def worked(self):
        return self.count


def fork_join(system, messages, actors):
    workers = [system.spawn(Worker) for _ in range(actors)]
    for _ in range(messages):
        for worker in workers:
            system.send(worker, "work")
    return sum(system.ask_all([(worker, "worked") for worker in workers]))


def creation(system, actors):
    workers = []
    for _ in range(actors):
        worker = system.spawn(Worker)
        system.send(worker, "work")
        workers.append(worker)
    return sum(system.ask_all([(worker, "worked") for worker in workers]))


class Link(Actor):
    def __init__(self, number):
        self.number = number

    def meet(self, after):
        self.after = after

    def token(self, left):
        if left:
            self.send(self.after, "token", left - 1)
        else:
            self.finish(self.number)


def thread_ring(system, actors, hops):
    links = [system.spawn(Link, number) for number in range(actors)]
    system.ask_all([(link, "meet", after) for link, after in zip(links, links[1:] + links[:1])])
    system.send(links[0], "token", hops)
    return system.result()


class Peer(Actor):
    def __init__(self, number, pings):
        self.number, self.left, self.random, self.pinged = number, pings, Random(number), 0

    def meet(self, peers, sink):
        self.peers, self.sink = peers, sink

    def next(self):
        if self.left:
            self.left -= 1
            self.send(self.peers[self.random.below(len(self.peers))], "ping", self.number)
        else:
            self.send(self.sink, "done")

    def ping(self, sender):
        self.pinged += 1
        self.send(self.peers[sender], "next")

    def counted(self):
        return (self.number + 1) * self.pinged


class Sink(Actor):
    def __init__(self, expected):
        self.expected = expected

    def done(self):
        self.expected -= 1
        if not self.expected:
            self.finish(None)


def big(system, actors, pings):
    sink = system.spawn(Sink, actors)
    peers = [system.spawn(Peer, number, pings) for number in range(actors)]
    system.ask_all([(peer, "meet", peers, sink) for peer in peers])
    for peer in peers:
        system.send(peer, "next")
    system.result()
    return sum(system.ask_all([(peer, "counted") for peer in peers]))


class Mall(Actor):
    def __init__(self, meetings):
        self.left, self.waiting, self.faded, self.total = meetings, None, 0, 0

    def meet(self, chameneos):
        self.chameneos = chameneos

    def arrive(self, number, colour):
        if not self.left:
            self.send(self.chameneos[number], "fade")
        elif self.waiting is None:
            self.waiting = number, colour
        else:
            self.left -= 1
            first, self.waiting = self.waiting, None
            self.send(self.chameneos[number], "mate", *first)

    def count(self, meetings):
        self.faded += 1
        self.total += meetings
        if self.faded == len(self.chameneos):
            self.finish(self.total)


class Chameneo(Actor):
    def __init__(self, number, mall):
        self.number, self.colour, self.mall, self.meetings = number, number % 3, mall, 0

    def meet(self, chameneos):
        self.chameneos = chameneos

    def begin(self):
        self.send(self.mall, "arrive", self.number, self.colour)

    def mate(self, number, colour):
        self.change(complement(self.colour, colour))
        self.send(self.chameneos[number], "change", self.colour)

    def change(self, colour):
        self.colour = colour
        self.meetings += 1
        self.begin()

    def fade(self):
        self.send(self.mall, "count", self.meetings)


def chameneos(system, chameneos, meetings):
    mall = system.spawn(Mall, meetings)
    all_of_them = [system.spawn(Chameneo, number, mall) for number in range(chameneos)]
    system.ask_all([(actor, "meet", all_of_them) for actor in (mall, *all_of_them)])
    for one in all_of_them:
        system.send(one, "begin")
    return system.result()
