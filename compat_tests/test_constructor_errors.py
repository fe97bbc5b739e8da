"""What the error of a constructor says."""

import pytest


def test_it_shows_the_instance_and_the_line(ray):
    @ray.remote
    class Broken:
        def __init__(self):
            raise ValueError("found no file")

        def ping(self):
            return "pong"

    actor = Broken.remote()
    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(actor.ping.remote(), timeout=30)
    text = str(caught.value)
    assert "because of an error raised in its creation task" in text and "ValueError: found no file" in text
    assert "Broken object at 0x" in text and "NoneType" not in text
    assert 'raise ValueError("found no file")' in text


def test_it_shows_no_instance_of_another_class(ray):
    class Part:
        def __init__(self):
            raise KeyError("part")

    @ray.remote
    class Whole:
        def __init__(self):
            self.part = Part()

        def ping(self):
            return "pong"

    actor = Whole.remote()
    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(actor.ping.remote(), timeout=30)
    assert "Whole object at 0x" in str(caught.value) and "Part object at 0x" not in str(caught.value)


def test_it_shows_the_instance_by_its_own_repr(ray):
    @ray.remote
    class Named:
        def __init__(self):
            self.name = "first"
            raise ValueError("later")

        def __repr__(self):
            return f"Named({self.name})"

        def ping(self):
            return "pong"

    actor = Named.remote()
    with pytest.raises(ray.exceptions.ActorDiedError, match=r"repr=Named\(first\)"):
        ray.get(actor.ping.remote(), timeout=30)


@pytest.mark.rayshim_only  # on Ray the failing repr hides the constructor's error
def test_a_repr_that_fails_hides_nothing(ray):
    @ray.remote
    class Early:
        def __init__(self):
            raise ValueError("before the name")

        def __repr__(self):
            return self.name

        def ping(self):
            return "pong"

    actor = Early.remote()
    with pytest.raises(ray.exceptions.ActorDiedError, match="before the name") as caught:
        ray.get(actor.ping.remote(), timeout=30)
    assert "Early object at 0x" in str(caught.value)
