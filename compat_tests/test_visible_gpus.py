"""CUDA_VISIBLE_DEVICES: what the program has set, and what tasks and actors see of it."""

import os

import pytest

VARIABLE = "CUDA_VISIBLE_DEVICES"


def start(backend, monkeypatch, told, num_gpus):
    monkeypatch.delenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", raising=False)
    if told is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, told)
    backend.init(num_cpus=4, num_gpus=num_gpus, log_to_driver=False)


def seen(ray, options):
    """(ids, variable) of an actor and of a task with these options."""
    def look():
        return ray.get_gpu_ids(), os.environ.get(VARIABLE)

    class Looks:
        def look(self):
            return look()

    task, actor = ray.remote(look), ray.remote(Looks)
    of_task = ray.get((task.options(**options) if options else task).remote())
    return [ray.get((actor.options(**options) if options else actor).remote().look.remote()), of_task]


@pytest.mark.parametrize("options", [{}, {"num_gpus": 0}])
def test_without_gpus_of_its_own_a_worker_sees_what_the_driver_sees(bare_ray, backend, monkeypatch, options):
    start(backend, monkeypatch, None, 2)
    assert seen(bare_ray, options) == [([], None)] * 2


def test_of_the_gpus_that_the_program_was_told_to_use_a_worker_is_given_some_by_their_own_ids(bare_ray, backend, monkeypatch):
    start(backend, monkeypatch, "3,GPU-abc", 2)
    assert seen(bare_ray, {}) == [([], "3,GPU-abc")] * 2
    for ids, variable in seen(bare_ray, {"num_gpus": 2}):
        assert sorted(ids) == ["3", "GPU-abc"] and sorted(variable.split(",")) == ["3", "GPU-abc"]
    for ids, variable in seen(bare_ray, {"num_gpus": 0.5}):
        assert ids == [variable] and variable in ("3", "GPU-abc")
    assert seen(bare_ray, {}) == [([], "3,GPU-abc")] * 2
    assert os.environ[VARIABLE] == "3,GPU-abc"


def test_more_gpus_than_the_program_was_told_to_use_are_refused(bare_ray, backend, monkeypatch):
    with pytest.raises(ValueError, match=r"CUDA_VISIBLE_DEVICES contains \['3'\]"):
        start(backend, monkeypatch, "3", 2)
