"""`@ray.method` without options."""

import pytest


@pytest.mark.parametrize("decorate", [lambda ray: ray.method, lambda ray: ray.method()], ids=["plain", "called"])
def test_a_method_decorated_without_options_is_a_method(ray, decorate):
    @ray.remote
    class Adder:
        @decorate(ray)
        def add(self, a, b=1):
            return a + b

        @decorate(ray)
        async def later(self, a):
            return a

    assert ray.get(Adder.remote().add.remote(2)) == 3
    assert ray.get(Adder.remote().later.remote(ray.put(2))) == 2


def test_a_method_decorator_refuses_what_is_no_method(ray):
    with pytest.raises(AssertionError, match="must be applied using no arguments or at"):
        ray.method(1)
    with pytest.raises(AssertionError):
        ray.method(unknown=1)
