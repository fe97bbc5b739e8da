"""Modes and actions: a door that closes by itself, and that is not heard while it is open."""

from reactor import Action, Input, Mode, Output, Reactor, Timer, msec, reaction, run, sec


class Door(Reactor):
    knock = Input(int)
    closed = Mode(initial=True)
    opened = Mode()
    close = Action(delay=msec(300), mode=opened)

    @reaction(knock, effects=opened, mode=closed)
    def open(self):
        print(f"{self.elapsed // 10**6} ms: knock {self.knock.value} opens")
        self.opened.set()

    @reaction(knock, effects=[close], mode=opened)
    def enter(self):
        print(f"{self.elapsed // 10**6} ms: knock {self.knock.value} enters")
        self.close.schedule()

    @reaction(close, effects=closed, mode=opened)
    def shut(self):
        print(f"{self.elapsed // 10**6} ms: closes")
        self.closed.set()


class Visitors(Reactor):
    knock = Output(int)
    tick = Timer(0, msec(250))

    def __init__(self):
        self.n = 0

    @reaction(tick, effects=knock)
    def come(self):
        self.n += 1
        self.knock.set(self.n)


class Main(Reactor):
    def __init__(self):
        self.door, self.visitors = Door(), Visitors()
        self.connect(self.visitors.knock, self.door.knock)


if __name__ == "__main__":
    run(Main, timeout=sec(1), fast=True)
