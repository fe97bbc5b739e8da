"""Generators whose number of results is fixed, or known when they end (num_returns="dynamic")."""

import pickle

import pytest

from compat_tests.test_generators import count, counter_class, outcomes  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore:num_returns='dynamic'")


@pytest.fixture
def fails(ray):
    @ray.remote
    def fails(n):
        for i in range(n):
            yield i
        raise ValueError("boom")

    return fails


def test_a_fixed_number_of_results(ray, count):  # noqa: F811
    assert outcomes(ray, count.options(num_returns=3).remote(3)) == [0, 1, 2]
    assert ray.get(count.options(num_returns=1).remote(3)) == 0


def test_a_generator_that_raises_after_its_results_has_good_results(ray, fails):
    assert outcomes(ray, fails.options(num_returns=2).remote(2)) == [0, 1]


def test_a_generator_goes_on_after_its_last_result(ray):
    @ray.remote
    class Writer:
        def __init__(self):
            self.log = []

        def pairs(self, n):
            try:
                for i in range(n):
                    self.log.append(i)
                    yield i
                self.log.append("end")
            finally:
                self.log.append("finally")

        def take(self):
            log, self.log = self.log, []
            return log

    writer = Writer.remote()
    for yielded, log in ((2, [0, 1, "end", "finally"]), (5, [0, 1, 2, "finally"])):  # to its end, or to a value too many
        assert ray.get(writer.pairs.options(num_returns=2).remote(yielded)) == [0, 1]
        assert ray.get(writer.take.remote()) == log
    assert ray.get(writer.pairs.options(num_returns=1).remote(1)) == 0
    assert ray.get(writer.take.remote()) == [0, "end", "finally"]


def test_a_task_is_not_retried_for_an_error_after_its_last_result(ray, tmp_path):
    @ray.remote(num_returns=2, max_retries=2, retry_exceptions=True)
    def two(path):
        with path.open("a") as file:
            file.write("begun ")
        yield 1
        yield 2
        raise ValueError("late")

    begun = tmp_path / "begun"
    assert ray.get(two.remote(begun)) == [1, 2]
    assert begun.read_text() == "begun "


def test_results_that_are_missing_raise_and_the_others_are_good(ray, count, fails):  # noqa: F811
    assert outcomes(ray, fails.options(num_returns=3).remote(1)) == [0, ValueError, ValueError]
    refs = count.options(num_returns=3).remote(2)
    assert outcomes(ray, refs) == [0, 1, ValueError]
    with pytest.raises(ValueError, match="2 objects, but num_returns=3"):
        ray.get(refs[2])


def test_methods_with_a_fixed_number_of_results(ray, counter_class):  # noqa: F811
    actor = counter_class.remote()
    assert ray.get(actor.two.remote()) == ["a", "b"]
    assert ray.get(actor.count.options(num_returns=2).remote(2)) == [0, 1]


def test_dynamic_gives_one_ref_of_all(ray, count):  # noqa: F811
    ref = count.options(num_returns="dynamic").remote(3)
    assert isinstance(ref, ray.ObjectRef)
    found = ray.get(ref)
    assert isinstance(found, ray.DynamicObjectRefGenerator)
    assert len(found) == 3
    assert ray.get(list(found)) == [0, 1, 2]
    assert len(found) == 0  # they are taken out
    assert len(ray.get(ref)) == 3


def test_an_exception_of_a_dynamic_generator_is_its_last_ref(ray, fails):
    assert outcomes(ray, ray.get(fails.options(num_returns="dynamic").remote(2))) == [0, 1, ValueError]


def test_dynamic_generators_can_be_passed(ray, count):  # noqa: F811
    @ray.remote
    def total(refs):
        return sum(ray.get(list(refs)))

    ref = count.options(num_returns="dynamic").remote(4)
    assert ray.get(total.remote(ref)) == 6
    assert ray.get(total.remote(ray.get(ref))) == 6
    assert ray.get(list(pickle.loads(pickle.dumps(ray.get(ref))))) == [0, 1, 2, 3]


def test_dynamic_methods(ray, counter_class):  # noqa: F811
    actor = counter_class.remote()
    assert outcomes(ray, ray.get(actor.count.options(num_returns="dynamic").remote(2))) == [0, 1]
    assert outcomes(ray, ray.get(actor.fail.options(num_returns="dynamic").remote(1))) == [0, ValueError]
