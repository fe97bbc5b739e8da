import importlib

import pytest

joblib = pytest.importorskip("joblib")


@pytest.fixture
def parallel(ray):
    importlib.import_module(f"{ray.__name__}.util.joblib").register_ray()
    with joblib.parallel_backend("ray", n_jobs=2):
        yield joblib.Parallel()


def test_results_come_in_order(parallel):
    assert parallel(joblib.delayed(lambda x: x * x)(i) for i in range(20)) == [i * i for i in range(20)]


def test_large_arguments_arrive(parallel):
    import numpy as np

    data = np.arange(10_000.0)
    assert parallel(joblib.delayed(lambda a, k: a[k])(data, k=i) for i in range(6)) == [0, 1, 2, 3, 4, 5]


def test_errors_are_raised(parallel):
    def fail(x):
        if x == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        parallel(joblib.delayed(fail)(i) for i in range(5))


def test_all_jobs_means_all_cpus(ray):
    importlib.import_module(f"{ray.__name__}.util.joblib").register_ray()
    with joblib.parallel_backend("ray"):
        assert joblib.effective_n_jobs(-1) == 4


def test_the_actors_take_options(ray):
    importlib.import_module(f"{ray.__name__}.util.joblib").register_ray()

    def lamps():
        return ray.get_runtime_context().get_assigned_resources().get("lamp")

    with joblib.parallel_backend("ray", n_jobs=2, ray_remote_args={"resources": {"lamp": 1}}):
        assert joblib.Parallel()(joblib.delayed(lamps)() for _ in range(2)) == [1, 1]
