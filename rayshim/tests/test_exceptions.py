"""Exceptions have Ray's tree, cross processes, and show the user's exception."""

import copy
import logging
import pickle
import re
import sys
import threading

import pytest

from rayshim import exceptions as exc
from rayshim.exceptions import ActorDeath, ActorDiedError, RayTaskError, make_task_error

TREE = """
ActorAlreadyExistsError(ValueError, RayError) ActorDiedError(RayActorError) ActorHandleNotFoundError(ValueError, RayError)
ActorPlacementGroupRemoved(RayError) ActorUnavailableError(RayActorError) ActorUnschedulableError(RayError)
AsyncioActorExit(RayError) AuthenticationError(RayError) CrossLanguageError(RayError)
GetTimeoutError(RayError, TimeoutError) LocalRayletDiedError(RayError) NodeDiedError(RayError)
ObjectFetchTimedOutError(ObjectLostError) ObjectFreedError(ObjectLostError) ObjectLostError(RayError)
ObjectReconstructionFailedError(ObjectLostError) ObjectRefStreamEndOfStreamError(RayError)
ObjectStoreFullError(RayError) OufOfBandObjectRefSerializationException(RayError) OutOfDiskError(RayError)
OutOfMemoryError(RayError) OwnerDiedError(ObjectLostError) PendingCallsLimitExceeded(RayError)
PlasmaObjectNotAvailable(RayError) RayActorError(RayError) RayCgraphCapacityExceeded(RaySystemError)
RayChannelError(RaySystemError) RayChannelTimeoutError(RayChannelError, TimeoutError)
RayDirectTransportError(RaySystemError) RayError(Exception) RaySystemError(RayError) RayTaskError(RayError)
ReferenceCountingAssertionError(ObjectLostError, AssertionError) RpcError(RayError) RuntimeEnvSetupError(RayError)
StreamingGeneratorReplayInconsistentError(RaySystemError) TaskCancelledError(RayError)
TaskPlacementGroupRemoved(RayError) TaskUnschedulableError(RayError) UnserializableException(RayError)
UserCodeException(RayError) WorkerCrashedError(RayError)
"""

EXAMPLES = [
    exc.ActorAlreadyExistsError("taken"),
    exc.ActorUnavailableError("busy", b"\x01" * 16),
    exc.GetTimeoutError("Get timed out: some object(s) not ready."),
    exc.ObjectStoreFullError("10 of 10 bytes used"),
    exc.TaskUnschedulableError(error_message="no such node"),
    exc.ObjectReconstructionFailedError("ab", reason_message="gone"),
    exc.ReferenceCountingAssertionError("ab", None, ""),
    exc.RayChannelTimeoutError("slow"),
    exc.RpcError("lost", 14),
    exc.TaskCancelledError(error_message="by hand"),
    exc.RuntimeEnvSetupError("no pip"),
    exc.WorkerCrashedError(),
    ActorDiedError(ActorDeath("The actor is dead because it was killed by `ray.kill`.", "A", "ab" * 16, 7)),
]


class Custom(Exception):
    kind = "custom"

    def __init__(self, a, b):
        super().__init__(f"{a}-{b}")
        self.a, self.b = a, b

    @property
    def both(self):
        return (self.a, self.b)


class Reducible(Custom):
    def __reduce__(self):
        return Reducible, (self.a, self.b)


class WithLock(Exception):
    def __init__(self):
        self.lock = threading.Lock()


class Unsubclassable(Exception):
    def __init_subclass__(cls, **kwargs):
        raise TypeError("no subclasses of this")


def raised(error):
    try:
        raise error
    except BaseException as caught:
        return caught


def task_error(error, name="f", **more):
    return make_task_error(name, raised(error), 42, **more)


BASES = {name: bases.split(", ") for name, bases in re.findall(r"(\w+)\(([^)]*)\)", TREE)}


def ancestors(name):
    return {name}.union(*(ancestors(base) for base in BASES.get(name, ())))


@pytest.mark.parametrize("name", BASES)
def test_the_tree_is_rays(name):
    found = getattr(exc, name)
    assert found.__module__ == "rayshim.exceptions"
    assert {c for c in BASES if issubclass(found, getattr(exc, c))} == ancestors(name) & BASES.keys()
    assert {c.__name__ for c in found.__mro__} >= ancestors(name)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_every_error_survives_a_process_boundary(error):
    for again in (pickle.loads(pickle.dumps(error)), exc.RayError.from_bytes(error.to_bytes()), copy.copy(error)):
        assert type(again) is type(error) and str(again) == str(error) and repr(again) == repr(error)
        assert again.__dict__ == error.__dict__


