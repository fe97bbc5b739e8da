import importlib
import pickle

import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def metrics(ray):
    return importlib.import_module(f"{ray.__name__}.util.metrics")


def test_they_describe_themselves(metrics):
    counter = metrics.Counter("calls", description="how many", tag_keys=("a", "b"))
    assert counter.info == {"name": "calls", "description": "how many", "tag_keys": ("a", "b"), "default_tags": {}}
    assert counter.set_default_tags({"a": "x"}) is counter
    assert counter.info["default_tags"] == {"a": "x"}
    assert metrics.Histogram("sizes", boundaries=[1.0, 2.0]).info["boundaries"] == [1.0, 2.0]


def test_values_are_accepted(metrics):
    metrics.Counter("calls2").inc()
    metrics.Counter("calls2").inc(3)
    metrics.Gauge("level").set(-2.5)
    metrics.Gauge("level").set(None)
    metrics.Histogram("sizes2", boundaries=[1.0, 2.0]).observe(1.5)


def test_names_and_tags_are_checked(metrics):
    with pytest.raises(ValueError, match="Empty name"):
        metrics.Counter("")
    with pytest.warns(UserWarning, match="Invalid metric name"):
        metrics.Gauge("no-dashes").set(1)
    with pytest.raises(TypeError, match="tag_keys"):
        metrics.Counter("calls3", tag_keys="a")
    with pytest.raises(TypeError, match="Tag keys"):
        metrics.Counter("calls3", tag_keys=(1,))
    counter = metrics.Counter("calls3", tag_keys=("a",))
    with pytest.raises(ValueError, match="Unrecognized tag key b"):
        counter.set_default_tags({"b": "x"})
    with pytest.raises(TypeError, match="Tag values"):
        counter.set_default_tags({"a": 1})
    with pytest.raises(TypeError, match="Tag values"):
        counter.inc(tags={"a": 1})
    with pytest.raises(ValueError, match="Missing value for tag key"):
        counter.inc()
    counter.inc(tags={"a": "x"})


def test_values_are_checked(metrics):
    with pytest.raises(ValueError, match="must be >0"):
        metrics.Counter("calls4").inc(-1)
    with pytest.raises(TypeError, match="int or float"):
        metrics.Counter("calls4").inc("1")
    with pytest.raises(TypeError, match="int or float"):
        metrics.Gauge("level4").set("1")
    with pytest.raises(ValueError, match="boundaries"):
        metrics.Histogram("sizes4")
    with pytest.raises(ValueError, match="positive"):
        metrics.Histogram("sizes4", boundaries=[0, 1])


def test_they_travel(ray, metrics):
    @ray.remote
    def use(counter, histogram):
        counter.inc(2)
        histogram.observe(0.5)
        return counter.info, histogram.info

    infos = ray.get(use.remote(metrics.Counter("calls5", "d"), metrics.Histogram("sizes5", boundaries=[1.0])))
    assert infos[0]["name"] == "calls5" and infos[1]["boundaries"] == [1.0]
    assert pickle.loads(pickle.dumps(metrics.Gauge("level5", "d", ("a",)))).info["tag_keys"] == ("a",)


@pytest.mark.rayshim_only
def test_they_are_shown_for_prometheus(ray, metrics, backend):
    shown, sizes = f"shown_{backend.name}", f"sizes_{backend.name}"  # a process's figures outlive its sessions

    @ray.remote
    def use():
        metrics.Counter(shown, "line 1\nline 2", ("kind",)).inc(2, {"kind": 'a "b"'})
        metrics.Histogram(sizes, boundaries=[1, 2]).observe(1.5)

    metrics.Counter(shown, "line 1\nline 2", ("kind",)).inc(1, {"kind": 'a "b"'})
    ray.get([use.remote(), use.remote()])
    wait_until(lambda: f'ray_{shown}_total{{kind="a \\"b\\""}} 5\n' in metrics.prometheus_text())
    text = metrics.prometheus_text()
    assert f"# HELP ray_{shown}_total line 1\\nline 2\n# TYPE ray_{shown}_total counter\n" in text
    wait_until(lambda: f"ray_{sizes}_count 2" in metrics.prometheus_text())
    text = metrics.prometheus_text()
    for line in ('bucket{le="1"} 0', 'bucket{le="2"} 2', 'bucket{le="+Inf"} 2', "sum 3", "count 2"):
        assert f"ray_{sizes}_{line}\n" in text
    metrics.Gauge("level6").set(1.5)
    assert "ray_level6{pid=" in metrics.prometheus_text()


@pytest.mark.rayshim_only
def test_default_tags_that_the_program_changes_count_from_then_on(metrics, backend):
    name, tags = f"moved_{backend.name}", {"place": "here"}
    counter = metrics.Counter(name, tag_keys=("place",)).set_default_tags(tags)
    counter.inc()
    tags["place"] = "there"
    counter.inc(2)
    text = metrics.prometheus_text()
    assert f'ray_{name}_total{{place="here"}} 1\n' in text
    assert f'ray_{name}_total{{place="there"}} 2\n' in text
