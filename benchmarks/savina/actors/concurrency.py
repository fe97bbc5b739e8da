"""The concurrency benchmarks as actors."""

from benchmarks.savina.actor import Actor
from benchmarks.savina.actors.micro import Sink
from benchmarks.savina.work import (
    Random,
    balances_checksum,
    item,
    next_term,
    rate_of,
    request,
    spin,
    transactions,
    use_dictionary,
    use_sorted_list,
)


class Arbiter(Actor):
    def __init__(self, smokers, rounds):
        self.smokers, self.left, self.random = smokers, rounds, Random(rounds)

    def meet(self, me):
        self.me = me

    def choose(self):
        self.left -= 1
        smoker = self.smokers[self.random.below(len(self.smokers))]
        self.send(smoker, "smoke", self.me, self.random.below(1000) + 10)

    def started(self):
        if self.left:
            self.choose()
        else:
            self.finish(None)


class Smoker(Actor):
    def __init__(self, number):
        self.number, self.smoked = number, 0

    def smoke(self, arbiter, steps):
        self.send(arbiter, "started")
        self.smoked += spin(steps)

    def counted(self):
        return (self.number + 1) * self.smoked


def smokers(system, smokers, rounds):
    them = [system.spawn(Smoker, number) for number in range(smokers)]
    arbiter = system.spawn(Arbiter, them, rounds)
    system.ask(arbiter, "meet", arbiter)
    system.send(arbiter, "choose")
    system.result()
    return sum(system.ask_all([(smoker, "counted") for smoker in them]))


class Table(Actor):
    def __init__(self, philosophers):
        self.taken, self.eaten, self.sated = [False] * philosophers, 0, 0

    def meet(self, philosophers):
        self.philosophers = philosophers

    def hungry(self, number):
        left, right = number, (number + 1) % len(self.taken)
        if self.taken[left] or self.taken[right]:
            self.send(self.philosophers[number], "denied")
        else:
            self.taken[left] = self.taken[right] = True
            self.send(self.philosophers[number], "eat")

    def done(self, number):
        self.taken[number] = self.taken[(number + 1) % len(self.taken)] = False
        self.eaten += 1

    def leave(self):
        self.sated += 1
        if self.sated == len(self.taken):
            self.finish(self.eaten)


class Philosopher(Actor):
    def __init__(self, number, rounds, table):
        self.number, self.left, self.table = number, rounds, table

    def begin(self):
        self.send(self.table, "hungry", self.number)

    denied = begin

    def eat(self):
        self.send(self.table, "done", self.number)
        self.left -= 1
        if self.left:
            self.begin()
        else:
            self.send(self.table, "leave")


def philosophers(system, philosophers, rounds):
    table = system.spawn(Table, philosophers)
    them = [system.spawn(Philosopher, number, rounds, table) for number in range(philosophers)]
    system.ask(table, "meet", them)
    for one in them:
        system.send(one, "begin")
    return system.result()


class Dictionary(Actor):
    def __init__(self, workers):
        self.held, self.working, self.served = {}, workers, 0

    def use(self, worker, kind, key):
        self.served += 1
        self.send(worker, "reply", use_dictionary(self.held, kind, key))

    def leave(self):
        self.working -= 1
        if not self.working:
            self.finish((self.served, sum(self.held)))


class SortedList(Dictionary):
    def __init__(self, workers):
        super().__init__(workers)
        self.held = []

    def use(self, worker, kind, key):
        self.served += 1
        self.send(worker, "reply", use_sorted_list(self.held, kind, key))


class Client(Actor):
    def __init__(self, number, server, messages, writes, sizes):
        self.random, self.server, self.left = Random(number), server, messages
        self.writes, self.sizes = writes, sizes

    def begin(self, me):
        self.me = me
        self.reply(None)

    def reply(self, value):
        if self.left:
            self.left -= 1
            self.send(self.server, "use", self.me, *request(self.random, self.writes, self.sizes, 100_000))
        else:
            self.send(self.server, "leave")


def _clients(system, server_class, workers, messages, writes, sizes):
    server = system.spawn(server_class, workers)
    clients = [system.spawn(Client, number, server, messages, writes, sizes) for number in range(workers)]
    for client in clients:
        system.send(client, "begin", client)
    return system.result()


