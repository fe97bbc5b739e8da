"""In serial order, each run of a program gives the same hashes and ids to refs and handles, in every placement and in every process."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rayshim
from rayshim.calls.handle import ActorHandle
from rayshim.calls.refs import ObjectRef

PROGRAM = """
import os, time
import rayshim as ray

def some_time():
    time.sleep(os.urandom(1)[0] / 20000)  # other in each run, so that processes make their objects in another order

def facts(refs):
    return [list(set(refs)).index(ref) for ref in refs], [hash(ref) for ref in refs], [ref.hex() for ref in refs]

@ray.remote
class Actor:
    def make(self, n):
        some_time()
        refs = [leaf.remote(k) for k in range(n)] + [ray.put(n)]
        return facts(refs), refs, ray.get_runtime_context().get_task_id(), ray.get_runtime_context().get_actor_id()

    def hire(self):
        some_time()
        self.child = Actor.remote()
        return self.child

@ray.remote
def leaf(n):
    some_time()
    ref = ray.put(n)
    return hash(ref), ref.hex(), ray.get_runtime_context().get_task_id()

@ray.remote
def tree(n):
    some_time()
    refs = [tree.remote(n - 1) for _ in range(2)] if n else []
    return facts(refs), ray.get(refs), ray.get_runtime_context().get_task_id()

@ray.remote(num_returns=3)
def three():
    return 1, 2, 3

@ray.remote
def stream():
    yield 1
    some_time()
    yield 2

@ray.remote(num_returns="dynamic")
def dynamic():
    yield 1
    yield 2

ray.init(num_cpus=4, logging_level="ERROR", placement=os.environ["PLACEMENT"], patience=float("inf"))
actors = [Actor.remote() for _ in range(6)]
trees = [tree.remote(2) for _ in range(4)]
made = [actor.make.remote(3) for actor in actors]
hired = ray.get([actor.hire.remote() for actor in actors])
several, values, both = three.remote(), list(stream.remote()), list(ray.get(dynamic.remote()))
puts = [ray.put(k) for k in range(10)]
got = ray.get(made)
refs = [*trees, *made, *several, *values, *both, *puts, *(ref for _, given, *_ in got for ref in given)]
print(facts(refs))
print([(list(set(handles)).index(handle), hash(handle), repr(handle)) for handles in (actors, hired) for handle in handles])
print([(known, [(hash(ref), ref.hex()) for ref in given], *more) for known, given, *more in got])
print(ray.get(trees), ray.get([ref for _, given, *_ in got for ref in given[:3]]))
print(ray.get([actor.make.remote(1) for actor in hired])[0][0])
"""


def run(placement):
    env = {**os.environ, "PLACEMENT": placement, "REACTOR_DELAYS": "500"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_runs_have_the_same_hashes_and_ids_in_each_placement():
    expected = run("inline")
    for placement in ("isolated", "isolated", "packed", "packed", "inline"):
        assert run(placement) == expected, placement


@pytest.fixture(scope="module")
def session():
    rayshim.init(num_cpus=2, logging_level="ERROR")
    yield
    rayshim.shutdown()


@rayshim.remote
class Mirror:
    def look(self, things):
        return things, [hash(thing) for thing in things], [repr(thing) for thing in things]


kinds = st.sampled_from(["put", "call", "actor", "several"])


@settings(max_examples=20, deadline=None)
@given(st.lists(kinds, min_size=1, max_size=8))
def test_hashes_agree_with_equality_in_every_process(session, wanted):
    mirror = Mirror.remote()
    made = {
        "put": lambda: [rayshim.put(1)],
        "call": lambda: [mirror.look.remote([])],
        "actor": lambda: [Mirror.remote()],
        "several": lambda: mirror.look.options(num_returns=3).remote([]),
    }
    things = [thing for kind in wanted for thing in made[kind]()]
    back, hashes, shown = rayshim.get(mirror.look.remote(things))
    assert back == things and hashes == [hash(thing) for thing in things]
    assert [repr(thing) for thing in back] == shown == [repr(thing) for thing in things]
    assert len(set(back) | set(things)) == len({repr(thing) for thing in things}) == len(things)
    assert all(isinstance(thing, (ObjectRef, ActorHandle)) for thing in back)


def test_a_hash_stays_when_the_session_has_ended():
    script = """if True:
        import rayshim as ray
        ray.init(num_cpus=1, logging_level="ERROR")
        ref = ray.put(1)
        before = hash(ref), ref.hex(), {ref: 1}
        ray.shutdown()
        assert (hash(ref), ref.hex(), {ref: 1}) == before
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_generator_has_the_hash_of_its_call():
    script = """if True:
        import rayshim as ray
        ray.init(num_cpus=1, logging_level="ERROR")
        f = ray.remote(lambda: (yield))
        print([hash(stream) for stream in [f.remote() for _ in range(5)]])
    """
    outputs = [subprocess.check_output([sys.executable, "-c", script]) for _ in range(2)]
    assert outputs[0] == outputs[1]
