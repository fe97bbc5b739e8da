"""The micro benchmarks as reactors. Each function gives the topmost reactor and what gives the checksum after the run."""

from reactor import STARTUP, Action, Input, Output, Reactor, reaction

from benchmarks.savina.work import Random, complement, sine


class Ping(Reactor):
    back = Input()
    hit = Output()
    next = Action()

    def __init__(self, pings):
        self.pings, self.returned = pings, 0

    @reaction(STARTUP, next, effects=hit)
    def begin(self):
        self.hit.set()

    @reaction(back, effects=next)
    def take(self):
        self.returned += 1
        if self.returned < self.pings:
            self.next.schedule()


class Pong(Reactor):
    hit = Input()
    back = Output()

    @reaction(hit, effects=back)
    def give_back(self):
        self.back.set()


class PingPong(Reactor):
    def __init__(self, pings):
        self.ping, self.pong = Ping(pings), Pong()
        self.connect(self.ping.hit, self.pong.hit)
        self.connect(self.pong.back, self.ping.back)


def ping_pong(pings):
    top = PingPong(pings)
    return top, lambda: top.ping.returned


class Producer(Reactor):
    out = Output()
    next = Action()

    def __init__(self, messages):
        self.left = messages

    @reaction(STARTUP, next, effects=[out, next])
    def produce(self):
        self.out.set()
        self.left -= 1
        if self.left:
            self.next.schedule()


class Counter(Reactor):
    inp = Input()

    def __init__(self):
        self.count = 0

    @reaction(inp)
    def increment(self):
        self.count += 1


class Counting(Reactor):
    def __init__(self, messages):
        self.producer, self.counter = Producer(messages), Counter()
        self.connect(self.producer.out, self.counter.inp)


def counting(messages):
    top = Counting(messages)
    return top, lambda: top.counter.count


class Worker(Reactor):
    inp = Input()

    def __init__(self):
        self.count = 0

    @reaction(inp)
    def work(self):
        sine()
        self.count += 1


class ForkJoin(Reactor):
    def __init__(self, messages, actors):
        self.producer, self.workers = Producer(messages), [Worker() for _ in range(actors)]
        self.connect(self.producer.out, [worker.inp for worker in self.workers])


def fork_join(messages, actors):
    top = ForkJoin(messages, actors)
    return top, lambda: sum(worker.count for worker in top.workers)


def creation(actors):
    return fork_join(1, actors)


class Link(Reactor):
    inp = Input()
    out = Output()

    def __init__(self, number, hops):
        self.number, self.hops, self.reached = number, hops, False

    @reaction(STARTUP, effects=out)
    def begin(self):
        if self.number == 0:
            self.pass_on(self.hops)

    @reaction(inp, effects=out)
    def take(self):
        self.pass_on(self.inp.value)

    def pass_on(self, left):
        if left:
            self.out.set(left - 1)
        else:
            self.reached = True


class Ring(Reactor):
    def __init__(self, actors, hops):
        self.links = [Link(number, hops) for number in range(actors)]
        self.connect([link.out for link in self.links[:-1]], [link.inp for link in self.links[1:]])
        self.connect(self.links[-1].out, self.links[0].inp, after=0)


def thread_ring(actors, hops):
    top = Ring(actors, hops)
    return top, lambda: next(link.number for link in top.links if link.reached)


class Peer(Reactor):
    ping = Output(width=0)
    pinged = Input(width=0)
    pong = Output(width=0)
    ponged = Input(width=0)
    next = Action()

    def __init__(self, number, peers, pings):
        self.number, self.peers, self.left, self.random, self.count = number, peers, pings, Random(number), 0
        for port in (self.ping, self.pinged, self.pong, self.ponged):
            port.resize(peers)

    @reaction(STARTUP, next, effects=ping)
    def send(self):
        self.left -= 1
        self.ping[self.random.below(self.peers)].set()

    @reaction(pinged, effects=pong)
    def answer(self):
        for sender in self.pinged.present:
            self.count += 1
            self.pong[sender].set()

    @reaction(ponged, effects=next)
    def go_on(self):
        if self.left:
            self.next.schedule()


class Big(Reactor):
    def __init__(self, actors, pings):
        self.peers = [Peer(number, actors, pings) for number in range(actors)]
        for one in self.peers:
            for other in self.peers:
                self.connect(one.ping[other.number], other.pinged[one.number])
                self.connect(one.pong[other.number], other.ponged[one.number])


def big(actors, pings):
    top = Big(actors, pings)
    return top, lambda: sum((peer.number + 1) * peer.count for peer in top.peers)


class Mall(Reactor):
    arrive = Input(width=0)
    mate = Output(width=0)
    answer = Action()

    def __init__(self, chameneos, meetings):
        self.left, self.waiting, self.mates = meetings, None, []
        self.arrive.resize(chameneos)
        self.mate.resize(chameneos)

    @reaction(answer, effects=mate)
    def introduce(self):
        for number, other in self.answer.value:
            self.mate[number].set(other)

    @reaction(arrive, effects=answer)
    def pair(self):
        mates = []
        for number in self.arrive.present:
            colour = self.arrive[number].value
            if not self.left:
                break
            if self.waiting is None:
                self.waiting = number, colour
            else:
                self.left -= 1
                mates.append((number, self.waiting))
                self.waiting = None
        if mates:
            self.answer.schedule(0, mates)


class Chameneo(Reactor):
    mate = Input()
    changed = Input(width=0)
    change = Output(width=0)
    arrive = Output()

    def __init__(self, number, chameneos):
        self.number, self.colour, self.meetings = number, number % 3, 0
        self.changed.resize(chameneos)
        self.change.resize(chameneos)

    @reaction(STARTUP, effects=arrive)
    def begin(self):
        self.arrive.set(self.colour)

    @reaction(mate, effects=[change, arrive])
    def meet(self):
        number, colour = self.mate.value
        self.colour = complement(self.colour, colour)
        self.meetings += 1
        self.change[number].set(self.colour)
        self.arrive.set(self.colour)

    @reaction(changed, effects=arrive)
    def take(self):
        self.colour = self.changed[self.changed.present[0]].value
        self.meetings += 1
        self.arrive.set(self.colour)


class Chameneos(Reactor):
    def __init__(self, chameneos, meetings):
        self.mall = Mall(chameneos, meetings)
        self.chameneos = [Chameneo(number, chameneos) for number in range(chameneos)]
        for one in self.chameneos:
            self.connect(one.arrive, self.mall.arrive[one.number])
            self.connect(self.mall.mate[one.number], one.mate)
            for other in self.chameneos:
                self.connect(one.change[other.number], other.changed[one.number])


def chameneos(chameneos, meetings):
    top = Chameneos(chameneos, meetings)
    return top, lambda: sum(one.meetings for one in top.chameneos)