def dictionary(system, workers, messages, writes):
    return _clients(system, Dictionary, workers, messages, writes, 0)


def sorted_list(system, workers, messages, writes, sizes):
    return _clients(system, SortedList, workers, messages, writes, sizes)


class Manager(Actor):
    """Has the buffer between producers and consumers."""

    def __init__(self, capacity, items):
        self.capacity, self.expected = capacity, items
        self.items, self.hungry, self.held_up = [], [], []

    def item(self, producer, value):
        if self.hungry:
            self.send(self.hungry.pop(), "consume", value)
        else:
            self.items.append(value)
        if len(self.items) < self.capacity:
            self.send(producer, "produce")
        else:
            self.held_up.append(producer)

    def available(self, consumer):
        if not self.items:
            self.hungry.append(consumer)
            return
        self.send(consumer, "consume", self.items.pop())
        if self.held_up:
            self.send(self.held_up.pop(), "produce")

    def consumed(self):
        self.expected -= 1
        if not self.expected:
            self.finish(None)


class ItemProducer(Actor):
    def __init__(self, number, manager, items, cost):
        self.random, self.manager, self.left, self.cost = Random(number), manager, items, cost

    def begin(self, me):
        self.me = me
        self.produce()

    def produce(self):
        if self.left:
            self.left -= 1
            self.send(self.manager, "item", self.me, item(self.random, self.cost))


class Consumer(Actor):
    def __init__(self, manager, cost):
        self.manager, self.cost, self.total = manager, cost, 0

    def begin(self, me):
        self.me = me
        self.send(self.manager, "available", me)

    def consume(self, value):
        spin(self.cost)
        self.total += value
        self.send(self.manager, "consumed")
        self.send(self.manager, "available", self.me)

    def eaten(self):
        return self.total


def bounded_buffer(system, buffer, producers, consumers, items, cost):
    manager = system.spawn(Manager, buffer, producers * items)
    eaters = [system.spawn(Consumer, manager, cost) for _ in range(consumers)]
    makers = [system.spawn(ItemProducer, number, manager, items, cost) for number in range(producers)]
    for actor in (*eaters, *makers):
        system.send(actor, "begin", actor)
    system.result()
    return sum(system.ask_all([(eater, "eaten") for eater in eaters]))


class Teller(Actor):
    def __init__(self, accounts, count):
        self.accounts, self.left = accounts, count

    def begin(self, me):
        for source, target, amount in transactions(len(self.accounts), self.left):
            self.send(self.accounts[source], "transfer", me, target, amount)

    def done(self):
        self.left -= 1
        if not self.left:
            self.finish(None)


class Account(Actor):
    def __init__(self):
        self.balance = 0

    def meet(self, accounts):
        self.accounts = accounts

    def transfer(self, teller, target, amount):
        self.balance -= amount
        self.send(self.accounts[target], "credit", teller, amount)

    def credit(self, teller, amount):
        self.balance += amount
        self.send(teller, "done")

    def held(self):
        return self.balance


def bank(system, accounts, count):
    all_of_them = [system.spawn(Account) for _ in range(accounts)]
    system.ask_all([(account, "meet", all_of_them) for account in all_of_them])
    teller = system.spawn(Teller, all_of_them, count)
    system.send(teller, "begin", teller)
    system.result()
    return balances_checksum(system.ask_all([(account, "held") for account in all_of_them]))


class Series(Actor):
    def __init__(self, computer, terms, sink):
        self.computer, self.left, self.sink, self.term = computer, terms, sink, 0.5

    def next(self, me):
        self.send(self.computer, "compute", me, self.term)

    def take(self, me, term):
        self.term = term
        self.left -= 1
        if self.left:
            self.next(me)
        else:
            self.send(self.sink, "done")

    def reached(self):
        return self.term


class RateComputer(Actor):
    def __init__(self, rate):
        self.rate = rate

    def compute(self, series, term):
        self.send(series, "take", series, next_term(self.rate, term))


def logistic_map(system, terms, series, start_rate):
    sink = system.spawn(Sink, series)
    computers = [system.spawn(RateComputer, rate_of(number, start_rate)) for number in range(series)]
    them = [system.spawn(Series, computer, terms, sink) for computer in computers]
    for one in them:
        system.send(one, "next", one)
    system.result()
    return sum(system.ask_all([(one, "reached") for one in them]))
