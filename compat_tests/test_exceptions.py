import threading
import traceback

import pytest


class Custom(Exception):
    """Known to driver and workers by import."""


def test_a_tasks_exception_is_raised_as_its_own_type_and_rays(ray):
    @ray.remote
    def fail():
        raise KeyError("missing")

    with pytest.raises(KeyError) as caught:
        ray.get(fail.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert isinstance(caught.value, ray.exceptions.RayError)


def test_a_methods_exception_is_raised_as_its_own_type_and_rays(ray):
    @ray.remote
    class Fragile:
        def fail(self):
            raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError, match="Fragile.fail") as caught:
        ray.get(Fragile.remote().fail.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_the_original_exception_is_the_cause(ray):
    class Local(Exception):
        def __init__(self, code, detail="d"):
            super().__init__(code, detail)
            self.code = code
            self.detail = detail

    @ray.remote
    def fail():
        raise Local(7)

    with pytest.raises(Local) as caught:
        ray.get(fail.remote())
    assert type(caught.value.cause) is Local
    assert (caught.value.cause.code, caught.value.cause.detail) == (7, "d")
    assert caught.value.code == 7


BUILT_IN = [
    StopIteration(3), FileNotFoundError(2, "No such file", "name"), UnicodeDecodeError("utf-8", b"x", 0, 1, "why"),
    AssertionError("a"), MemoryError(), TimeoutError("t"), RecursionError("r"), KeyError(("k", 1)),
]


@pytest.mark.parametrize("error", BUILT_IN, ids=lambda error: type(error).__name__)
def test_a_built_in_exception_keeps_its_arguments(ray, error):
    @ray.remote
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        ray.get(fail.remote())
    assert type(caught.value.cause) is type(error)
    assert caught.value.cause.args == error.args


def test_attributes_and_causes_of_an_exception_arrive(ray):
    @ray.remote
    def fail():
        try:
            1 / 0
        except ZeroDivisionError as cause:
            error = ValueError("chained")
            error.code = 5
            raise error from cause

    with pytest.raises(ValueError) as caught:
        ray.get(fail.remote())
    assert caught.value.code == 5
    for part in ("ZeroDivisionError", "direct cause", "chained"):
        assert part in str(caught.value)


def test_an_exception_class_of_a_module_is_recognised(ray):
    @ray.remote
    def fail():
        raise Custom("known")

    with pytest.raises(Custom, match="known"):
        ray.get(fail.remote())


def test_the_text_shows_where_in_the_task_it_happened(ray):
    @ray.remote
    def outer_function():
        def inner_function():
            raise ValueError("with a reason")

        inner_function()

    with pytest.raises(ValueError) as caught:
        ray.get(outer_function.remote())
    text = str(caught.value)
    for part in ("ray::", "outer_function()", "pid=", "test_exceptions.py", "in inner_function"):
        assert part in text
    assert "ValueError: with a reason" in text
    assert "with a reason" in "".join(traceback.format_exception(caught.value))


def test_the_exception_is_raised_at_each_get(ray):
    @ray.remote
    def fail():
        raise ValueError("again")

    ref = fail.remote()
    for _ in range(3):
        with pytest.raises(ValueError, match="again"):
            ray.get(ref)


def test_get_of_a_list_raises_an_exception_in_it(ray):
    @ray.remote
    def fail(error):
        raise error

    with pytest.raises((KeyError, ValueError)):
        ray.get([ray.put(1), fail.remote(KeyError("k")), fail.remote(ValueError("v"))])


@pytest.mark.rayshim_only
def test_get_of_a_list_raises_the_first_exception_in_it(ray):
    @ray.remote
    def fail(error):
        raise error

    for _ in range(10):
        with pytest.raises(KeyError):
            ray.get([ray.put(1), fail.remote(KeyError("k")), fail.remote(ValueError("v"))])


@pytest.mark.needs_concurrency
def test_get_of_a_list_raises_though_an_earlier_task_still_runs(ray, gate):
    @ray.remote
    def stay():
        gate.enter()

    @ray.remote
    def fail():
        raise ValueError("early")

    with pytest.raises(ValueError, match="early"):
        ray.get([stay.remote(), fail.remote()])
    assert not gate.is_open()


@pytest.mark.parametrize("place", [0, 7, 8, 20, 39])
def test_get_of_a_long_list_raises_its_first_exception_and_the_list_can_be_read_without_it(ray, place):
    @ray.remote
    class Step:
        def step(self, k):
            if k == place:
                raise ValueError(f"no {k}")
            return k, [k] * 3, str(k)

    actors = [Step.remote() for _ in range(2)]
    for _ in range(3):
        refs = [actors[k % 2].step.remote(k) for k in range(40)]
        with pytest.raises(ValueError, match=f"no {place}"):
            ray.get(refs)
        whole = [k for k in range(40) if k != place]
        assert ray.get([refs[k] for k in whole]) == [(k, [k] * 3, str(k)) for k in whole]


@pytest.mark.needs_concurrency
def test_get_of_a_long_list_raises_though_a_later_call_still_runs(ray, gate):
    @ray.remote
    class Step:
        def step(self, k):
            if k == 20:
                raise ValueError("no 20")
            return k

        def wait(self):
            gate.enter()

    steps, waits = Step.remote(), Step.remote()
    ray.get(waits.step.remote(0))
    later = waits.wait.remote()
    with pytest.raises(ValueError, match="no 20"):
        ray.get([steps.step.remote(k) for k in range(25)] + [later])
    gate.open()
    ray.get(later)


def test_an_exception_passes_through_the_tasks_that_get_it(ray):
    @ray.remote
    def innermost():
        raise ValueError("deep down")

    @ray.remote
    def middle():
        return ray.get(innermost.remote())

    @ray.remote
    def outermost():
        return ray.get(middle.remote())

    with pytest.raises(ValueError) as caught:
        ray.get(outermost.remote())
    for part in ("innermost()", "middle()", "outermost()", "deep down"):
        assert part in str(caught.value)


def test_a_task_can_catch_the_exception_of_a_task(ray):
    @ray.remote
    def fail():
        raise ValueError("caught")

    @ray.remote
    def rescue():
        try:
            ray.get(fail.remote())
        except ValueError as error:
            return isinstance(error, ray.exceptions.RayTaskError)

    assert ray.get(rescue.remote())


def test_a_task_whose_argument_failed_does_not_run(ray, tmp_path):
    @ray.remote
    def fail():
        raise ValueError("the argument")

    @ray.remote
    def use(_):
        (tmp_path / "ran").touch()

    @ray.remote
    class User:
        def use(self, _):
            (tmp_path / "ran").touch()

        def ping(self):
            return "pong"

    user = User.remote()
    for ref in (use.remote(fail.remote()), user.use.remote(fail.remote())):
        with pytest.raises(ValueError, match="the argument"):
            ray.get(ref)
    assert ray.get(user.ping.remote()) == "pong"
    assert not (tmp_path / "ran").exists()


def test_a_constructor_that_raises_shows_at_the_calls(ray):
    @ray.remote
    class Broken:
        def __init__(self):
            raise ValueError("no good")

        def ping(self):
            return "pong"

    broken = Broken.remote()
    for _ in range(2):
        with pytest.raises(ray.exceptions.ActorDiedError) as caught:
            ray.get(broken.ping.remote())
        assert isinstance(caught.value, ray.exceptions.RayActorError)
        for part in ("Broken", "__init__", "ValueError: no good"):
            assert part in str(caught.value)


def test_a_constructor_whose_argument_failed_shows_at_the_calls(ray):
    @ray.remote
    def fail():
        raise ValueError("the argument")

    @ray.remote
    class Keep:
        def __init__(self, value):
            self.value = value

        def ping(self):
            return "pong"

    with pytest.raises(ray.exceptions.ActorDiedError, match="the argument"):
        ray.get(Keep.remote(fail.remote()).ping.remote())


def test_an_exception_that_cannot_be_pickled_keeps_its_text(ray):
    class Locked(Exception):
        def __init__(self):
            super().__init__("held fast")
            self.lock = threading.Lock()

    @ray.remote
    def fail():
        raise Locked

    with pytest.raises(ray.exceptions.RayTaskError, match="held fast"):
        ray.get(fail.remote())


def test_an_exception_that_cannot_be_rebuilt_keeps_its_text(ray):
    class Demanding(Exception):
        def __init__(self, first, second):
            super().__init__(f"{first} and {second}")

    @ray.remote
    def fail():
        raise Demanding("salt", "pepper")

    with pytest.raises(ray.exceptions.RayError, match="salt and pepper"):
        ray.get(fail.remote())


def test_a_base_exception_of_a_task_is_its_result_like_any_other(ray):
    @ray.remote(max_retries=0)
    def fail():
        raise BaseException("basic")

    with pytest.raises(ray.exceptions.RayTaskError, match="basic"):
        ray.get(fail.remote())


def test_wrong_arguments_are_refused_at_remote(ray):
    @ray.remote
    def function(a, b=1):
        return a + b

    @ray.remote
    class Actor:
        def __init__(self, size):
            self.size = size

        def method(self, a):
            return a

    actor = Actor.remote(1)
    for misuse in (
        lambda: function.remote(), lambda: function.remote(1, 2, 3), lambda: function.remote(1, c=2),
        lambda: Actor.remote(), lambda: Actor.remote(1, 2),
        lambda: actor.method.remote(), lambda: actor.method.remote(1, 2), lambda: actor.method.remote(b=1),
    ):
        with pytest.raises(TypeError):
            misuse()
    assert ray.get(actor.method.remote(5)) == 5


def test_a_missing_method_is_refused_by_name(ray):
    @ray.remote
    class Actor:
        def __init__(self):
            self.attribute = 1

        def present(self):
            return self.attribute

    actor = Actor.remote()
    for name in ("absent", "attribute"):
        with pytest.raises(AttributeError, match=name):
            getattr(actor, name)
    assert ray.get(actor.present.remote()) == 1


def test_direct_calls_say_how_to_call(ray):
    @ray.remote
    def function():
        pass

    @ray.remote
    class Actor:
        def method(self):
            pass

    for misuse in (function, Actor, Actor.remote().method):
        with pytest.raises(TypeError, match=r"\.remote\("):
            misuse()


def test_rays_exception_classes_are_related_as_in_ray(ray):
    errors = ray.exceptions
    for sub, base in [
        ("RayTaskError", "RayError"), ("RayActorError", "RayError"), ("ActorDiedError", "RayActorError"),
        ("ActorUnavailableError", "RayActorError"), ("WorkerCrashedError", "RayError"),
        ("TaskCancelledError", "RayError"), ("GetTimeoutError", "RayError"), ("ObjectStoreFullError", "RayError"),
        ("OutOfMemoryError", "RayError"), ("ObjectLostError", "RayError"), ("OwnerDiedError", "ObjectLostError"),
        ("RaySystemError", "RayError"), ("PendingCallsLimitExceeded", "RayError"),
        ("RuntimeEnvSetupError", "RayError"), ("ActorAlreadyExistsError", "RayError"),
    ]:
        assert issubclass(getattr(errors, sub), getattr(errors, base))
    assert {errors.RayError, errors.RayTaskError, errors.ActorDiedError} < set(errors.RAY_EXCEPTION_TYPES)
    assert len(errors.RAY_EXCEPTION_TYPES) == 30
    assert issubclass(errors.GetTimeoutError, TimeoutError)
    assert issubclass(errors.ActorAlreadyExistsError, ValueError)


def test_get_of_a_value_and_an_error_always_raises(ray):
    @ray.remote
    class Actor:
        def well(self):
            return 1

        def badly(self):
            raise KeyError(1)

    good, bad = Actor.remote(), Actor.remote()
    for _ in range(300):  # whichever of the two is done first
        with pytest.raises(KeyError):
            ray.get([good.well.remote(), bad.badly.remote()])


def test_a_keyboard_interrupt_of_a_task_is_a_cancelled_task(ray):
    @ray.remote
    def interrupt():
        raise KeyboardInterrupt("abc")

    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(interrupt.remote())


def test_a_registered_serializer_is_used_for_exceptions(ray):
    class Unfit(OSError):
        def __init__(self, told):
            self.told = told

    @ray.remote
    def fail():
        ray.util.register_serializer(Unfit, serializer=lambda e: e.told, deserializer=lambda told: Unfit(told + "!"))
        raise Unfit("seen")

    try:
        with pytest.raises(Unfit) as caught:
            ray.get(fail.remote())
        assert caught.value.cause.told == "seen!"
    finally:
        ray.util.deregister_serializer(Unfit)


def test_errors_of_errors_are_told_under_rays_names(ray):
    @ray.remote
    def inner():
        return 1 / 0

    @ray.remote
    def outer():
        return ray.get(inner.remote())

    @ray.remote
    def take(value):
        return value

    with pytest.raises(ZeroDivisionError, match=r"ray\.exceptions\.RayTaskError\(ZeroDivisionError\).*ray::inner\(\)"):
        ray.get(outer.remote())
    with pytest.raises(ZeroDivisionError, match=r"could not be computed:\nray\.exceptions\.RayTaskError: .*ray::inner\(\)"):
        ray.get(take.remote(inner.remote()))


def test_what_cannot_be_pickled_is_named_with_what_it_was_for(ray):
    import threading

    lock = threading.Lock()

    @ray.remote
    def take(lock):
        return lock

    @ray.remote
    class Taker:
        def __init__(self, lock):
            pass

    @ray.remote
    def closure():
        return lock

    for misuse, whom in ((lambda: ray.put(lock), "the put value"), (lambda: take.remote(lock), r"the argument .*\.take"),
                         (lambda: Taker.remote(lock), r"the argument .*\.Taker.__init__"), (closure.remote, r"the function .*\.closure")):
        with pytest.raises(TypeError, match=f"Could not serialize {whom}"):
            misuse()


def test_a_function_or_class_with_too_much_in_it_is_refused(ray):
    load = bytearray(100 << 20)

    @ray.remote
    def heavy():
        return len(load)

    @ray.remote
    class Heavy:
        def method(self):
            return len(load)

    with pytest.raises(ValueError, match="The remote function .*heavy is too large"):
        heavy.remote()
    with pytest.raises(ValueError, match="The actor Heavy is too large"):
        Heavy.remote()
