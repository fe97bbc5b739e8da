"""Sessions that several threads begin, use and end at once."""

import functools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from reactor import STARTUP, PhysicalAction, Program, Reactor, reaction

import rayshim as ray
from rayshim.session import session


@pytest.fixture(autouse=True)
def ended():
    ray.shutdown()
    yield
    ray.shutdown()


@pytest.fixture(params=["isolated", "packed", "inline"])
def placement(request, monkeypatch):
    monkeypatch.setenv("RAYSHIM_PLACEMENT", request.param)


def together(*functions):
    """What they return, or the exception, when they are begun at the same time in threads of their own."""
    start = threading.Barrier(len(functions))

    def run(function):
        start.wait()
        try:
            return function()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(functions)) as threads:
        return [future.result(timeout=200) for future in [threads.submit(run, function) for function in functions]]


@ray.remote
class Actor:
    def ping(self):
        return "pong"


@ray.remote
def increment(x):
    return x + 1


def test_threads_that_come_first_at_once_share_one_session(placement):
    begun = []
    hook = functools.partial(begun.append, 1)
    session.after_begin.append(hook)
    try:
        uses = (
            lambda: ray.get(Actor.remote().ping.remote()),
            lambda: ray.get(increment.remote(1)),
            lambda: ray.get(ray.put(3)),
        )
        assert together(*(3 * uses)) == 3 * ["pong", 2, 3]
        assert len(begun) == 1
    finally:
        session.after_begin.remove(hook)  # modules that are imported meanwhile have hooks of their own


def test_a_session_whose_begin_fails_is_over(placement):
    def hook():
        raise OSError("told")

    session.after_begin.append(hook)
    try:
        with pytest.raises(OSError, match="told"):
            ray.init(num_cpus=1)
        assert not ray.is_initialized()
    finally:
        session.after_begin.remove(hook)
    ray.init(num_cpus=1)
    assert ray.get(increment.remote(1)) == 2


def test_of_two_threads_that_call_init_one_is_refused(placement):
    outcomes = together(*2 * [lambda: ray.init(num_cpus=1)])
    (error,) = [o for o in outcomes if isinstance(o, Exception)]
    assert isinstance(error, RuntimeError) and "twice" in str(error)
    assert ray.get(increment.remote(1)) == 2


def test_two_threads_may_call_init_and_ignore_that_it_was_called(placement):
    assert not any(
        isinstance(o, Exception) for o in together(*4 * [lambda: ray.init(num_cpus=1, ignore_reinit_error=True)])
    )
    assert ray.get(increment.remote(1)) == 2


def test_init_waits_for_the_end_of_the_session_that_another_thread_ends(placement):
    for _ in range(5):
        ray.init(num_cpus=1)
        ended, again = together(ray.shutdown, lambda: ray.init(num_cpus=1))
        assert ended is None
        if isinstance(again, Exception):
            assert "twice" in str(again)  # it came first
            ray.init(num_cpus=1)
        assert ray.get(increment.remote(1)) == 2
        ray.shutdown()


def test_two_threads_may_end_a_session(placement):
    ray.init(num_cpus=1)
    assert together(ray.shutdown, ray.shutdown, ray.shutdown) == [None] * 3
    assert not ray.is_initialized()


