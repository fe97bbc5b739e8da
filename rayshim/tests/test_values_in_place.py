"""Values whose layout changes, passed at the same call sites: encoded in place or in a buffer, they arrive as they were."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rayshim as ray
from rayshim.tests.plain import plain

arrays = hnp.arrays(
    st.sampled_from([np.float32, np.int64, np.bool_, np.complex128, np.uint8]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
    elements=st.just(1),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.binary(max_size=300),
    arrays,
    st.just(np.float32(1.5)),
    st.just(np.zeros(40_000)),
    st.just({1, 2}),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def box():
    ray.init(num_cpus=2)

    @ray.remote
    class Box:
        def same(self, *args, **kwargs):
            return args, kwargs

        def sames(self, a, b):
            return a is b, type(a).__name__

    yield Box.remote()
    ray.shutdown()


@ray.remote
def same(value):
    return value


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(values, min_size=1, max_size=12))
def test_values_of_any_layout_arrive_as_they_were(box, program):
    for value in program:
        method, task = box.same.remote(value, 1, key=value), same.remote(value)
        (got, one), kwargs = ray.get(method)
        assert plain([got, one, kwargs["key"], ray.get(task)]) == plain([value, 1, value, value])
        nested = box.same.remote(task, [ray.put(value)])
        (got, (ref,)), _ = ray.get(nested)
        assert plain([got, ray.get(ref)]) == plain([value, value])


def test_one_object_given_twice_is_two_copies_as_before_it_was_recorded(box):
    shared = [1.0, 2.0]
    answers = {tuple(ray.get(box.sames.remote(shared, shared))) for _ in range(5)}
    assert len(answers) == 1


def test_a_failed_call_leaves_nothing_where_it_was_to_be_laid(box):
    import threading

    for value in [1, threading.Lock(), 2, 3, threading.Lock(), "x" * 5000, 4]:
        if hasattr(value, "acquire"):
            with pytest.raises(TypeError):
                box.same.remote(value)
        else:
            assert ray.get(box.same.remote(value)) == ((value,), {})