def test_a_task_error_is_the_users_exception_too():
    error = task_error(ValueError("bad", 1)).as_instanceof_cause()
    assert isinstance(error, RayTaskError) and isinstance(error, ValueError)
    assert type(error).__name__ == "RayTaskError(ValueError)" and type(error).__module__ == "rayshim.exceptions"
    assert error.args == (error.cause,) and error.cause.args == ("bad", 1)
    assert error.as_instanceof_cause() is error


def test_the_text_tells_who_and_where():
    text = str(task_error(ValueError("bad"), ip="1.2.3.4"))
    lines = text.split("\n")
    assert lines[0] == "ray::f() (pid=42, ip=1.2.3.4)"
    assert "in raised" in lines[1] and lines[-1] == "ValueError: bad"
    text = str(task_error(ValueError("bad"), "A.m", ip="1.2.3.4", actor_repr="A(1)", actor_id="ab12"))
    assert text.startswith("ray::A.m() (pid=42, ip=1.2.3.4, actor_id=ab12, repr=A(1))\n")


def test_frames_of_the_runtime_are_left_out(tmp_path):
    inside = tmp_path / "runtime"
    inside.mkdir()
    (inside / "core.py").write_text("def call(f):\n    return f()\n")
    (tmp_path / "runtime_user.py").write_text("def call(f):\n    return f()\n")
    spaces = []
    for file in (inside / "core.py", tmp_path / "runtime_user.py"):
        spaces.append({})
        exec(compile(file.read_text(), str(file), "exec"), spaces[-1])

    def work():
        raise KeyError("k")

    try:
        spaces[0]["call"](lambda: spaces[1]["call"](work))
    except KeyError as error:
        text = str(make_task_error("f", error, 1, skip=(str(inside),)))
    assert "core.py" not in text
    assert "runtime_user.py" in text and "in work" in text


def test_attributes_methods_and_slots_of_the_cause_show():
    error = task_error(Reducible(1, 2)).as_instanceof_cause()
    assert (error.a, error.b, error.both, error.kind) == (1, 2, (1, 2), "custom")
    assert not hasattr(error, "nothing")
    try:
        open("/does/not/exist")
    except OSError as caught:
        error = make_task_error("f", caught, 1).as_instanceof_cause()
    assert isinstance(error, FileNotFoundError) and (error.errno, error.filename) == (2, "/does/not/exist")


def test_the_users_attribute_wins_over_ours():
    cause = ValueError("x")
    cause.pid = "mine"
    error = make_task_error("f", cause, 42).as_instanceof_cause()
    assert error.pid == "mine" and error.function_name == "f"


def test_dual_errors_pickle_and_copy():
    error = task_error(Reducible(1, 2)).as_instanceof_cause()
    for again in (pickle.loads(pickle.dumps(error)), exc.RayError.from_bytes(error.to_bytes()), copy.copy(error)):
        assert isinstance(again, Reducible) and isinstance(again, RayTaskError)
        assert again.both == (1, 2) and str(again) == str(error)


def test_the_dual_class_is_made_once_per_class():
    first, second = (task_error(ValueError(i)).as_instanceof_cause() for i in range(2))
    assert type(first) is type(second)
    assert str(first) != str(second)


def test_a_cause_that_is_base_of_ray_errors_needs_no_dual():
    error = task_error(Exception("x"))
    assert error.as_instanceof_cause() is error


def test_a_base_exception():
    error = task_error(KeyboardInterrupt()).as_instanceof_cause()
    assert isinstance(error, KeyboardInterrupt) and isinstance(error, RayTaskError)


def test_a_constructor_or_new_with_arguments_of_its_own():
    class Picky(Exception):
        def __new__(cls, a, b):
            return super().__new__(cls, a, b)

        def __init__(self, a, b):
            self.a = a

    error = task_error(Picky(1, 2)).as_instanceof_cause()
    assert isinstance(error, Picky) and error.a == 1


def test_a_class_that_cannot_be_subclassed(caplog):
    for _ in range(2):
        plain = task_error(Unsubclassable("x"))
        with caplog.at_level(logging.WARNING):
            assert plain.as_instanceof_cause() is plain
        assert "can't be subclassed" in caplog.text
    assert isinstance(plain.cause, Unsubclassable)


