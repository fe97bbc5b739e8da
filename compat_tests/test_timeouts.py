"""What `timeout` may be in get and wait."""

import decimal
import fractions
import math

import numpy as np
import pytest

NOT_NUMBERS = [[1], 1j, ..., np.array([0.1, 0.2])]
SHORT = [0, 0.0, False, 1e-12, 0.01, np.float64(0.01), np.float32(0.01), np.int64(0), np.array(0.01), fractions.Fraction(1, 100), decimal.Decimal("0.01")]
LONG = [True, 1, 30, 1e9, 1e12, np.int64(30), decimal.Decimal(30)]


@pytest.fixture
def done(ray):
    @ray.remote
    def one():
        return 1

    ref = one.remote()
    ray.get(ref)
    return ref


@pytest.fixture
def pending(ray, gate):
    @ray.remote
    def wait(gate):
        gate.wait_for("open")
        return 2

    return wait.remote(gate)


def name(value):
    return f"{type(value).__name__} {value}"[:30]


@pytest.mark.parametrize("timeout", SHORT + LONG, ids=name)
def test_a_number_of_any_kind(ray, done, timeout):
    assert ray.get(done, timeout=timeout) == 1
    assert ray.get([done], timeout=timeout) == [1]
    assert ray.wait([done], timeout=timeout) == ([done], [])


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("timeout", SHORT, ids=name)
def test_a_short_one_passes(ray, pending, timeout):
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get(pending, timeout=timeout)
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get([pending], timeout=timeout)
    assert ray.wait([pending], timeout=timeout) == ([], [pending])


def test_nan_is_refused(ray, done):
    for ask in (lambda: ray.get(done, timeout=math.nan), lambda: ray.get([done], timeout=math.nan), lambda: ray.wait([done], timeout=np.float64("nan"))):
        with pytest.raises(ValueError):
            ask()


@pytest.mark.needs_concurrency
def test_nan_is_refused_while_there_is_nothing_yet(ray, pending):
    for ask in (lambda: ray.get(pending, timeout=math.nan), lambda: ray.get([pending], timeout=math.nan), lambda: ray.wait([pending], timeout=math.nan)):
        with pytest.raises(ValueError):
            ask()


@pytest.mark.parametrize("timeout", [math.inf, 1e308, 10**400], ids=["inf", "1e308", "10**400"])
def test_one_without_end_is_refused(ray, done, timeout):
    for ask in (lambda: ray.get(done, timeout=timeout), lambda: ray.get([done], timeout=timeout), lambda: ray.wait([done], timeout=timeout)):
        with pytest.raises(OverflowError):
            ask()


@pytest.mark.parametrize("timeout", [-1, -0.5])
def test_a_negative_one_is_none_in_get_and_refused_in_wait(ray, done, timeout):
    assert ray.get(done, timeout=timeout) == 1
    with pytest.raises(ValueError, match=f"The 'timeout' argument must be nonnegative. Received {timeout}"):
        ray.wait([done], timeout=timeout)


def test_minus_infinity_is_refused(ray, done):
    with pytest.raises(OverflowError):
        ray.get(done, timeout=-math.inf)
    with pytest.raises(ValueError, match="The 'timeout' argument must be nonnegative. Received -inf"):
        ray.wait([done], timeout=-math.inf)


@pytest.mark.parametrize("timeout", NOT_NUMBERS, ids=name)
def test_what_is_no_number_is_refused(ray, done, timeout):
    # Ray compares an array in wait.
    kinds = (TypeError, ValueError) if isinstance(timeout, np.ndarray) and ray.__name__ == "ray" else TypeError
    for ask in (lambda: ray.get(done, timeout=timeout), lambda: ray.get([done], timeout=timeout), lambda: ray.wait([done], timeout=timeout)):
        with pytest.raises(kinds):
            ask()


@pytest.mark.parametrize(("timeout", "kind"), [("a", ValueError), ("", ValueError), ("1.5", ValueError), ("-1", ValueError), (b"a", ValueError), ("1", OverflowError), (b"1", OverflowError)])
def test_text_is_a_value_error_in_get_and_too_large_if_it_is_digits_and_a_type_error_in_wait(ray, done, timeout, kind):
    for ask in (lambda: ray.get(done, timeout=timeout), lambda: ray.get([done], timeout=timeout)):
        with pytest.raises(kind) as caught:
            ask()
        assert type(caught.value) is kind
    with pytest.raises(TypeError):
        ray.wait([done], timeout=timeout)
