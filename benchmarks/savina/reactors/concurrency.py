"""The concurrency benchmarks as reactors."""

from reactor import STARTUP, Action, Input, Output, Reactor, reaction

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


class Arbiter(Reactor):
    smoke = Output(width=0)
    next = Action()

    def __init__(self, smokers, rounds):
        self.smokers, self.left, self.random = smokers, rounds, Random(rounds)
        self.smoke.resize(smokers)

    @reaction(STARTUP, next, effects=[smoke, next])
    def choose(self):
        self.left -= 1
        self.smoke[self.random.below(self.smokers)].set(self.random.below(1000) + 10)
        if self.left:
            self.next.schedule()


class Smoker(Reactor):
    begin = Input()

    def __init__(self, number):
        self.number, self.smoked = number, 0

    @reaction(begin)
    def smoke(self):
        self.smoked += spin(self.begin.value)


class Smokers(Reactor):
    def __init__(self, smokers, rounds):
        self.arbiter, self.smokers = Arbiter(smokers, rounds), [Smoker(number) for number in range(smokers)]
        self.connect(self.arbiter.smoke, [smoker.begin for smoker in self.smokers])


def smokers(smokers, rounds):
    top = Smokers(smokers, rounds)
    return top, lambda: sum((smoker.number + 1) * smoker.smoked for smoker in top.smokers)


class Table(Reactor):
    hungry = Input(width=0)
    done = Input(width=0)
    eat = Output(width=0)
    denied = Output(width=0)
    answer = Action()

    def __init__(self, philosophers):
        self.taken, self.first, self.eaten = [False] * philosophers, 0, 0
        for port in (self.hungry, self.done, self.eat, self.denied):
            port.resize(philosophers)

    @reaction(answer, effects=[eat, denied])
    def tell(self):
        eating, waiting = self.answer.value
        for number in eating:
            self.eat[number].set()
        for number in waiting:
            self.denied[number].set()

    @reaction(done)
    def put_back(self):
        for number in self.done.present:
            self.taken[number] = self.taken[(number + 1) % len(self.taken)] = False
            self.eaten += 1

    @reaction(hungry, effects=answer)
    def arbitrate(self):
        """Another philosopher comes first each time, so that none is denied for ever."""
        taken, count = self.taken, len(self.taken)
        eating, waiting = [], []
        for number in sorted(self.hungry.present, key=lambda number: (number - self.first) % count):
            after = (number + 1) % count
            if taken[number] or taken[after]:
                waiting.append(number)
            else:
                taken[number] = taken[after] = True
                eating.append(number)
        self.first = (self.first + 1) % count
        self.answer.schedule(0, (eating, waiting))


class Philosopher(Reactor):
    eat = Input()
    denied = Input()
    hungry = Output()
    done = Output()

    def __init__(self, rounds):
        self.left = rounds

    @reaction(STARTUP, denied, effects=hungry)
    def ask(self):
        self.hungry.set()

    @reaction(eat, effects=[hungry, done])
    def dine(self):
        self.done.set()
        self.left -= 1
        if self.left:
            self.hungry.set()


class Dinner(Reactor):
    def __init__(self, philosophers, rounds):
        self.table, self.philosophers = Table(philosophers), [Philosopher(rounds) for _ in range(philosophers)]
        for number, one in enumerate(self.philosophers):
            self.connect(one.hungry, self.table.hungry[number])
            self.connect(one.done, self.table.done[number])
            self.connect(self.table.eat[number], one.eat)
            self.connect(self.table.denied[number], one.denied)


def philosophers(philosophers, rounds):
    top = Dinner(philosophers, rounds)
    return top, lambda: top.table.eaten


class Server(Reactor):
    """A dictionary or a sorted list; `use` is what a request does with it."""

    requests = Input(width=0)
    replies = Output(width=0)

    def __init__(self, workers, held, use):
        self.held, self.use, self.served = held, use, 0
        self.requests.resize(workers)
        self.replies.resize(workers)

    @reaction(requests, effects=replies)
    def serve(self):
        for worker in self.requests.present:
            self.served += 1
            self.replies[worker].set(self.use(self.held, *self.requests[worker].value))


class Client(Reactor):
    reply = Input()
    request = Output()
    next = Action()

    def __init__(self, number, messages, writes, sizes):
        self.random, self.left, self.writes, self.sizes = Random(number), messages, writes, sizes

    @reaction(STARTUP, next, effects=request)
    def ask(self):
        self.left -= 1
        self.request.set(request(self.random, self.writes, self.sizes, 100_000))

    @reaction(reply, effects=next)
    def go_on(self):
        if self.left:
            self.next.schedule()


class Served(Reactor):
    def __init__(self, server, workers, messages, writes, sizes):
        self.server = server
        self.clients = [Client(number, messages, writes, sizes) for number in range(workers)]
        self.connect([client.request for client in self.clients], self.server.requests)
        self.connect(self.server.replies, [client.reply for client in self.clients])


def dictionary(workers, messages, writes):
    top = Served(Server(workers, {}, use_dictionary), workers, messages, writes, 0)
    return top, lambda: (top.server.served, sum(top.server.held))


def sorted_list(workers, messages, writes, sizes):
    top = Served(Server(workers, [], use_sorted_list), workers, messages, writes, sizes)
    return top, lambda: (top.server.served, sum(top.server.held))


