import os

import pytest


def test_an_actor_keeps_its_state_between_calls(ray):
    @ray.remote
    class Counter:
        def __init__(self, start, step=1):
            self.value = start
            self.step = step

        def increment(self):
            self.value += self.step
            return self.value

    counter = Counter.remote(10, step=5)
    assert [ray.get(counter.increment.remote()) for _ in range(3)] == [15, 20, 25]


def test_a_class_needs_no_constructor(ray):
    @ray.remote
    class Plain:
        kind = "plain"

        def describe(self):
            return self.kind

    assert ray.get(Plain.remote().describe.remote()) == "plain"


def test_actors_of_a_class_are_independent(ray):
    @ray.remote
    class Box:
        def __init__(self):
            self.items = []

        def add(self, item):
            self.items.append(item)
            return self.items

    first, second = Box.remote(), Box.remote()
    assert ray.get([first.add.remote(1), second.add.remote(2), first.add.remote(3)]) == [[1], [2], [1, 3]]


def test_actors_of_a_class_share_no_class_attribute(ray):
    class Plain:
        shared = []

        def add(self, item):
            self.shared.append(item)
            return self.shared

    Box = ray.remote(Plain)
    first, second = Box.remote(), Box.remote()
    assert ray.get([first.add.remote(1), second.add.remote(2)]) == [[1], [2]]
    assert Plain.shared == []


def test_a_task_and_an_actor_change_no_class_of_the_driver(ray):
    class Setting:
        value = 0

    @ray.remote
    def change():
        Setting.value = 1
        return Setting.value

    @ray.remote
    class Changing:
        def change(self):
            Setting.value += 2
            return Setting.value, isinstance(self.of_driver, Setting)

        def take(self, setting):
            self.of_driver = setting

    actor = Changing.remote()
    actor.take.remote(Setting())
    assert ray.get(actor.change.remote()) == (2, True)
    assert ray.get(change.remote()) == 1
    assert Setting.value == 0
    # The task's process may be that of the one before, the actor's is its own.
    assert ray.get(actor.change.remote()) == (4, True)


def test_calls_of_one_caller_run_in_the_order_made(ray):
    @ray.remote
    class Log:
        def __init__(self):
            self.entries = []

        def add(self, entry):
            self.entries.append(entry)

        def read(self):
            return self.entries

    log = Log.remote()
    for i in range(500):
        log.add.remote(i)
    assert ray.get(log.read.remote()) == list(range(500))


def test_a_call_that_waits_for_its_argument_holds_back_the_later_ones(ray):
    @ray.remote
    def slow(x):
        return sum(range(1_000_000)) * 0 + x

    @ray.remote
    class Log:
        def __init__(self):
            self.entries = []

        def add(self, entry):
            self.entries.append(entry)
            return self.entries

    log = Log.remote()
    log.add.remote(slow.remote(1))
    assert ray.get(log.add.remote(2)) == [1, 2]


def test_methods_take_refs_and_keywords(ray):
    @ray.remote
    class Adder:
        def add(self, a, *, b):
            return a + b

    assert ray.get(Adder.remote().add.remote(ray.put(1), b=ray.put(2))) == 3


def test_the_constructor_takes_refs(ray):
    @ray.remote
    class Keep:
        def __init__(self, value):
            self.value = value

        def read(self):
            return self.value

    assert ray.get(Keep.remote(ray.put("v")).read.remote()) == "v"


def test_methods_are_inherited(ray):
    class Base:
        def __init__(self, name):
            self.name = name

        def greet(self):
            return f"{self.word()} {self.name}"

        def word(self):
            return "base"

    @ray.remote
    class Derived(Base):
        def __init__(self, name):
            super().__init__(name)

        def word(self):
            return "derived"

    assert ray.get(Derived.remote("n").greet.remote()) == "derived n"


def test_static_and_class_methods_are_callable(ray):
    @ray.remote
    class Holder:
        kind = "kind"

        @staticmethod
        def static(x):
            return x + 1

        @classmethod
        def of_class(cls, x):
            return cls.kind, x

    holder = Holder.remote()
    assert ray.get(holder.static.remote(1)) == 2
    assert ray.get(holder.of_class.remote(1)) == ("kind", 1)


def test_methods_may_have_any_name(ray):
    @ray.remote
    class Awkward:
        def _private(self):
            return "private"

        def __call__(self, x):
            return x

        def __len__(self):
            return 3

        def options(self, args, kwargs):
            return args, kwargs

        def kill(self):
            return "alive"

    awkward = Awkward.remote()
    calls = [awkward._private.remote(), awkward.__call__.remote(1), awkward.__len__.remote()]
    calls += [awkward.options.remote(args=1, kwargs=2), awkward.kill.remote()]
    assert ray.get(calls) == ["private", 1, 3, (1, 2), "alive"]


