"""A worker's part of a program: it runs the reactions that it is told to and answers with what they did."""

import cloudpickle
from reactor import _core
from reactor.declared import plan_of
from reactor.execution import loading, sending
from reactor.execution.errors import for_sending
from reactor.execution.loop import Loop
from reactor.execution.stored import is_array, is_large, may_change, shape_of
from reactor.model.declaring import Reactor
from reactor.model.elements import Multiport, Port, Transition

BODY, LATE, TARDY = range(3)
DONE, RAISED, EXITED = range(3)
# Kinds of effects. They are sent with every reaction, and members of an enum would be pickled by name, which takes six times as long.
PORT, ACTION, MODE, STOP, NOTE, LEAVE, DEADLINE, MAXWAIT = range(8)
RESTART = -1  # in place of a mode: all state of a reactor is made again


def elements(top, wiring):
    """(ports, actions, modes, reactors) of a program in an order that is the same in every process."""
    instances = list(top.walk())
    ports = list(dict.fromkeys(wiring.root(port) for instance in instances for port in instance.channels()))
    actions = [action for instance in instances for action in instance.actions.values()]
    return ports, actions, [mode for instance in instances for mode in instance.modes.values()], instances


def bind(top, wiring, loop):
    """Gives the reactors declared in Python their loop and the ports that stand for theirs."""
    for instance in top.walk():
        if isinstance(instance.object, Reactor):
            instance.object._clock = loop
            for name, port in instance.ports.items():
                if isinstance(port, Port):
                    instance.object.__dict__[name] = wiring.root(port)


