"""The executor with workers: this process has the events and the modes, and each reaction runs where the plan says.

Each worker gets one message with its ready reactions of a level. When all workers have answered, the values that the reactions have set are applied
here, in the order of the plan. So the trace is the same as with one process.
"""

import os
import sys
from heapq import heappop

from reactor import _core
from reactor.execution import federates, membership, sending
from reactor.execution.errors import ReactionError, WorkerError, WorkerTraceback
from reactor.execution.loop import Loop
from reactor.execution.part import (
    ACTION,
    BODY,
    DEADLINE,
    DONE,
    EXITED,
    LATE,
    LEAVE,
    MAXWAIT,
    MODE,
    NOTE,
    PORT,
    RESTART,
    TARDY,
    Part,
    elements,
)
from reactor.execution.stored import Stored, is_large, of_plain
from reactor.plan import HERE
from reactor.runtime.driver.driver import Driver
from reactor.runtime.messages import output
from reactor.runtime.processes import forks
from reactor.runtime.spawning.preloading import slow_imports
from reactor.runtime.worker import plugin

_driver: Driver | None = None  # of the program that this process runs on workers
_METHODS = sorted(name for name in vars(Part) if not name.startswith("_"))
_STORE = 1 << 30  # bytes of large values


class WorkersLoop(Loop):
    """As Loop. `recipe` is what makes the program in a worker; see part.Part."""

    def __init__(self, top, plan, wiring, *, recipe, placement, **settings):
        super().__init__(top, plan, wiring, **settings)
        self._where = [step.worker for step in plan.steps]
        self._levels = [step.level for step in plan.steps]
        self._gated = list(self.calls)
        self._recipe, self._placement = recipe, placement
        self._ports, self._actions, self._modes, instances = elements(top, wiring)
        ports = {port: number for number, port in enumerate(self._ports)}
        actions = {action: number for number, action in enumerate(self._actions)}
        self._reads = [_reads(wiring, reaction, ports, actions) for reaction in self.reactions]
        self._seen = [{} for _ in range(plan.workers)]  # of each worker: {(is an action, number): value it has}
        self._resets = [[] for _ in range(plan.workers)]
        modes = {mode: number for number, mode in enumerate(self._modes)}
        for number, instance in enumerate(instances):
            found = {self._where[reaction.index] for reaction in instance.reactions} - {HERE}
            if found and instance.reset_state:
                (worker,) = found
                instance.reset_state = self._resetter(worker, number, modes)
                instance.make_state = self._restarter(worker, number)
        self._workers, self._begun = [], []

    def run(self):
        with sending.refusing():
            self._run_with_workers()

    def _run_with_workers(self):
        global _driver
        if _core.attached():
            raise RuntimeError(
                f'placement="{self._placement}": this process takes part in a session or in another program on workers already, and can take '
                'part in one at a time. End that first, use placement="inline", or run this program in a process of its own'
            )
        driver = Driver(
            cpus=os.cpu_count() or 1, resources={}, store_limit=_STORE, plugin=plugin.__name__, settings={}, show=_show
        )
        driver.start()
        _driver = driver
        plugin.install({}, "driver")
        try:
            info = _core.put(None)
            for number in range(self.plan.workers):
                arguments = self._recipe, self._placement, self.plan.workers, number, self._offset
                self._workers.append(_Worker(driver, info, number, arguments))
            for ref in [worker.ready() for worker in self._workers]:
                _wait_for_program(ref)
            super().run()
        finally:
            self._workers.clear()
            self._begun.clear()
            if _driver is driver:  # else this is a child that a reaction has forked
                _driver = None
                driver.stop()

    def _begin(self):
        for ref in [worker.make_state(self.federation) for worker in self._workers]:
            _core.get_one(ref, None)
        super()._begin()
        self._begun = [worker.begin(self.start) for worker in self._workers]

    def react(self):
        ready = self.ready
        while ready:
            batch = [heappop(ready)]
            level = self._levels[batch[0]]
            while ready and self._levels[ready[0]] == level:
                index = heappop(ready)
                if index != batch[-1]:
                    batch.append(index)
            if any(self._where[index] != HERE for index in batch):
                self._run_there(batch)
            else:
                self._run_here(batch)

    def _run_here(self, batch):
        for index in batch:
            stored = [(element, element.value) for _, element in self._reads[index] if type(element.value) is Stored]
            for element, value in stored:
                element.value = value.value()
            try:
                self.calls[index]()
            except Exception as error:
                raise ReactionError(self.reactions[index], self.elapsed(), self.microstep, error) from error
            for element, value in stored:  # others are sent the ref
                element.value = value

    def _run_there(self, batch):
        wanted, inputs, here = {}, {}, {}
        for index in batch:
            worker = self._where[index]
            if worker != HERE and self._lets_react(index):
                if self.before_reaction:
                    self.before_reaction()
                wanted.setdefault(worker, []).append((index, self._which(index)))
                self._add_inputs(worker, index, inputs.setdefault(worker, ([], [])), here)
        refs = {}
        for worker, reactions in wanted.items():
            resets, self._resets[worker] = self._resets[worker], []
            try:
                given, stored = inputs[worker]
                refs[worker] = self._workers[worker].react(self.time, self.microstep, resets, given, reactions, stored)
            except Exception as error:
                raise self._not_read([index for index, _ in reactions], given, error) from error
        answers = {}
        for index in batch:
            worker = self._where[index]
            if worker == HERE:
                self._run_here([index])
            elif worker in refs and any(index == other for other, _ in wanted[worker]):
                if worker not in answers:
                    answers[worker] = iter(self._answer(worker, refs[worker], self.reactions[index]))
                self._apply(index, *next(answers[worker]))

    def _answer(self, worker, ref, reaction):
        try:
            return _core.get_one(ref, None)
        except plugin.Died as error:
            raise WorkerError(worker, reaction, self.elapsed(), self.microstep, error.args[0]) from None
        except Exception as error:  # what was set cannot be sent
            failure, found = error, _core.get_one(self._workers[worker].unsent(), None)
            if found:
                index, element, reason = found
                reaction, failure = self.reactions[index], sending.unsendable_error(element, reason)
            raise ReactionError(reaction, self.elapsed(), self.microstep, failure) from error

    def _not_read(self, indices, given, error):
        """The error for `given`, inputs of some reactions of one worker, that could not be sent."""
        index, failure = indices[0], error
        for is_action, number, value, *_ in given:
            if reason := sending.why_not(value):
                key = is_action, number
                index, element = next((i, one) for i in indices for has, one in self._reads[i] if has == key)
                failure = sending.unsendable_error(element.path, reason)
                break
        return ReactionError(self.reactions[index], self.elapsed(), self.microstep, failure)

    def _lets_react(self, index):
        # At shutdown the call is replaced by one that does not look at modes.
        return all(mode.active for mode in self.reactions[index].modes) or self.calls[index] is not self._gated[index]

    def _which(self, index):
        reaction = self.reactions[index]
        if reaction.instance.federate:
            reaction.instance.federate.reached = self.time, self.microstep
            if reaction.tardy and self._intended(index):
                return TARDY
        limit = reaction.deadline and reaction.deadline.limit
        late = limit == 0 or (limit is not None and self.physical() > self.time + limit)
        return LATE if late else BODY

    def _add_inputs(self, worker, index, given, here):
        """Adds what a reaction reads to `given`, a worker's (inputs, stored). `here`: {id of a large value of this process: (it, Stored)}"""
        inputs, stored = given
        seen = self._seen[worker]
        for key, element in self._reads[index]:
            value = element.value
            if element.is_present or seen.get(key) is not value:
                seen[key] = value
                if type(value) is not Stored and is_large(value):
                    if id(value) not in here:
                        here[id(value)] = value, self._store(value, index, key)
                    value = here[id(value)][1]
                if type(value) is Stored:
                    stored.append((len(inputs), value.ref))
                    value = None
                inputs.append((*key, value, element.is_present, self.tardy.get(element)))

    def _store(self, value, index, key):
        try:
            return Stored(_core.put(value))
        except Exception as error:
            raise self._not_read([index], [(*key, value)], error) from error

    def _intended(self, index):
        """The intended tag of what a reaction reads, if that is tardy."""
        return self.tardy and federates.intended(self, [port for _, port in self._reads[index]])

    def _apply(self, index, how, what, stored=()):
        reaction = self.reactions[index]
        if how == EXITED:
            raise SystemExit(what)
        if how != DONE:
            error, traceback = what
            error.__cause__ = WorkerTraceback(traceback)
            raise ReactionError(reaction, self.elapsed(), self.microstep, error) from error

        for at, ref in stored:
            kind, number, _, extra = what[at]
            what[at] = kind, number, Stored(ref), extra

        def apply():
            for kind, number, value, extra in what:
                if kind == PORT:
                    self._ports[number].set(value)
                elif kind == ACTION:
                    self._actions[number].schedule(extra, value)
                elif kind == MODE:
                    mode = self._modes[number]
                    self.transitions[mode.instance] = (mode, extra)
                elif kind == NOTE:
                    if self.trace:
                        self.trace.note(number, value)
                elif kind == DEADLINE:
                    reaction.deadline.limit = value
                elif kind == MAXWAIT:
                    reaction.instance.federate.maxwait = value
                elif kind == LEAVE and reaction.instance.federate:
                    membership.leave(self, reaction.instance.federate)
                else:
                    self.request_stop()
            if self.crossing:
                self.cross()
            if reaction.instance.federate and not reaction.tardy and (tag := self._intended(index)):
                federates.hand_on(self, federates.writes(self, reaction), tag)

        (self.trace.around(self, reaction, apply) if self.trace else apply)()

    def converter(self, connection):
        return of_plain(connection.convert)

    def _restarter(self, worker, number):
        return lambda loop: self._resets[worker].append((number, RESTART))

    def _resetter(self, worker, number, modes):
        return lambda within: self._resets[worker].append((number, None if within is None else modes[within]))


