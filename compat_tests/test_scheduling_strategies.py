import importlib

import pytest

MISSING = "00" * 27 + "01"  # a node's id that is not there


@pytest.fixture
def strategies(ray):
    return importlib.import_module(f"{ray.__name__}.util.scheduling_strategies")


@pytest.fixture
def one(ray):
    return ray.remote(lambda: 1)


@pytest.fixture
def actor(ray):
    @ray.remote
    class One:
        def get(self):
            return 1

    return One


@pytest.mark.parametrize("strategy", ["DEFAULT", "SPREAD"])
def test_those_with_names_are_accepted(ray, one, strategy):
    assert ray.get(one.options(scheduling_strategy=strategy).remote()) == 1


def test_others_are_refused(one):
    with pytest.raises(ValueError, match="Invalid scheduling_strategy"):
        one.options(scheduling_strategy="NEAR").remote()
    with pytest.raises(TypeError):
        one.options(scheduling_strategy=3).remote()


def test_this_node_will_do(ray, strategies, one, actor):
    here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    assert ray.get(one.options(scheduling_strategy=here).remote()) == 1
    assert ray.get(actor.options(scheduling_strategy=here).remote().get.remote()) == 1
    elsewhere = strategies.NodeAffinitySchedulingStrategy(MISSING, soft=True)
    assert ray.get(one.options(scheduling_strategy=elsewhere).remote()) == 1


def test_a_node_that_is_not_there_is_an_error(ray, strategies, one, actor):
    elsewhere = strategies.NodeAffinitySchedulingStrategy(MISSING, soft=False)
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="doesn't exist"):
        ray.get(one.options(scheduling_strategy=elsewhere).remote(), timeout=10)
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="doesn't exist"):
        ray.get(actor.options(scheduling_strategy=elsewhere).remote().get.remote(), timeout=10)
    assert ray.util.placement_group_table() is not None


def test_node_affinity_is_checked(strategies):
    with pytest.raises(ValueError, match="Invalid node_id"):
        strategies.NodeAffinitySchedulingStrategy("not hex", soft=True)
    with pytest.raises(ValueError, match="_spill_on_unavailable"):
        strategies.NodeAffinitySchedulingStrategy(MISSING, soft=False, _spill_on_unavailable=True)
    with pytest.raises(ValueError, match="_fail_on_unavailable"):
        strategies.NodeAffinitySchedulingStrategy(MISSING, soft=True, _fail_on_unavailable=True)


@pytest.mark.parametrize("make, message", [
    (lambda s: s.In(), "non-empty"), (lambda s: s.NotIn(1), "must be str"), (lambda s: s.NodeLabelSchedulingStrategy(None), "both be empty"),
    (lambda s: s.NodeLabelSchedulingStrategy([1]), "must be a map"), (lambda s: s.NodeLabelSchedulingStrategy({1: s.Exists()}), "type str"),
    (lambda s: s.NodeLabelSchedulingStrategy({"a": "b"}), "one of the"),
])
def test_labels_are_checked(strategies, make, message):
    with pytest.raises(ValueError, match=message):
        make(strategies)


def test_labels_choose_the_node(bare_ray, backend):
    strategies = importlib.import_module(f"{bare_ray.__name__}.util.scheduling_strategies")
    backend.init(num_cpus=2, labels={"zone": "b", "disk": "ssd"}, log_to_driver=False)
    one = bare_ray.remote(lambda: 1)
    labels = bare_ray.nodes()[0]["Labels"]
    assert (labels["zone"], labels["disk"], labels["ray.io/node-id"]) == ("b", "ssd", bare_ray.nodes()[0]["NodeID"])
    assert bare_ray.get_runtime_context().get_node_labels()["zone"] == "b"
    for hard in ({"zone": strategies.In("a", "b")}, {"zone": strategies.NotIn("a")}, {"disk": strategies.Exists()},
                 {"gpu": strategies.DoesNotExist()}):
        assert bare_ray.get(one.options(scheduling_strategy=strategies.NodeLabelSchedulingStrategy(hard)).remote(), timeout=20) == 1
    for selector in ({"zone": "b"}, {"zone": "!a"}, {"zone": "in(a,b)"}, {"zone": "!in(a)"}):
        assert bare_ray.get(one.options(label_selector=selector).remote(), timeout=20) == 1


@pytest.mark.needs_concurrency
def test_labels_that_no_node_has_are_waited_for(ray, strategies, one):
    hard = strategies.NodeLabelSchedulingStrategy({"zone": strategies.In("a")})
    for options in ({"scheduling_strategy": hard}, {"label_selector": {"zone": "a"}}):
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(one.options(**options).remote(), timeout=0.3)
    soft = strategies.NodeLabelSchedulingStrategy({}, soft={"zone": strategies.In("a")})
    assert ray.get(one.options(scheduling_strategy=soft).remote()) == 1
