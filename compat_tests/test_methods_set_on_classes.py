"""Methods that a program sets on a class of a module are methods of its actors: the functions are sent with the class."""

import pytest

LIBRARY = """
class Base:
    def __init__(self, number=1):
        self.number = number

    def kept(self):
        return "kept", self.number

class Thing(Base):
    def old(self):
        return "the module's"
"""


@pytest.fixture
def library(scripts):
    scripts.write("library.py", LIBRARY)
    return scripts


def test_a_method_that_was_added_or_replaced_runs_in_the_actor(library):
    out = library.run("""
    import ray
    import library

    INIT

    def added(self):
        return self.old(), self.number

    async def later(self):
        return self.number + 1

    def start(self):
        self.number = 5

    library.Thing.added = added
    library.Base.deep = lambda self: self.added()
    library.Thing.old = lambda self: "the script's"
    library.Thing.__init__ = start
    thing = ray.remote(library.Thing).remote()
    print(ray.get([thing.added.remote(), thing.deep.remote(), thing.old.remote(), thing.kept.remote()]))

    library.Base.later = later
    print(ray.get(ray.remote(library.Base).remote(3).later.remote()))
    """, num_cpus=2)
    assert out.splitlines()[-2:] == [
        "[(\"the script's\", 5), (\"the script's\", 5), \"the script's\", ('kept', 5)]",
        "4",
    ]


def test_a_class_of_the_script_has_what_was_added_to_its_base(library):
    out = library.run("""
    import ray
    import library

    INIT
    library.Thing.added = lambda self: ("added", self.number)

    @ray.remote
    class Mine(library.Thing):
        def own(self):
            return self.added(), self.old()

    mine = Mine.remote(2)
    print(ray.get([mine.own.remote(), mine.added.remote()]))
    """, num_cpus=2)
    assert out.splitlines()[-1] == "[(('added', 2), \"the module's\"), ('added', 2)]"


def test_an_actor_class_that_was_passed_on_has_the_methods(library):
    out = library.run("""
    import ray
    import library

    INIT
    library.Thing.added = lambda self: ("added", self.number)
    Thing = ray.remote(library.Thing)
    print(ray.get(Thing.remote(7).added.remote()))

    @ray.remote(num_cpus=0)
    def make(cls):
        return ray.get(cls.remote(8).added.remote())

    print(ray.get(make.remote(Thing)))
    """, num_cpus=2)
    assert out.splitlines()[-2:] == ["('added', 7)", "('added', 8)"]


@pytest.mark.needs_processes
def test_other_code_in_the_worker_sees_the_class_of_the_module(library):
    out = library.run("""
    import ray
    import library

    INIT
    library.Thing.old = lambda self: "the script's"
    thing = ray.remote(library.Thing).remote()

    def look(self):
        import library

        cls = type(self)
        return isinstance(self, library.Thing), cls.__name__, cls.__module__, library.Thing().old(), self.old()

    print(ray.get(thing.__ray_call__.remote(look)))
    """, num_cpus=2)
    assert out.splitlines()[-1] == (
        "(True, 'Thing', 'library', \"the module's\", \"the script's\")"
    )


@pytest.mark.needs_processes
def test_a_method_under_the_name_of_the_modules_own_is_the_modules_own(library):
    out = library.run("""
    import functools
    import ray
    import library

    INIT

    @functools.wraps(library.Thing.old)
    def old(self):
        return "the script's"

    library.Thing.old = old
    print(ray.get(ray.remote(library.Thing).remote().old.remote()))
    """, num_cpus=2)
    assert out.splitlines()[-1] == "the module's"


@pytest.mark.needs_processes
def test_an_actor_lives_without_the_class_methods_that_were_added(library):
    out = library.run("""
    import ray
    import library

    INIT
    library.Thing.by_class = classmethod(lambda cls: 1)
    library.Thing.static = staticmethod(lambda: 1)
    print(ray.get(ray.remote(library.Thing).remote().kept.remote()))
    """, num_cpus=2)
    assert out.splitlines()[-1] == "('kept', 1)"
