"""Packed placement: many actors to a worker."""

import ctypes
import os
import platform
import signal
import threading
import time

import pytest

import rayshim as ray
from rayshim.placement.packed import packed

FUTEX = 202 if platform.machine() == "x86_64" else 98  # numbers of the kernel (futex(2))
FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE = 128, 129


@pytest.fixture
def one_worker():
    ray.init(placement=packed(1), num_cpus=8, seed=7, log_to_driver=False)
    yield
    ray.shutdown()


@ray.remote
class Plain:
    def __init__(self, value=None):
        self.value = value

    def get(self):
        return self.value

    def set(self, value):
        self.value = value

    def pid(self):
        return os.getpid()

    def thread(self):
        return threading.get_ident()

    def ask(self, other):
        return ray.get(other.get.remote())

    def get_of(self, refs):
        return ray.get(refs[0])

    def sleep_until(self, path):
        while not os.path.exists(path):
            time.sleep(0.001)

    def spin_until(self, path):
        while not os.path.exists(path):
            pass

    def block(self, path):
        with open(path):  # a FIFO: until somebody opens it for writing
            return "opened"

    def word(self):
        self.futex = ctypes.c_int(0)
        return ctypes.addressof(self.futex)

    def wait_as_at_a_barrier(self):
        while self.futex.value == 0:
            ctypes.CDLL(None).syscall(FUTEX, ctypes.byref(self.futex), FUTEX_WAIT_PRIVATE, 0, None)
        return self.futex.value

    def raise_word(self, address):
        ctypes.c_int.from_address(address).value = 1
        ctypes.CDLL(None).syscall(FUTEX, ctypes.c_void_p(address), FUTEX_WAKE_PRIVATE, 1)

    def touch(self, path):
        open(path, "w").close()

    def fail(self):
        raise ValueError("mine")

    def leave(self):
        ray.actor.exit_actor()

    def make(self):
        self.child = Plain.remote("child")
        return [self.child]


def alive(actor):
    try:
        ray.get(actor.get.remote())
        return True
    except ray.exceptions.ActorDiedError:
        return False


def test_actors_share_the_workers():
    ray.init(placement=packed(2), num_cpus=8)
    pids = ray.get([actor.pid.remote() for actor in [Plain.remote() for _ in range(6)]])
    ray.shutdown()
    assert len(set(pids)) == 2 and os.getpid() not in pids
    assert [pids.count(pid) for pid in set(pids)] == [3, 3]