def test_an_unpicklable_cause_is_told_in_words(caplog):
    error = task_error(WithLock())
    assert type(error.cause) is exc.RayError
    assert "WithLock isn't serializable: cannot pickle '_thread.lock' object" in str(error.cause)
    assert "Original exception details" in str(error.cause) and "WithLock" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_cause_that_cannot_be_unpickled_leaves_its_text():
    found = exc.RayError.from_bytes(task_error(Custom(1, 2)).to_bytes())
    assert type(found) is exc.UnserializableException
    assert "Failed to deserialize exception" in str(found) and "Custom: 1-2" in str(found)


def test_through_several_tasks_the_first_cause_stays_and_all_tasks_show():
    inner = task_error(ValueError("deep"), "inner").as_instanceof_cause()
    outer = make_task_error("outer", raised(inner), 43)
    assert type(outer.cause) is ValueError
    assert isinstance(outer.as_instanceof_cause(), ValueError)
    text = str(outer)
    assert text.index("ray::outer() (pid=43") < text.index("ray::inner() (pid=42") < text.index("ValueError: deep")


def test_a_failed_argument():
    inner = task_error(ValueError("deep"), "inner")
    error = make_task_error("outer", inner, 43, dependency=True)
    lines = str(error).split("\n")
    assert lines[1] == "  At least one of the input arguments for this task could not be computed:"
    assert lines[2].startswith("ray.exceptions.RayTaskError: ray::inner()")
    assert isinstance(error.as_instanceof_cause(), ValueError)
    died = make_task_error("outer", ActorDiedError("gone"), 43, dependency=True).as_instanceof_cause()
    assert isinstance(died, ActorDiedError)


def test_chained_exceptions_show_both_parts():
    try:
        try:
            1 / 0
        except ZeroDivisionError as first:
            raise RuntimeError("second") from first
    except RuntimeError as error:
        text = str(make_task_error("f", error, 1))
    assert text.count("ray::f() (pid=1") == 2
    assert "The above exception was the direct cause of the following exception:" in text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
def test_exception_groups():
    error = task_error(ExceptionGroup("several", [ValueError(1), KeyError(2)])).as_instanceof_cause()  # noqa: F821
    assert isinstance(error, ExceptionGroup) and len(error.exceptions) == 2  # noqa: F821
    assert str(error).startswith("ray::f() (pid=42") and "several (2 sub-exceptions)" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert again.message == "several"


def test_rays_constructor_by_position():
    error = RayTaskError("f", "Traceback (most recent call last):\nValueError: x", ValueError("x"), "ray::g", 7, "::1")
    assert str(error) == "ray::g() (pid=7, ip=::1)\nValueError: x"


def test_an_actor_that_died():
    error = ActorDiedError(
        ActorDeath("The actor is dead because its worker process has died.", "A", "ab" * 16, 7, "n", "ns", "::1")
    )
    assert str(error).split("\n") == [
        "The actor died unexpectedly before finishing this task.",
        "\tclass_name: A",
        "\tactor_id: " + "ab" * 16,
        "\tpid: 7",
        "\tname: n",
        "\tnamespace: ns",
        "\tip: ::1",
        "The actor is dead because its worker process has died.",
    ]
    assert error.actor_id == "ab" * 16 and not error.actor_init_failed and not error.preempted
    assert str(ActorDiedError()) == ActorDiedError.BASE_ERROR_MSG


def test_an_actor_whose_constructor_raised():
    error = ActorDiedError(task_error(ValueError("no"), "A.__init__", actor_repr="A", actor_id="ab"))
    assert error.actor_init_failed and error.actor_id == "ab"
    assert "The actor died because of an error raised in its creation task, ray::A.__init__()" in str(error)
    assert "ValueError: no" in str(error)
    assert str(ActorDiedError.from_task_error(error.args[0])) == str(error)


def test_texts():
    assert "unavailable: busy" in str(exc.ActorUnavailableError("busy", None))
    assert str(exc.TaskCancelledError()) == ""
    assert str(exc.TaskCancelledError("TaskID(1)")) == "Task: TaskID(1) was cancelled. "
    assert "full of objects that are still in scope" in str(exc.ObjectStoreFullError("x"))
    assert str(exc.RuntimeEnvSetupError("x")) == "Failed to set up runtime environment.\nx"
    assert "manually freed" in str(exc.ObjectFreedError("ab", None, ""))
    assert str(exc.RaySystemError("x", "tb")) == "System error: x\ntraceback: tb"
