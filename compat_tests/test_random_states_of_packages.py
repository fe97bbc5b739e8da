"""Packages that make random numbers of their own: each process has others."""

import pytest

pytest.importorskip("sympy")

pytestmark = pytest.mark.needs_own_processes


def test_two_actors_get_different_random_primes_of_sympy(ray):
    import sympy  # noqa: F401  the program has imported it, too

    @ray.remote
    class Actor:
        def primes(self):
            import sympy

            return [int(sympy.randprime(10**6, 10**9)) for _ in range(3)]

    one, other = ray.get([actor.primes.remote() for actor in [Actor.remote(), Actor.remote()]])
    assert one != other