@pytest.mark.parametrize("bad", [0, -1, "two"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(bad):
    with pytest.raises(ValueError, match="positive number"):
        packed(bad)


def test_a_call_that_waits_lets_its_neighbours_run(one_worker):
    a, b = Plain.remote(1), Plain.remote(2)
    assert ray.get([a.ask.remote(b) for _ in range(5)]) == [2] * 5


def test_a_call_is_not_stuck_below_another_that_waits_for_its_actor(one_worker, tmp_path):
    first, second, third = Plain.remote(1), Plain.remote(2), Plain.remote(3)
    held = third.sleep_until.remote(str(tmp_path / "go"))
    waits = first.get_of.remote([held])  # first waits for third
    behind = second.ask.remote(first)  # second waits for a call that is behind that one
    Plain.remote().touch.remote(str(tmp_path / "go"))
    assert ray.get([waits, behind]) == [None, 1]


def test_a_chain_of_waits_is_as_long_as_the_actors_are_many(one_worker):
    actors = [Plain.remote(k) for k in range(40)]
    refs = [actors[0].get.remote()]
    for actor in actors[1:]:
        refs.append(actor.get_of.remote([refs[-1]]))
    assert ray.get(refs) == [0] * 40


@pytest.mark.parametrize("method", ["sleep_until", "spin_until"])
def test_a_call_that_goes_on_lets_its_neighbours_run(one_worker, tmp_path, method):
    busy, other = Plain.remote(), Plain.remote()
    path = str(tmp_path / "gate")
    going = getattr(busy, method).remote(path)
    assert ray.get(other.get.remote()) is None
    ray.get([other.touch.remote(path), going])


def test_sleep_is_sleep(one_worker):
    @ray.remote
    class Sleeper:
        def sleep(self, *seconds):
            try:
                return time.sleep(*seconds)
            except (TypeError, ValueError) as error:
                return type(error)

        def itself(self):
            return time.sleep

    sleeper = Sleeper.remote()
    found = ray.get(
        [sleeper.sleep.remote(*given) for given in ((0,), (0.001,), (-1,), ("1",), ())] + [sleeper.itself.remote()]
    )
    assert found == [None, None, ValueError, TypeError, TypeError, time.sleep]


def test_a_call_that_is_blocked_in_the_system_lets_its_neighbours_run(one_worker, tmp_path):
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    blocked, other = Plain.remote(), Plain.remote(5)
    going = blocked.block.remote(path)
    assert ray.get(other.get.remote()) == 5
    open(path, "w").close()
    assert ray.get(going) == "opened"


def test_one_that_sleeps_as_at_a_barrier_lets_its_neighbours_run_in_the_end(one_worker):
    waiting, neighbour = Plain.remote(), Plain.remote()
    address = ray.get(waiting.word.remote())
    going = waiting.wait_as_at_a_barrier.remote()
    ray.get(neighbour.raise_word.remote(address))
    assert ray.get(going) == 1


def test_calls_of_one_actor_keep_their_order_while_it_waits(one_worker, tmp_path):
    actor, other = Plain.remote(0), Plain.remote()
    held = other.sleep_until.remote(str(tmp_path / "go"))
    refs = [actor.get_of.remote([held]), actor.set.remote(1), actor.get.remote()]
    done, _ = ray.wait(refs, num_returns=3, timeout=0.2)
    assert done == []
    (tmp_path / "go").touch()
    assert ray.get(refs) == [None, None, 1]


def test_class_attributes_are_an_actors_own(one_worker):
    class Tag:
        pass

    @ray.remote
    class Shares:
        items = []

        def add(self, item):
            self.items.append(item)
            return self.items

        def knows(self, tag):
            return isinstance(tag, Tag)

        def tag(self):
            return Tag()

    first, second = Shares.remote(), Shares.remote()
    assert ray.get([first.add.remote(1), second.add.remote(2), first.add.remote(3)]) == [[1], [2], [1, 3]]
    assert (
        ray.get(
            [
                first.knows.remote(Tag()),
                second.knows.remote(first.tag.remote()),
                first.knows.remote(second.tag.remote()),
            ]
        )
        == [True] * 3
    )


# ---- ends


@pytest.mark.parametrize("method", ["sleep_until", "spin_until"])
def test_kill_ends_one_actor_whatever_it_is_doing(one_worker, tmp_path, method):
    doomed, other = Plain.remote(), Plain.remote(2)
    running, waiting = getattr(doomed, method).remote(str(tmp_path / "never")), doomed.get.remote()
    assert ray.get(other.get.remote()) == 2
    ray.kill(doomed)
    for ref in (running, waiting, doomed.get.remote()):
        with pytest.raises(ray.exceptions.ActorDiedError, match="killed by `ray.kill`"):
            ray.get(ref)
    assert ray.get(other.get.remote()) == 2


def test_kill_ends_one_actor_that_waits(one_worker, tmp_path):
    doomed, busy, other = Plain.remote(), Plain.remote(), Plain.remote(2)
    going = busy.sleep_until.remote(str(tmp_path / "go"))
    running = doomed.get_of.remote([going])
    ray.wait([running], timeout=0.1)
    ray.kill(doomed)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(running)
    assert ray.get(other.get.remote()) == 2
    (tmp_path / "go").touch()
    assert ray.get(going) is None


def test_kill_ends_an_actor_in_the_middle_of_a_stream(one_worker):
    @ray.remote
    class Counter:
        def count(self):
            number = 0
            while True:
                yield number
                number += 1

    doomed, other = Counter.remote(), Plain.remote(2)
    stream = doomed.count.remote()
    assert [ray.get(next(stream)) for _ in range(3)] == [0, 1, 2]
    ray.kill(doomed)
    with pytest.raises(ray.exceptions.ActorDiedError):
        while True:
            ray.get(next(stream))
    assert ray.get(other.get.remote()) == 2


def test_an_actor_that_leaves_leaves_alone(one_worker):
    leaver, other = Plain.remote(), Plain.remote(2)
    refs = [leaver.leave.remote(), leaver.get.remote()]
    for ref in refs:
        with pytest.raises(ray.exceptions.ActorDiedError, match="exit_actor"):
            ray.get(ref)
    assert ray.get(other.get.remote()) == 2


def test_a_constructor_that_fails_fails_one_actor(one_worker):
    @ray.remote
    class Broken:
        def __init__(self):
            raise ValueError("no")

        def get(self):
            pass

    broken, other = Broken.remote(), Plain.remote(2)
    with pytest.raises(ray.exceptions.ActorDiedError, match="no"):
        ray.get(broken.get.remote())
    assert ray.get(other.get.remote()) == 2


def test_a_worker_takes_new_actors_where_old_ones_were(one_worker):
    first = Plain.remote(1)
    pid = ray.get(first.pid.remote())
    for k in range(20):
        actor = Plain.remote(k)
        assert ray.get([actor.get.remote(), actor.pid.remote()]) == [k, pid]
    assert ray.get(first.get.remote()) == 1


def test_what_an_actor_has_made_ends_with_it(one_worker):
    maker, other = Plain.remote(), Plain.remote(2)
    (child,) = ray.get(maker.make.remote())
    assert ray.get(child.get.remote()) == "child"
    ray.kill(maker)
    with pytest.raises(ray.exceptions.ActorDiedError, match="its owner has died"):
        while True:
            ray.get(child.get.remote())
    assert ray.get(other.get.remote()) == 2


def test_a_worker_that_dies_takes_its_actors_and_their_errors_name_them_all(one_worker, tmp_path):
    busy, idle, late = Plain.remote(), Plain.remote(), Plain.remote()
    running = busy.sleep_until.remote(str(tmp_path / "never"))
    os.kill(ray.get(idle.pid.remote()), signal.SIGKILL)
    for ref in (running, idle.get.remote(), late.get.remote()):
        with pytest.raises(ray.exceptions.ActorDiedError, match="SIGKILL.*Plain#0, Plain#1, Plain#2"):
            ray.get(ref)
    assert ray.get(Plain.remote(4).get.remote()) == 4  # in a new worker


def test_the_error_of_each_actor_is_its_own(one_worker):
    actors = [Plain.remote() for _ in range(2)]
    os.kill(ray.get(actors[0].pid.remote()), signal.SIGKILL)
    for actor in actors:
        with pytest.raises(ray.exceptions.ActorDiedError) as told:
            ray.get(actor.get.remote())
        assert actor._actor_id.hex() in str(told.value)


# ---- who shares


@ray.remote
class Async:
    async def pid(self):
        return os.getpid()


class Grouped:
    def pid(self):
        return os.getpid()


def test_actors_that_run_several_calls_have_a_process_of_their_own(one_worker):
    plain, threaded, coroutines = Plain.remote(), Plain.options(max_concurrency=2).remote(), Async.remote()
    grouped = ray.remote(concurrency_groups={"io": 1})(Grouped).remote()
    restarted = Plain.options(max_restarts=1).remote()
    assert len(set(ray.get([actor.pid.remote() for actor in (plain, threaded, coroutines, grouped, restarted)]))) == 5


@ray.remote
class Endless:
    def __init__(self):
        self.steps = 0

    def run(self):
        while True:
            self.steps += 1
            time.sleep(0.001)

    def pid(self):
        return os.getpid()


def test_an_actor_with_a_method_that_cannot_return_has_a_process_of_its_own(one_worker):
    plain, endless = Plain.remote(), Endless.remote()
    pids = ray.get([plain.pid.remote(), endless.pid.remote()])
    assert len(set(pids)) == 2
    endless.run.remote()
    assert ray.get(plain.get.remote()) is None
    ray.kill(endless)


def returns(self):
    while True:
        if self.pid():
            return 1


def leaves_the_loop(self):
    while True:
        if self.pid():
            break


def only_raises(self):
    raise NotImplementedError


def yields(self):
    while True:
        yield 1


@pytest.mark.parametrize("method", [returns, leaves_the_loop, only_raises, yields], ids=lambda f: f.__name__)
def test_one_whose_methods_can_return_shares(one_worker, method):
    actor = ray.remote(type("Plain", (), {"method": method, "pid": lambda self: os.getpid()})).remote()
    assert ray.get(actor.pid.remote()) == ray.get(Plain.remote().pid.remote())


def test_one_that_did_not_return_in_an_earlier_run_has_a_process_of_its_own(tmp_path):
    def run(placement):
        ray.init(placement=placement, num_cpus=8)
        busy, *others = [Plain.remote() for _ in range(3)]
        pids = ray.get([actor.pid.remote() for actor in (busy, *others)])
        busy.sleep_until.remote(str(tmp_path / "never"))
        ray.get([actor.get.remote() for actor in others])
        ray.graph().save(tmp_path / "saved.json")
        ray.shutdown()
        return pids

    assert len(set(run(packed(1)))) == 1
    busy, *others = run(packed(1, recording=tmp_path / "saved.json"))
    assert len(set(others)) == 1 and busy not in others


def test_each_actor_knows_itself(one_worker):
    @ray.remote
    class Known:
        def who(self):
            context = ray.get_runtime_context()
            return context.get_actor_id(), context.get_actor_name()

    actors = [Known.options(name=f"number {k}").remote() for k in range(3)]
    assert ray.get([actor.who.remote() for actor in actors]) == [
        (a._actor_id.hex(), f"number {k}") for k, a in enumerate(actors)
    ]


def test_an_earlier_run_tells_who_shares_a_worker(tmp_path):
    path = tmp_path / "recorded.json"

    def run(placement):
        ray.init(placement=placement, num_cpus=8)
        long, *short = [Plain.remote() for _ in range(4)]
        for _ in range(3):
            ray.get([long.spin_until.remote(str(path))] if not path.exists() else [])
            ray.get([actor.get.remote() for actor in short])
            if not path.exists():
                ray.get(short[0].touch.remote(str(path)))
        pids = ray.get([actor.pid.remote() for actor in (long, *short)])
        ray.graph().save(tmp_path / "saved.json")
        ray.shutdown()
        return pids

    import json

    saved = {
        "measured": {
            f"Plain#{k}.get": {"calls": 1, "seconds": seconds} for k, seconds in enumerate((3.0, 1.0, 1.0, 1.0))
        }
    }
    path.touch()
    (tmp_path / "given.json").write_text(json.dumps(saved))
    first, *others = run(packed(2, recording=tmp_path / "given.json"))
    assert first not in others and len(set(others)) == 1
    assert len(set(run(packed(2, recording=tmp_path / "saved.json")))) == 2  # what `save` wrote can be read


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    (tmp_path / "other.json").write_text('{"patterns": 3}')
    with pytest.raises(ValueError, match="rayshim.graph"):
        ray.init(placement=packed(recording=tmp_path / "other.json"))
    assert not ray.is_initialized()


def test_the_graph_shows_the_workers():
    ray.init(placement=packed(2), num_cpus=8)
    actors = [Plain.remote(k) for k in range(3)]
    for _ in range(3):
        ray.get([actor.get.remote() for actor in actors])
    graph = ray.graph()
    ray.shutdown()
    assert "worker 0: Plain#0, Plain#2\nworker 1: Plain#1" in graph.text()
    assert "Plain#35;1 · worker 1" in graph.mermaid() and "Plain#1 · worker 1" in graph.dot()


def test_members_of_a_collective_group_that_share_a_worker_meet(one_worker):
    torch = pytest.importorskip("torch")

    @ray.remote(num_cpus=0)
    class Member:
        def total(self, rank):
            from rayshim.util import collective

            collective.init_collective_group(3, rank, "gloo", "together")
            tensor = torch.ones(2) * (rank + 1)
            collective.allreduce(tensor, "together")
            return tensor.tolist(), os.getpid()

    found = ray.get([Member.remote().total.remote(rank) for rank in range(3)])
    assert [tensor for tensor, _ in found] == [[6.0, 6.0]] * 3
    assert len({pid for _, pid in found}) == 1