class Manager(Reactor):
    """Has the buffer between producers and consumers."""

    item = Input(width=0)
    available = Input(width=0)
    produce = Output(width=0)
    consume = Output(width=0)
    answer = Action()

    def __init__(self, capacity, producers, consumers):
        self.capacity, self.items, self.hungry, self.held_up = capacity, [], [], []
        self.item.resize(producers)
        self.produce.resize(producers)
        self.available.resize(consumers)
        self.consume.resize(consumers)

    @reaction(answer, effects=[produce, consume])
    def tell(self):
        fed, asked = self.answer.value
        for consumer, value in fed:
            self.consume[consumer].set(value)
        for producer in asked:
            self.produce[producer].set()

    @reaction(item, available, effects=answer)
    def manage(self):
        self.hungry += self.available.present
        for producer in self.item.present:
            self.items.append(self.item[producer].value)
            self.held_up.append(producer)
        fed = [(self.hungry.pop(), self.items.pop()) for _ in range(min(len(self.hungry), len(self.items)))]
        room = max(self.capacity - len(self.items), 0)
        asked, self.held_up = self.held_up[:room], self.held_up[room:]
        if fed or asked:
            self.answer.schedule(0, (fed, asked))


class ItemProducer(Reactor):
    produce = Input()
    item = Output()

    def __init__(self, number, items, cost):
        self.random, self.left, self.cost = Random(number), items, cost

    @reaction(STARTUP, produce, effects=item)
    def make(self):
        if self.left:
            self.left -= 1
            self.item.set(item(self.random, self.cost))


class Consumer(Reactor):
    consume = Input()
    available = Output()

    def __init__(self, cost):
        self.cost, self.total = cost, 0

    @reaction(STARTUP, effects=available)
    def begin(self):
        self.available.set()

    @reaction(consume, effects=available)
    def eat(self):
        spin(self.cost)
        self.total += self.consume.value
        self.available.set()


class BoundedBuffer(Reactor):
    def __init__(self, buffer, producers, consumers, items, cost):
        self.manager = Manager(buffer, producers, consumers)
        self.producers = [ItemProducer(number, items, cost) for number in range(producers)]
        self.consumers = [Consumer(cost) for _ in range(consumers)]
        self.connect([producer.item for producer in self.producers], self.manager.item)
        self.connect(self.manager.produce, [producer.produce for producer in self.producers])
        self.connect([consumer.available for consumer in self.consumers], self.manager.available)
        self.connect(self.manager.consume, [consumer.consume for consumer in self.consumers])


def bounded_buffer(buffer, producers, consumers, items, cost):
    top = BoundedBuffer(buffer, producers, consumers, items, cost)
    return top, lambda: sum(consumer.total for consumer in top.consumers)


class Teller(Reactor):
    """Gives each account its next transfer at each tag."""

    transfer = Output(width=0)
    next = Action()

    def __init__(self, accounts, count):
        self.waiting = [[] for _ in range(accounts)]
        for source, target, amount in reversed(transactions(accounts, count)):
            self.waiting[source].append((target, amount))
        self.transfer.resize(accounts)
        self.busy = [number for number, waiting in enumerate(self.waiting) if waiting]

    @reaction(STARTUP, next, effects=[transfer, next])
    def give(self):
        for number in self.busy:
            self.transfer[number].set(self.waiting[number].pop())
        self.busy = [number for number in self.busy if self.waiting[number]]
        if self.busy:
            self.next.schedule()


class Account(Reactor):
    transfer = Input()
    paid = Output()
    credit = Input()

    def __init__(self):
        self.balance = 0

    @reaction(transfer, effects=paid)
    def pay(self):
        self.balance -= self.transfer.value[1]
        self.paid.set(self.transfer.value)

    @reaction(credit)
    def take(self):
        self.balance += sum(self.credit.value)


class Clearing(Reactor):
    """Takes to each account what others pay it, so that not each has to be connected to each."""

    paid = Input(width=0)
    credit = Output(width=0)

    def __init__(self, accounts):
        self.paid.resize(accounts)
        self.credit.resize(accounts)

    @reaction(paid, effects=credit)
    def clear(self):
        amounts = {}
        for source in self.paid.present:
            target, amount = self.paid[source].value
            amounts.setdefault(target, []).append(amount)
        for target, found in amounts.items():
            self.credit[target].set(found)


class Bank(Reactor):
    def __init__(self, accounts, count):
        self.teller, self.clearing = Teller(accounts, count), Clearing(accounts)
        self.accounts = [Account() for _ in range(accounts)]
        self.connect(self.teller.transfer, [account.transfer for account in self.accounts])
        self.connect([account.paid for account in self.accounts], self.clearing.paid)
        self.connect(self.clearing.credit, [account.credit for account in self.accounts])


def bank(accounts, count):
    top = Bank(accounts, count)
    return top, lambda: balances_checksum([account.balance for account in top.accounts])


class Series(Reactor):
    result = Input()
    compute = Output()
    next = Action()

    def __init__(self, terms):
        self.left, self.term = terms, 0.5

    @reaction(STARTUP, next, effects=compute)
    def ask(self):
        self.compute.set(self.term)

    @reaction(result, effects=next)
    def take(self):
        self.term = self.result.value
        self.left -= 1
        if self.left:
            self.next.schedule()


class RateComputer(Reactor):
    term = Input()
    result = Output()

    def __init__(self, rate):
        self.rate = rate

    @reaction(term, effects=result)
    def compute(self):
        self.result.set(next_term(self.rate, self.term.value))


class LogisticMap(Reactor):
    def __init__(self, terms, series, start_rate):
        self.series = [Series(terms) for _ in range(series)]
        self.computers = [RateComputer(rate_of(number, start_rate)) for number in range(series)]
        self.connect([one.compute for one in self.series], [computer.term for computer in self.computers])
        self.connect([computer.result for computer in self.computers], [one.result for one in self.series])


def logistic_map(terms, series, start_rate):
    top = LogisticMap(terms, series, start_rate)
    return top, lambda: sum(one.term for one in top.series)
