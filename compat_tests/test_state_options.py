"""The options of the state API: filters, limits, timeouts, and ids that nothing has.

Real Ray answers the functions from its dashboard, which the tests start without: what asks it runs on rayshim only.
"""

import importlib

import pytest


@pytest.fixture
def state(ray):
    return importlib.import_module(f"{ray.__name__}.util.state")


@pytest.fixture
def common(bare_ray):
    return importlib.import_module(f"{bare_ray.__name__}.util.state.common")


@pytest.fixture
def named(ray):
    @ray.remote(num_cpus=0)
    class Named:
        def ready(self):
            pass

    def make(name):
        actor = Named.options(name=name).remote()
        ray.get(actor.ready.remote())
        return actor

    return make


@pytest.mark.rayshim_only
def test_filters_may_be_any_iterable(ray, state, named):
    _actors = [named("first"), named("second")]
    one = ("name", "=", "first")
    for filters in ([one], (one,), {one}, [list(one)], (found for found in [one])):
        assert [actor.name for actor in state.list_actors(filters=filters)] == ["first"]
    assert state.list_actors(filters=None)


@pytest.mark.parametrize(
    "filters",
    [
        [("name", "<", "a")],
        [("name", "==", "a")],
        [("name", None, "a")],
        [("name", "=")],
        [("name", "=", "a", "b")],
        [("name", "=", None)],
        [("name", "=", ["a"])],
        [(1, "=", "a")],
        ("name", "=", "a"),
        ["name=a"],
        "name=a",
        {"name": "a"},
        5,
    ],
)
def test_wrong_filters_are_refused_by_pydantic(common, filters):
    pydantic = pytest.importorskip("pydantic")
    with pytest.raises(pydantic.ValidationError, match="validation error.* for ListApiOptions") as caught:
        common.ListApiOptions(filters=filters)
    assert isinstance(caught.value, ValueError)


def test_a_wrong_filter_is_refused_by_the_functions(ray, state):
    for call in (state.list_actors, state.list_tasks, state.list_nodes):
        with pytest.raises(ValueError, match="Unsupported filter predicate < is given. Available predicates: =, !="):
            call(filters=[("state", "<", "ALIVE")])


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("limit", "7", 7), ("limit", 7.0, 7), ("limit", True, 1), ("limit", -1, -1), ("timeout", 30, 24), ("timeout", 0, 1), ("timeout", "10", 8),
        ("detail", "yes", True), ("detail", "off", False), ("detail", 1, True), ("exclude_driver", "false", False),
    ],
)
def test_options_are_converted(common, name, given, made):
    found = getattr(common.ListApiOptions(**{name: given}), name)
    assert found == made and type(found) is type(made)


@pytest.mark.parametrize(
    ("name", "given"),
    [("limit", "x"), ("limit", 1.5), ("limit", None), ("timeout", 1.5), ("timeout", "x"), ("timeout", None), ("detail", "maybe"), ("detail", None), ("detail", 2)],
)
def test_wrong_options_are_refused(common, name, given):
    with pytest.raises(ValueError, match="Input should be a valid"):
        common.ListApiOptions(**{name: given})


def test_options_of_get_and_summaries(common):
    pytest.importorskip("pydantic")
    assert common.GetApiOptions(timeout=10).timeout == 8
    options = common.SummaryApiOptions(timeout=10, filters=[["name", "<", "a"]])
    assert options.timeout == 10 and options.filters == [("name", "<", "a")] and common.SummaryApiOptions(filters=None).filters is None
    for wrong in (lambda: common.GetApiOptions(timeout=1.5), lambda: common.SummaryApiOptions(filters=[("a", "=")])):
        with pytest.raises(ValueError, match="validation error"):
            wrong()
    with pytest.raises(ValueError, match="Input should be a valid string"):
        common.SummaryApiOptions(summary_by=5)


@pytest.mark.rayshim_only
def test_ids_that_nothing_has_give_none(ray, state):
    assert state.get_task("ab" * 24) is None
    assert state.get_actor("ab" * 16) is None
    assert state.get_node("ab" * 28) is None
    assert state.get_worker("ab" * 28) is None
    assert state.get_job("raysubmit_none") is None