class _Worker:
    """A worker process; its methods are those of Part and give refs."""

    def __init__(self, driver, info, number, arguments):
        link = _core.actor(False)
        facts = {
            "class_name": f"reactor worker {number}",
            "name": "",
            "namespace": "",
            "demand": {},
            "ordinal": str(number + 1),
            "number": link.actor,
            "detached": False,
            "creator": os.getpid(),
            "info": info.offset,
            "preload": slow_imports(),
            "max_restarts": 0,
        }
        _core.hold(info.offset)
        driver.control.tell("actor", link.offset, facts)
        self._created = link.create((Part, *arguments), {})
        results, least, most, check = 1, 0, -1, None  # any number of arguments, unchecked
        for index, name in enumerate(_METHODS):
            setattr(self, name, _core.Method(link, index, name, results, least, most, check).remote)


def _forget_driver():
    """In a child that a reaction forks: the run is the parent's."""
    global _driver
    _driver = None


forks.in_child(_forget_driver)


def _wait_for_program(ref):
    """Waits until a worker has made the program; raises what kept it from that."""
    try:
        _core.get_one(ref, None)
    except plugin.Died as error:
        facts = error.args[0]
        raise (facts.get("creation_error") if isinstance(facts, dict) else None) or error from None


def _reads(wiring, reaction, ports, actions):
    found = dict.fromkeys(map(wiring.root, (*reaction.triggers, *reaction.sources)))
    return [
        ((one in actions, (actions if one in actions else ports)[one]), one)
        for one in found
        if one in ports or one in actions
    ]


def _show(stream, label, pid, line):
    print(line, file=sys.stderr if stream == output.STDERR else sys.stdout)
