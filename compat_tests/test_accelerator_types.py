"""The type of a machine's accelerators, and the ids that an environment variable names."""

import os

import pytest

NEURONS = "NEURON_RT_VISIBLE_CORES"
TYPE = "aws-neuron-core"


def of_type(ray):
    """The resources and labels of the machine that tell of types of accelerators."""
    kinds = {name: amount for name, amount in ray.cluster_resources().items() if name.startswith("accelerator_type:")}
    return kinds, ray.nodes()[0]["Labels"].get("ray.io/accelerator-type")


def test_neuron_cores_have_their_type_as_a_resource_and_as_a_label(bare_ray, backend):
    backend.init(num_cpus=2, resources={"neuron_cores": 2})
    assert of_type(bare_ray) == ({f"accelerator_type:{TYPE}": 1.0}, TYPE)

    @bare_ray.remote
    def held():
        return bare_ray.get_runtime_context().get_assigned_resources()

    wanted = {"CPU": 1.0, "neuron_cores": 1.0, f"accelerator_type:{TYPE}": 0.001}
    assert bare_ray.get(held.options(resources={"neuron_cores": 1}, accelerator_type=TYPE).remote(), timeout=60) == wanted
    selected = held.options(label_selector={"ray.io/accelerator-type": TYPE})
    assert bare_ray.get(selected.remote(), timeout=60) == {"CPU": 1.0}


@pytest.mark.parametrize("resources", [None, {"lamp": 1}, {"HPU": 1}, {"TPU": 1}, {"neuron_cores": 0}])
def test_other_machines_have_no_type_of_accelerators(bare_ray, backend, resources):
    backend.init(num_cpus=1, num_gpus=0, resources=resources)
    assert of_type(bare_ray) == ({}, None)


def test_the_label_of_the_type_can_be_given(bare_ray, backend):
    backend.init(num_cpus=1, resources={"neuron_cores": 1}, labels={"ray.io/accelerator-type": "mine"})
    assert of_type(bare_ray) == ({f"accelerator_type:{TYPE}": 1.0}, "mine")


def test_ids_of_accelerators_are_those_that_the_variable_names(bare_ray, backend, monkeypatch):
    monkeypatch.setenv(NEURONS, "4,7")
    backend.init(num_cpus=4, resources={"neuron_cores": 2})

    def seen():
        ids = bare_ray.get_runtime_context().get_accelerator_ids()["neuron_cores"]
        return ids, os.environ.get(NEURONS)

    class Seeing:
        def seen(self):
            return seen()

    task, actor = bare_ray.remote(seen), bare_ray.remote(Seeing)
    assert seen() == ([], "4,7")
    assert bare_ray.get(task.remote()) == ([], "4,7")
    assert bare_ray.get(task.options(resources={"neuron_cores": 2}).remote()) == (["4", "7"], "4,7")
    one, other = (actor.options(resources={"neuron_cores": 1}).remote() for _ in range(2))
    assert sorted(bare_ray.get([one.seen.remote(), other.seen.remote()])) == [(["4"], "4"), (["7"], "7")]


@pytest.mark.parametrize("named, ids", [("0", ["0"]), ("", [])])
def test_init_refuses_more_accelerators_than_the_variable_names(bare_ray, backend, monkeypatch, named, ids):
    monkeypatch.setenv(NEURONS, named)
    with pytest.raises(ValueError) as caught:
        backend.init(num_cpus=1, resources={"neuron_cores": 2})
    assert f"Attempting to start raylet with 2 neuron_cores, but {NEURONS} contains {ids}." in str(caught.value)
