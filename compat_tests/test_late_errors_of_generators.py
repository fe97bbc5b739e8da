"""What a generator raises after the last of a fixed number of results. No ref can have it, so it is printed."""

import re

from compat_tests.test_output import shown


def test_an_error_or_a_value_too_many_after_the_last_result_is_printed(scripts):
    shown(scripts, """
        import ray
        INIT

        @ray.remote(num_returns=2)
        def late():
            yield 1
            yield 2
            raise ValueError("a late error")

        @ray.remote
        class Actor:
            @ray.method(num_returns=2)
            def three(self):
                yield from range(3)

        actor = Actor.remote()
        assert ray.get(late.remote()) == [1, 2] and ray.get(actor.three.remote()) == [0, 1]
        """, re.compile("ValueError: a late error"), re.compile("more.*than num_returns=2"), stream="err")
