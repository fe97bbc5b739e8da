"""What Ray Serve takes from Ray's core beside its API: `ray._raylet`."""

import importlib
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


class Point(NamedTuple):
    timestamp: float
    value: float


@pytest.fixture
def raylet(ray):
    return importlib.import_module(f"{ray.__name__}._raylet")


def series(*points):
    return [Point(*point) for point in points]


def test_the_sum_of_series(raylet):
    merge = raylet.merge_instantaneous_total_cython
    one = series((1.001, 1.0), (1.004, 1.0), (2.0, 0.0))
    assert merge([]) == merge([[], []]) == []
    assert merge([one, []]) == one
    assert merge([one, one]) == [(1.0, 2.0), (2.0, 0.0)]
    other = series((0.5, 2.0), (1.003, 3.0), (1.996, 1.0), (3.0, 1.0), (4.0, 0.0))
    assert merge([one, other]) == [(0.5, 2.0), (1.0, 4.0), (2.0, 1.0), (4.0, 0.0)]
    assert merge([series((0.125, 1.0)), series((0.115, 1.0))]) == [(0.12, 1.0), (0.13, 2.0)]


def test_the_average_of_a_series(raylet):
    points = series((1.0, 1.0), (2.0, 3.0), (4.0, 1.0))
    open_end = float("-inf")
    for start, end, last, average in [
        (open_end, open_end, 1.0, 2.0),  # 1 s with 1, 2 s with 3, and a second more with 1
        (open_end, open_end, 9.0, 16 / 12),
        (open_end, 3.0, 1.0, 2.0),
        (1.5, 3.0, 1.0, 7 / 3),
        (0.0, 2.0, 1.0, 0.5),
        (10.0, 12.0, 1.0, 1.0),
    ]:
        assert raylet.time_weighted_average_cython(points, start, end, last) == pytest.approx(average)
    assert raylet.time_weighted_average_cython(points, 3.0, 3.0, 1.0) is None
    assert raylet.time_weighted_average_cython(points, 4.0, 3.0, 1.0) is None
    assert raylet.time_weighted_average_cython([], open_end, open_end, 1.0) is None


def test_values_in_message_pack(raylet):
    pytest.importorskip("msgpack")
    form = raylet.MessagePackSerializer
    value = {"a": [1, 2.5, None, True], "b": b"bytes", 3: "text"}
    assert form.loads(form.dumps(value)) == value
    with pytest.raises(TypeError):
        form.dumps({1, 2})
    kept = []

    def keep(value):
        kept.append(value)
        return len(kept) - 1

    assert form.loads(form.dumps([(1, 2), {3}], keep), kept.__getitem__) == [(1, 2), {3}]


def test_labels_and_selectors(raylet):
    match = raylet.node_labels_match_selector
    labels = {"zone": "a", "disk": "ssd"}
    assert match(labels, {})
    assert match(labels, {"zone": "a", "disk": "in(ssd,hdd)"})
    assert not match(labels, {"zone": "!a"})
    assert match(labels, {"zone": "!in(b,c)"})
    assert not match(labels, {"rack": "1"})


def test_nobody_proves_who_he_is(raylet):
    assert raylet.get_authentication_mode() == raylet.AuthenticationMode.DISABLED
    assert raylet.AuthenticationMode.TOKEN != raylet.AuthenticationMode.DISABLED
