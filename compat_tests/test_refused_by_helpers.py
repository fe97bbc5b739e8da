"""Arguments that helpers around the core refuse: the autoscaler's request, the internal key-value store, iterators, metrics, compiled graphs."""

import contextlib
import importlib
import io
import threading

import pytest

WRONG = [
    ({"num_cpus": 1.5}, TypeError, "num_cpus should be of type int."),
    ({"bundles": {"CPU": 1}}, TypeError, "bundles should be of type List"),
    ({"bundles": ["CPU"]}, TypeError, "each bundle should be a Dict."),
    ({"bundles": [{1: 1}]}, TypeError, "each bundle key should be str."),
    ({"bundles": [{"CPU": "1"}]}, TypeError, "each bundle value should be a number"),
    ({"bundles": [{"CPU": True}]}, TypeError, "each bundle value should be a number"),
    ({"bundle_label_selectors": [{"a": "b"}]}, ValueError, "`bundles` must be provided"),
    ({"bundles": [{"CPU": 1}], "bundle_label_selectors": []}, ValueError, "with length equal to the number of bundles"),
    ({"bundles": [{"CPU": 1}], "bundle_label_selectors": [5]}, ValueError, "must be a list of string dictionary"),
]


def module(ray, name):
    return importlib.import_module(f"{ray.__name__}.{name}")


@pytest.mark.parametrize(("given", "kind", "text"), WRONG)
def test_a_request_for_resources(ray, given, kind, text):
    with pytest.raises(kind, match=text):
        module(ray, "autoscaler.sdk" if ray.__name__ == "ray" else "over.autoscaler.sdk").request_resources(**given)


def test_a_key_and_a_value_are_text_or_bytes(ray):
    kv = module(ray, "experimental.internal_kv")
    for wrong in (lambda: kv._internal_kv_put("k", 5), lambda: kv._internal_kv_put(5, "v"), lambda: kv._internal_kv_get(None)):
        with pytest.raises(AssertionError):
            wrong()


def test_items_need_a_shard(ray):
    iterators = module(ray, "util.iter")
    with pytest.raises(ZeroDivisionError):
        iterators.from_items([1], num_shards=0)
    with pytest.raises(IndexError):
        iterators.from_items([1], num_shards=-1)


@pytest.mark.parametrize("kind", ["Counter", "Gauge"])
def test_a_metric_has_a_name(ray, kind):
    make = getattr(module(ray, "util.metrics"), kind)
    with pytest.raises(TypeError):
        make(None)
    with pytest.raises(ValueError, match="Empty name is not allowed"):
        make("")


def test_a_group_of_actors_is_deprecated_in_favour_of_others(ray):
    annotations, groups = module(ray, "util.annotations"), module(ray, "util.actor_group")
    with pytest.warns(annotations.RayDeprecationWarning, match="use ray.util.multiprocessing"), pytest.raises(ValueError):
        groups.ActorGroup(dict, 0)


def test_the_search_for_what_cannot_be_pickled_has_no_colors_in_a_file(ray):
    inspect = module(ray, "util.check_serialize").inspect_serializability
    with contextlib.redirect_stdout(io.StringIO()) as out:
        inspect(threading.Lock())
        inspect([threading.Lock()], depth=0)
    text = out.getvalue()
    assert "!!! FAIL serialization: cannot pickle" in text and "\x1b" not in text
    assert text.count("was found to be non-serializable") == 1  # not where it may not look inside
    given = io.StringIO()
    inspect(threading.Lock(), print_file=given)
    assert "\x1b[31m!!! FAIL\x1b[39m" in given.getvalue()


@pytest.mark.parametrize(("limit", "kind"), [(-5, AssertionError), ("1", TypeError)])
def test_a_limit_of_time_for_compiled_graphs(ray, limit, kind):
    @ray.remote(num_cpus=0)
    class Echo:
        def echo(self, x):
            return x

    with module(ray, "dag").InputNode() as given:
        graph = Echo.remote().echo.bind(given)
    compiled = graph.experimental_compile(_submit_timeout=limit)
    try:
        with pytest.raises(kind):
            compiled.execute(1)
    finally:
        compiled.teardown()


def test_an_address_of_jobs_has_a_port(ray):
    with pytest.raises(ValueError, match="Invalid address format: there"):
        module(ray, "job_submission").JobSubmissionClient("there")