class Part:
    """Lives in a worker. `recipe` makes the program there: what `load` takes for an .lf file, or pickled reactors."""

    def __init__(self, recipe, placement, workers, number, offset):
        sending.refuse()
        if isinstance(recipe, tuple):
            from reactor.lf.instantiating import load

            top, _ = load(*recipe)
        else:
            top = cloudpickle.loads(recipe)
        plan, wiring = plan_of(top, placement, workers)
        self._did = []
        self._answers = []  # the last ones: [(index of a reaction, its effects)]
        self._unsent = None  # what `unsent` gives, if a large value of them could not be stored
        self._given = {}  # {(is an action, number): (stored array or bytes that it was given, its shape, its ref)}
        self._loop = loop = Loop(top, plan, wiring)
        loop._offset = offset
        loop.trace = _Notes(self)
        loop.request_stop = lambda: self._did.append((STOP, 0, None, None))
        loop.stop = lambda: self._did.append((LEAVE, 0, None, None))
        loop.maxwait_changed = lambda federate: self._did.append((MAXWAIT, 0, federate.maxwait, None))
        loop.deadline_changed = lambda deadline: self._did.append((DEADLINE, 0, deadline.limit, None))
        self._ports, self._actions, self._modes, self._instances = elements(top, wiring)
        mine = {step.index for step in plan.of_worker(number)}
        bind(top, wiring, loop)
        self._record_effects()
        self._bodies = {
            reaction.index: loading.bodies(loop, reaction) for reaction in loop.reactions if reaction.index in mine
        }
        numbers = {port: number for number, port in enumerate(self._ports)}
        self._written = {
            reaction.index: [
                (numbers[root], root)
                for root in (wiring.root(port) for port in reaction.effects if isinstance(port, Port))
                if not any(connection.convert for _, connection in wiring.forwards.get(root, ()))
            ]
            for reaction in loop.reactions
            if reaction.index in mine and reaction is not reaction.instance.reactions[0]
        }
        self._states = [i for i in self._instances if i.make_state and any(r.index in mine for r in i.reactions)]

    def ready(self):
        """Answers when the program is made here."""

    def make_state(self, federation):
        """Makes the state of its reactors."""
        self._loop.federation = federation
        for instance in self._states:
            instance.make_state(self._loop)

    def begin(self, start):
        """The program starts at this time."""
        self._loop.start = self._loop.time = start

    def react(self, time, microstep, resets, inputs, wanted, stored):
        """Runs reactions.

        Arguments:
            resets: [(reactor, mode, RESTART or None)] whose state is to be reset first.
            inputs: [(is an action, its number, value, whether it is present, its intended tag if it is tardy)]
            wanted: [(index of a reaction, BODY, LATE or TARDY)]
            stored: [(place in `inputs`, ref of the value that belongs there)]

        Returns:
            [(DONE, [(kind of effect, number, value, extra)], [(place in these, ref of the value that belongs there)])] for each, or up to
            one that was RAISED, with its error and traceback, or EXITED.
        """
        loop, did = self._loop, self._did
        if (time, microstep) != (loop.time, loop.microstep):
            for element in loop.present:
                element.is_present = False
            loop.present.clear()
        loop.time, loop.microstep, loop.tag_reached = time, microstep, loop.physical()
        loop.tardy.clear()
        for number, mode in resets:
            instance = self._instances[number]
            if mode == RESTART:
                instance.make_state(loop)
                instance.federate.start = loop.tag()
            else:
                instance.reset_state(None if mode is None else self._modes[mode])
        if self._given:
            for is_action, number, *_ in inputs:
                self._given.pop((is_action, number), None)
        for at, ref in stored:
            inputs[at] = self._with_stored(ref, *inputs[at])
        for is_action, number, value, present, intended in inputs:
            element = (self._actions if is_action else self._ports)[number]
            element.value, element.is_present = value, present
            if intended:
                loop.tardy[element] = intended
            loop.present.append(element)
        answers = []
        self._answers.clear()
        for index, which in wanted:
            did.clear()
            loop.federate = loop.reactions[index].instance.federate
            try:
                self._bodies[index][which]()
            except SystemExit as error:
                return [*self._stored(answers), (EXITED, error.code)]
            except Exception as error:
                return [*self._stored(answers), (RAISED, for_sending(error))]
            self._send_again(index)
            effects = list(did)
            answers.append((DONE, effects, []))
            self._answers.append((index, effects))
            did.clear()
        return self._stored(answers)

    def unsent(self):
        """(index of a reaction, what it gave a value that cannot be sent, why it cannot), in the last answers; None: there is no such value."""
        if self._unsent:
            return self._unsent
        for index, effects in self._answers:
            for kind, number, value, _ in effects:
                if reason := sending.why_not(value):
                    return index, self._name_of(kind, number), reason
        return None

    def _name_of(self, kind, number):
        if kind == PORT:
            return self._ports[number].path
        return self._actions[number].path if kind == ACTION else f"trace event {number}"

    def _send_again(self, index):
        """Sends what an earlier reaction of this tag has set on a port that this one writes, too: it may have changed the value."""
        for number, port in self._written.get(index, ()):
            if port.is_present and may_change(port.value) and all(one[:2] != (PORT, number) for one in self._did):
                self._did.append((PORT, number, port.value, None))

    def _with_stored(self, ref, is_action, number, _, present, intended):
        """An input with the stored value in its place."""
        value = _core.get_one(ref, None)
        if type(value) is bytes or is_array(value):
            self._given[is_action, number] = value, shape_of(value), ref
        return is_action, number, value, present, intended

    def _stored(self, answers):
        """Stores the large values in answers, and puts refs of them there."""
        large = {}  # id: [a list of the value, its places, ports that have it]
        for (_, effects, stored), (index, _) in zip(answers, self._answers):
            for at, effect in enumerate(effects):
                if effect[0] <= ACTION and is_large(effect[2]):
                    kind, number, value, extra = effect
                    effects[at] = effect = kind, number, None, extra
                    found = large.setdefault(id(value), ([value], [], []))
                    found[1].append((stored, at, (index, self._name_of(kind, number))))
                    if kind == PORT and self._ports[number].value is value:
                        found[2].append(self._ports[number])
                    del value
        for holder, places, ports in large.values():
            try:
                ref = self._ref_of(holder[0]) or self._store(holder, ports)
            except Exception as error:
                self._unsent = *places[0][2], sending.reason_of(error)
                raise
            for stored, at, _ in places:
                stored.append((at, ref))
        return answers

    def _ref_of(self, value):
        """The ref of a value that is a stored one as it came, and that nobody can have changed."""
        for given, shape, ref in self._given.values():
            if given is value and shape == shape_of(value):
                return ref
        return None

    def _store(self, holder, ports):
        if not is_array(holder[0]) and type(holder[0]) is not tuple:
            return _core.put_given(holder)
        for port in ports:
            port.value = None  # an array that nobody has but the holder is not copied
        ref = _core.put_given(holder)
        for port in ports:
            port.value = _core.get_one(ref, None)
        return ref

    def _record_effects(self):
        for instance in self._instances:
            for port in instance.ports.values():
                if isinstance(port, Multiport):
                    port.found = None
        for number, port in enumerate(self._ports):
            port.set = self._port_setter(number, port)
        for number, action in enumerate(self._actions):
            action.schedule = self._scheduler(number, action)
        numbers = {mode: number for number, mode in enumerate(self._modes)}
        for reaction in self._loop.reactions:
            for effect in reaction.effects:
                if isinstance(effect, Transition):
                    effect.set = self._transition(numbers[effect.mode], effect.history)

    def _port_setter(self, number, port):
        def set(value=None):
            self._did.append((PORT, number, value, None))
            port.value, port.is_present = value, True
            self._loop.present.append(port)

        return set

    def _scheduler(self, number, action):
        def schedule(extra_delay=0, value=None):
            self._did.append((ACTION, number, value, loading.checked_delay(action, extra_delay)))

        return schedule

    def _transition(self, number, history):
        def set(history=history):
            self._did.append((MODE, number, None, history))

        return set


class _Notes:
    """Takes the place of a trace in a worker: the program's own events go into what a reaction did."""

    def __init__(self, part):
        self._part = part

    def note(self, what, value):
        self._part._did.append((NOTE, what, value, None))
