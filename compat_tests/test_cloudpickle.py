"""`ray.cloudpickle`: what its pickles keep of a function."""

import importlib
import inspect
import io
import pickle
import traceback

import pytest


def made():
    def fail():
        raise LookupError("in a function by value")

    return fail


@pytest.fixture(params=["dumps", "dump", "cloudpickle.dumps", "CloudPickler"])
def written(ray, request):
    """The function that `made` gives, as bytes."""
    cloudpickle = importlib.import_module(f"{ray.__name__}.cloudpickle")

    if request.param == "dumps":
        return cloudpickle.dumps(made())
    if request.param == "cloudpickle.dumps":
        return cloudpickle.cloudpickle.dumps(made())
    file = io.BytesIO()
    if request.param == "dump":
        cloudpickle.dump(made(), file)
    else:
        cloudpickle.CloudPickler(file).dump(made())
    return file.getvalue()


def test_a_traceback_names_the_file_of_a_function(written):
    with pytest.raises(LookupError) as caught:
        pickle.loads(written)()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__


def test_a_task_shows_the_file_of_a_function(ray, written):
    @ray.remote
    def run(written):
        return pickle.loads(written)()

    with pytest.raises(LookupError) as caught:
        ray.get(run.remote(written))
    assert f'  File "{__file__}", line 14, in fail' in str(caught.value)


def test_the_source_of_a_function_is_found(ray, written):
    @ray.remote
    def source(written):
        return inspect.getsource(pickle.loads(written))

    assert ray.get(source.remote(written)) == inspect.getsource(made())
