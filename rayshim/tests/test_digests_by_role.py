"""Placement by a file of roles: random programs have one digest under random roles, which is that of isolated placement."""

import json
import math
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rayshim as ray
from rayshim.tests.programs import programs, run

CORES = sorted(os.sched_getaffinity(0))

patterns = st.sampled_from(["Log", "*", "run.*", "L?g", "*.programs.run.<locals>.Log"])
cores = st.lists(st.sampled_from(CORES), min_size=1, max_size=2, unique=True)
shared = st.fixed_dictionaries(
    {"workers": st.integers(1, 3)},
    optional={
        "cores": cores,
        "threads": st.just(1),
        "apart": st.just(["Log#1"]),
        "together": st.just([["Log#0", "Log#2"]]),
    },
)
alone = st.fixed_dictionaries({"alone": st.just(True)}, optional={"cores": cores, "threads": st.integers(1, 3)})
of_tasks = st.fixed_dictionaries(
    {"tasks": st.sampled_from(["task", "nest", "*"])}, optional={"cores": cores, "threads": st.integers(1, 2)}
)
of_actors = st.builds(lambda pattern, rest: {"actors": pattern, **rest}, patterns, shared | alone)


def text_of(tables):
    """A file of roles; strings and lists of JSON are those of TOML."""
    lines = []
    for k, table in enumerate(tables):
        lines += [f"[roles.r{k}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines)


def outcome(program, placement):
    ray.init(
        placement=placement,
        num_cpus=2,
        object_store_memory=256 << 20,
        log_to_driver=False,
        patience=math.inf,
        logging_level="ERROR",
    )
    try:
        shown = run(ray, program)
        assert "r0 unused" not in ray.report().placement
        return shown, ray.digest()
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(300)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, of_actors, st.none() | of_tasks)
def test_random_programs_have_one_digest_under_random_roles(tmp_path_factory, program, actors, tasks):
    path = tmp_path_factory.getbasetemp() / "random.toml"
    path.write_text(text_of([actors, *([tasks] if tasks else [])]))
    assert outcome(program, path) == outcome(program, "isolated")
