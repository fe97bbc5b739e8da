"""Ray's exceptions, made by a program: constructors, `args`, texts, and the ways to send them."""

import os
import pickle
from types import SimpleNamespace

import pytest

OF_LOST_OBJECTS = ["ObjectLostError", "ObjectFetchTimedOutError", "ReferenceCountingAssertionError", "ObjectFreedError", "OwnerDiedError"]
WITH_ANY_ARGUMENTS = [
    "RayError", "WorkerCrashedError", "GetTimeoutError", "PlasmaObjectNotAvailable", "AsyncioActorExit", "PendingCallsLimitExceeded",
    "LocalRayletDiedError", "TaskPlacementGroupRemoved", "ActorPlacementGroupRemoved", "ObjectStoreFullError", "OutOfDiskError",
    "ObjectRefStreamEndOfStreamError", "OufOfBandObjectRefSerializationException", "UserCodeException",
]
WITH_A_MESSAGE = [
    "TaskUnschedulableError", "ActorUnschedulableError", "ActorAlreadyExistsError", "ActorHandleNotFoundError", "NodeDiedError",
    "OutOfMemoryError", "RuntimeEnvSetupError", "RaySystemError", "RayChannelError", "RayCgraphCapacityExceeded", "RpcError",
    "UnserializableException",
]


def made(ray):
    """Pairs of an error and its arguments."""
    for names, arguments in [(OF_LOST_OBJECTS, ("ab", None, "here")), (WITH_ANY_ARGUMENTS, ()), (WITH_ANY_ARGUMENTS, ("a", 1)),
                             (WITH_A_MESSAGE, ("why",)), (["RayActorError", "ActorDiedError", "TaskCancelledError"], ()),
                             (["RayActorError"], ("ab", "why")), (["ActorUnavailableError"], ("why", b"\x01" * 16)),
                             (["ObjectReconstructionFailedError"], ("ab",))]:
        for name in names:
            yield getattr(ray.exceptions, name)(*arguments), arguments


def test_arguments_stay_and_travel(ray):
    for error, arguments in made(ray):
        assert error.args == arguments
        for copy in (pickle.loads(pickle.dumps(error)), ray.exceptions.RayError.from_bytes(error.to_bytes())):
            assert type(copy) is type(error) and copy.args == arguments and str(copy) == str(error)
            assert copy.__dict__.keys() == error.__dict__.keys()


@pytest.mark.parametrize("name", OF_LOST_OBJECTS)
def test_an_error_of_a_lost_object_needs_three_arguments(ray, name):
    kind = getattr(ray.exceptions, name)
    for arguments in [(), ("ab",), ("ab", None)]:
        with pytest.raises(TypeError, match="missing"):
            kind(*arguments)
    error = kind("ab", None, "f.py:1 | g.py:2")
    assert error.call_site == "f.py:1\n  g.py:2"
    assert str(error).startswith("Failed to retrieve object ab. The ObjectRef was created at: f.py:1\n  g.py:2")


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", 1)])
def test_the_text_of_a_crash_is_not_that_of_its_arguments(ray, arguments):
    text = str(ray.exceptions.WorkerCrashedError(*arguments))
    assert text.startswith("The worker died unexpectedly while executing this task.")
    assert text == str(ray.exceptions.WorkerCrashedError())


@pytest.mark.needs_processes
def test_a_crash_has_no_arguments(ray):
    @ray.remote(max_retries=0)
    def crash():
        os._exit(1)

    with pytest.raises(ray.exceptions.WorkerCrashedError) as caught:
        ray.get(crash.remote())
    assert caught.value.args == ()


def test_the_id_of_an_unavailable_actor_is_bytes(ray):
    with pytest.raises(TypeError, match="Unsupported type: <class 'str'>, expected bytes"):
        ray.exceptions.ActorUnavailableError("why", "ab")


@pytest.mark.parametrize("kind, hidden", [("UserCodeException", True), ("ValueError", False)])
def test_the_frames_of_data_are_not_shown_above_those_of_its_users_code(ray, kind, hidden):
    inside = "def run(user, error):\n    try:\n        user()\n    except KeyError as e:\n        raise error('failed') from e\n"
    outside = "def user():\n    second()\ndef second():\n    third()\ndef third():\n    raise KeyError('mine')\n"

    @ray.remote
    def work():
        names = {}
        exec(compile(inside, "/lib/ray/data/_internal/planner.py", "exec"), names)
        exec(compile(outside, "/lib/mine.py", "exec"), names)
        names["run"](names["user"], getattr(ray.exceptions, kind, ValueError))

    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        ray.get(work.remote())
    lines = str(caught.value).splitlines()
    assert ('/lib/ray/data/_internal/planner.py", line' in str(caught.value)) is not hidden
    assert '  File "/lib/mine.py", line 6, in third' in lines
    assert "KeyError: 'mine'" in lines
    assert sum("work()" in line and "pid=" in line for line in lines) == 2


def test_errors_of_another_process(ray):
    def read(pickled, language=0):
        return ray.exceptions.RayError.from_ray_exception(
            SimpleNamespace(language=language, serialized_exception=pickled, formatted_exception_string="its text")
        )

    assert repr(read(pickle.dumps(ValueError(1)))) == "ValueError(1)"
    unknown = read(b"nothing")
    assert type(unknown) is ray.exceptions.UnserializableException and "its text" in str(unknown)
    assert type(read(b"", language=1)) is ray.exceptions.CrossLanguageError
