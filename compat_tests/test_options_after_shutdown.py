"""The options of a method whose session has ended."""

import pytest


class Counter:
    def count(self):
        return 1


@pytest.mark.parametrize("options", [{"num_returns": 1}, {"name": "counted"}])
def test_options_start_no_session(bare_ray, backend, options):
    backend.init(num_cpus=1)
    counter = bare_ray.remote(Counter).remote()
    assert bare_ray.get(counter.count.options(name="before").remote()) == 1
    bare_ray.shutdown()
    counter.count.options(**options)
    assert not bare_ray.is_initialized()
