"""What `init` returns is a mapping of facts about the node, with facts about the driver as attributes."""

import dataclasses
import pprint
from collections.abc import Mapping

import pytest


def test_it_shows_the_facts_of_the_driver(bare_ray, backend):
    context = backend.init(num_cpus=1)
    facts = ", ".join(f"{name}={getattr(context, name)!r}" for name in ("dashboard_url", "python_version", "ray_version", "ray_commit"))
    assert repr(context) == str(context) == f"RayContext({facts})"
    assert context.ray_commit == bare_ray.__commit__
    bare_ray.shutdown()
    assert repr(context) == f"RayContext({facts})"


def test_it_is_a_mapping_of_the_facts_of_the_node_alone(bare_ray, backend):
    context = backend.init(num_cpus=1)
    assert isinstance(context, Mapping) and {key: context[key] for key in context} == context.address_info
    assert "dashboard_url" not in context and context.get("dashboard_url") is None
    with pytest.raises(KeyError, match="dashboard_url"):
        context["dashboard_url"]


def test_it_equals_the_one_of_another_session_and_has_no_hash(bare_ray, backend):
    first = backend.init(num_cpus=1)
    bare_ray.shutdown()
    second = backend.init(num_cpus=1)
    assert first == second and first.address_info != second.address_info
    assert first != first.address_info
    with pytest.raises(TypeError, match="unhashable type: 'RayContext'"):
        hash(first)


def test_it_is_a_dataclass_that_pprint_breaks_into_lines(bare_ray, backend):
    context = backend.init(num_cpus=1)
    facts = {name: getattr(context, name) for name in ("dashboard_url", "python_version", "ray_version", "ray_commit")}
    assert dataclasses.asdict(context) == facts and list(facts) == [field.name for field in dataclasses.fields(context)]
    assert pprint.pformat(context) == "RayContext(" + ",\n           ".join(f"{name}={value!r}" for name, value in facts.items()) + ")"