def test_classes_of_one_name_are_kept_apart(ray):
    def make(kind):
        @ray.remote
        class Kind:
            def read(self):
                return kind
        return Kind

    actors = [make(kind).remote() for kind in ("a", "b", "c")]
    assert ray.get([actor.read.remote() for actor in actors]) == ["a", "b", "c"]


def test_an_actor_makes_actors_of_its_own_class(ray):
    @ray.remote
    class Tree:
        def __init__(self, depth):
            self.children = [Tree.remote(depth - 1)] if depth else []

        def depth(self):
            return 1 + max(ray.get([child.depth.remote() for child in self.children]), default=0)

    assert ray.get(Tree.remote(2).depth.remote()) == 3


def test_values_flow_from_actor_to_actor_by_their_refs(ray):
    @ray.remote
    class Stage:
        def __init__(self, offset):
            self.offset = offset

        def add(self, x):
            return x + self.offset

    stages = [Stage.remote(offset) for offset in (1, 10, 100)]
    results = []
    for x in range(20):
        ref = x
        for stage in stages:
            ref = stage.add.remote(ref)
        results.append(ref)
    assert ray.get(results) == [x + 111 for x in range(20)]


def test_an_actor_runs_programs(ray):
    @ray.remote
    class Shell:
        def run(self):
            import subprocess
            import sys
            return subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout

    assert ray.get(Shell.remote().run.remote()) == "42\n"


def test_remote_makes_an_actor_class_of_a_plain_class(ray):
    class Plain:
        def __init__(self, value):
            self.value = value

        def read(self):
            return self.value

    assert ray.get(ray.remote(Plain).remote(3).read.remote()) == 3
    assert ray.get(ray.remote(num_cpus=1)(Plain).remote(4).read.remote()) == 4
    assert Plain(5).read() == 5


def test_a_result_is_a_copy_of_the_actors_own(ray):
    @ray.remote
    class Owner:
        def __init__(self):
            self.items = [1]

        def share(self):
            return self.items

    owner = Owner.remote()
    ray.get(owner.share.remote()).append(2)
    assert ray.get(owner.share.remote()) == [1]


def test_a_stored_result_is_what_it_was_at_the_return(ray):
    @ray.remote
    class Owner:
        def __init__(self):
            self.items = []

        def append(self):
            self.items.append(len(self.items))
            return self.items

    owner = Owner.remote()
    assert ray.get([owner.append.remote() for _ in range(3)]) == [[0], [0, 1], [0, 1, 2]]


def test_an_argument_is_a_copy_of_the_callers_own(ray):
    @ray.remote
    class Keep:
        def store(self, items):
            self.items = items

        def read(self):
            return self.items

    items = [1]
    keep = Keep.remote()
    keep.store.remote(items)
    items.append(2)
    assert ray.get(keep.read.remote()) == [1]


def test_an_actor_goes_on_after_an_exception(ray):
    @ray.remote
    class Fragile:
        def __init__(self):
            self.calls = 0

        def call(self, fail):
            self.calls += 1
            if fail:
                raise ValueError("asked for")
            return self.calls

    fragile = Fragile.remote()
    with pytest.raises(ValueError):
        ray.get(fragile.call.remote(True))
    assert ray.get(fragile.call.remote(False)) == 2


def test_exit_actor_ends_the_actor_after_the_calls_before_it(ray):
    from_actor = ray.actor.exit_actor

    @ray.remote
    class Leaver:
        def work(self):
            return "worked"

        def leave(self):
            from_actor()

    leaver = Leaver.remote()
    before = leaver.work.remote()
    leave = leaver.leave.remote()
    assert ray.get(before) == "worked"
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(leave)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(leaver.work.remote())


@pytest.mark.needs_concurrency
def test_calls_wait_for_a_constructor_that_takes_its_time(ray, gate):
    @ray.remote
    def late():
        gate.wait_for("first")
        return "argument"

    @ray.remote
    class Slow:
        def __init__(self, value):
            gate.wait_for("second")
            self.value = value

        def read(self):
            return self.value

    slow = Slow.remote(late.remote())
    refs = [slow.read.remote() for _ in range(3)]
    gate.touch("first")
    gate.touch("second")
    assert ray.get(refs) == ["argument"] * 3


@pytest.mark.needs_own_processes
def test_each_actor_has_a_process_of_its_own(ray):
    @ray.remote
    class Where:
        def pid(self):
            return os.getpid()

    actors = [Where.remote() for _ in range(3)]
    pids = ray.get([actor.pid.remote() for actor in actors])
    assert len({os.getpid(), *pids}) == 4
    assert ray.get([actor.pid.remote() for actor in actors]) == pids


@pytest.mark.needs_concurrency
def test_actors_run_side_by_side(ray, gate):
    @ray.remote
    class Meeting:
        def meet(self, me, other):
            gate.touch(me)
            gate.wait_for(other)
            return me

    first, second = Meeting.remote(), Meeting.remote()
    assert ray.get([first.meet.remote("a", "b"), second.meet.remote("b", "a")]) == ["a", "b"]