def test_init_says_that_the_process_which_starts_the_workers_was_killed(monkeypatch):
    from reactor.runtime.driver.driver import Driver

    spawn = Driver._spawn

    def spawn_and_kill(driver, *arguments):
        spawn(driver, *arguments)
        os.kill(driver.zygote, signal.SIGKILL)
        os.waitid(os.P_PID, driver.zygote, os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(Driver, "_spawn", spawn_and_kill)
    with pytest.raises(RuntimeError, match="init: the process that starts the workers .* ended before it was ready"):
        ray.init()
    assert not ray.is_initialized()
    monkeypatch.undo()
    ray.init(num_cpus=1, logging_level="ERROR")
    try:
        assert ray.get(ray.put(1)) == 1
    finally:
        ray.shutdown()


def test_a_session_cannot_be_started_by_what_ends_one():
    ray.init(num_cpus=1)
    found = []

    def start():
        try:
            ray.init()
        except RuntimeError as error:
            found.append(str(error))

    session.before_end.append(start)
    try:
        ray.shutdown()
    finally:
        session.before_end.pop()
    assert len(found) == 1 and "shutdown" in found[0]


def test_a_call_whose_argument_is_being_pickled_when_the_session_ends_is_an_error():
    ray.init(num_cpus=1)
    pickling, go_on = threading.Event(), threading.Event()

    class Slow:
        def __reduce__(self):
            pickling.set()
            go_on.wait(30)
            return int, (1,)

    def end():
        pickling.wait(30)
        threading.Timer(0.2, go_on.set).start()
        ray.shutdown()

    outcome, ended = together(lambda: ray.get(increment.remote(Slow())), end)
    assert ended is None
    assert isinstance(outcome, (RuntimeError, ValueError)), outcome


def test_a_call_in_the_pickling_of_an_argument_does_not_begin_another_session():
    ray.init(num_cpus=1)
    pickling, ended = threading.Event(), threading.Event()

    errors = []

    class Calls:
        def __reduce__(self):
            pickling.set()
            while session.current is not None:
                time.sleep(0.001)
            try:
                ray.get(increment.remote(1))
            except RuntimeError as error:
                errors.append(str(error))
            return int, (1,)

    def end():
        pickling.wait(30)
        ray.shutdown()
        ended.set()

    together(lambda: ray.put(Calls()), end)
    assert len(errors) == 1 and "shut down" in errors[0]
    assert ended.is_set() and not ray.is_initialized()


STORM = """
    import faulthandler, logging, os, random, sys, threading, time
    faulthandler.enable()
    faulthandler.dump_traceback_later(150, exit=True)
    import numpy as np
    import rayshim as ray

    @ray.remote
    class Actor:
        def give(self, x):
            return x

        def count(self, n):
            yield from range(n)

    @ray.remote
    def give(x):
        return x

    class Slow:
        def __reduce__(self):
            time.sleep(0.001)
            return Slow, ()

    def use(stop, seed):
        draw, actor, large = random.Random(seed), None, np.ones(200000)
        uses = [
            lambda: ray.get(actor.give.remote(Slow())),
            lambda: ray.get(ray.put(large)),
            lambda: ray.wait([give.remote(i) for i in range(5)], num_returns=3),
            lambda: [ray.get(x) for x in actor.count.options(num_returns="streaming").remote(4)],
            lambda: ray.get([give.remote(Slow()) for _ in range(3)]),
            lambda: ray.get(actor.give.remote(large)),
            lambda: ray.get(actor.give.remote(ray.put(Slow())), timeout=1),
        ]
        while not stop.is_set():
            try:
                actor = actor or Actor.remote()
                draw.choice(uses)()
            except (RuntimeError, ValueError, ray.exceptions.RayError):
                actor = None

    logging.disable(logging.INFO)
    sys.setswitchinterval(1e-4)
    for n in range(15):
        if n % 2:
            ray.init(num_cpus=2, log_to_driver=False)
        stop = threading.Event()
        threads = [threading.Thread(target=use, args=(stop, 4 * n + i)) for i in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(random.random() * 0.1)
        ray.shutdown()
        time.sleep(random.random() * 0.05)
        stop.set()
        for thread in threads:
            thread.join()
        ray.shutdown()
    print("calm")
"""


def run(text):
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    return ended.stdout


def test_calls_of_threads_survive_the_ends_of_sessions(placement):
    assert run(STORM) == "calm\n"


def test_a_thread_that_outlives_the_program_starts_no_session():
    out = run("""
        import atexit, threading
        import rayshim as ray
        from rayshim.session import session
        ray.init(num_cpus=1)

        going = threading.Event()

        def late():
            going.set()
            thread.join()

        def call():
            going.wait()
            try:
                ray.put(1)
            except RuntimeError as error:
                print("the program is ending" in str(error))

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        atexit.register(late)
        atexit.unregister(session.end_at_exit)
        atexit.register(session.end_at_exit)  # the last registered is called first
        """)
    assert out == "True\n"


class Reacts(Reactor):
    other = PhysicalAction()

    def __init__(self, does):
        self.does = does

    @reaction(STARTUP, effects=other)
    def begin(self):
        self.does()


@pytest.mark.parametrize("of_program", ["isolated", "packed"])
def test_a_process_has_one_session_or_one_reactor_program_on_workers(placement, of_program):
    """The other is refused, and neither ends the one that is there."""

    def run(does, placement):
        Program(Reacts(does), placement=placement, keepalive=False).run()

    def refused():
        with pytest.raises(
            RuntimeError,
            match="init: this process takes part in a run already, for example of a reactor program on workers",
        ):
            ray.init(num_cpus=1)

    ray.init(num_cpus=1)
    actor = Actor.remote()
    ran = []
    with pytest.raises(RuntimeError, match=f'placement="{of_program}": this process takes part in a session'):
        run(functools.partial(ran.append, 1), of_program)
    run(functools.partial(ran.append, 2), "inline")
    assert ran == [2]
    assert ray.get([actor.ping.remote(), increment.remote(1)]) == ["pong", 2]
    ray.shutdown()
    run(refused, of_program)
    ray.init(num_cpus=1)
    assert ray.get(increment.remote(1)) == 2
