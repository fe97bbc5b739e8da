import os
import sys

import pytest

MAIN = """
    import dataclasses
    import enum
    import ray

    class Colour(enum.Enum):
        RED = 1

    @dataclasses.dataclass
    class Point:
        x: int
        colour: Colour = Colour.RED

    class Trouble(Exception):
        pass

    @ray.remote
    def double(point):
        return Point(2 * point.x)

    @ray.remote
    class Counter:
        def __init__(self):
            self.value = 0

        def add(self, point):
            if point.x < 0:
                raise Trouble(point)
            self.value += point.x
            return Point(self.value)
"""


def run_main():
    return """
    print("top level")
    INIT
    counter = Counter.remote()
    point = ray.get(counter.add.remote(double.remote(Point(2))))
    print(point == Point(4), type(point) is Point, point.colour is Colour.RED)
    try:
        ray.get(counter.add.remote(Point(-1)))
    except Trouble as error:
        print("trouble", error.cause.args[0].x)
"""


EXPECTED = "top level\nTrue True True\ntrouble -1\n"


def indented(source):
    return "".join(f"    {line}\n" for line in source.splitlines())


def test_a_script_without_a_main_guard_runs_once(scripts):
    assert scripts.run(MAIN + run_main()) == EXPECTED


def test_a_script_with_a_main_guard_runs(scripts):
    assert scripts.run(MAIN + '\n    if __name__ == "__main__":\n' + indented(run_main())) == EXPECTED


def test_a_script_sees_its_arguments_and_itself_and_workers_its_surroundings(scripts):
    out = scripts.run("""
        import os, sys
        import ray
        os.environ["OF_THE_DRIVER"] = "yes"
        INIT

        @ray.remote
        def surroundings():
            return os.getcwd(), os.environ.get("OF_THE_DRIVER")

        print(sys.argv, __name__, os.path.basename(__file__), os.path.dirname(os.path.abspath(__file__)) in sys.path)
        print(ray.get(surroundings.remote()) == (os.getcwd(), "yes"))
        """, "--flag", "word")
    assert out == "['script.py', '--flag', 'word'] __main__ script.py True\nTrue\n"


def test_modules_beside_the_script_are_found_by_workers(scripts):
    scripts.write("folder/beside.py", """
        import ray

        state = []

        class Plain:
            def append(self, x):
                state.append(x)
                return list(state)

        @ray.remote
        def one():
            return 1
        """)
    scripts.write("folder/package/__init__.py", "")
    scripts.write("folder/package/inner.py", "class Inner(Exception): pass")
    scripts.write("folder/script.py", """
        import ray
        import beside
        from package.inner import Inner
        INIT
        Remote = ray.remote(beside.Plain)

        @ray.remote
        def fail():
            raise Inner("inside")

        first, second = Remote.remote(), Remote.remote()
        print(ray.get([first.append.remote(1), second.append.remote(2), beside.one.remote()]), beside.state)
        try:
            ray.get(fail.remote())
        except Inner as error:
            print("inside" in str(error))
        """)
    out = scripts.finished(scripts.start("folder/script.py"))
    if scripts.backend.is_serial:
        # One process has one copy of a module's globals; the actors' results are checked on the others.
        assert out.splitlines()[1] == "True"
    else:
        assert out == "[[1], [2], 1] []\nTrue\n"


def test_the_modules_of_ray_are_found_by_driver_and_workers(scripts):
    out = scripts.run("""
        import ray
        import ray.exceptions
        import ray.util
        from ray.actor import ActorHandle, exit_actor
        from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError, TaskCancelledError
        from ray.util import ActorPool
        INIT

        @ray.remote
        class Squarer:
            def square(self, x):
                from ray.util import ActorPool
                import ray.exceptions
                return x * x

        @ray.remote
        def fail():
            raise ValueError("v")

        @ray.remote
        def nested():
            import ray
            from ray.exceptions import RayTaskError
            try:
                ray.get(fail.remote())
            except RayTaskError as error:
                return type(error.cause).__name__

        print(list(ActorPool([Squarer.remote() for _ in range(2)]).map(lambda a, x: a.square.remote(x), range(4))))
        print(ray.get(nested.remote()))
        """)
    assert out == "[0, 1, 4, 9]\nValueError\n"


@pytest.mark.parametrize("ending, status", [("raise ValueError('the end')", 1), ("sys.exit(3)", 3)])
def test_the_scripts_ending_is_the_drivers(scripts, ending, status):
    scripts.write("script.py", f"""
        import sys
        import ray
        INIT
        ray.get(ray.put(1))
        {ending}
        """)
    driver = scripts.start("script.py")
    assert driver.finish() == status
    if status == 1:
        assert "script.py" in driver.err and "ValueError: the end" in driver.err


def plain(scripts, source, *arguments):
    """Run `source` without a script of its own: as the text of `-c`, or by standard input."""
    source = scripts.source(source).replace("import ray\n", f"import {scripts.backend.package} as ray\n").lstrip()
    if "-c" in arguments:
        return scripts.finished(scripts.start_command(sys.executable, *arguments, source))
    (scripts.directory / "stdin").write_text(source)
    with open(scripts.directory / "stdin") as stdin:
        return scripts.finished(scripts.start_command(sys.executable, *arguments, stdin=stdin))


@pytest.mark.parametrize("arguments", [["-c"], ["-"]], ids=["as an argument", "by standard input"])
def test_a_program_without_a_file_runs(scripts, arguments):
    assert plain(scripts, MAIN + run_main(), *arguments) == EXPECTED


def test_an_interactive_session_may_define_things_anew(scripts):
    out = plain(scripts, """
        import ray
        _ = INIT

        @ray.remote
        class Keep:
            def __init__(self, value): self.value = value
            def read(self): return self.value

        @ray.remote
        def function(): return "first"

        print(ray.get([Keep.remote(1).read.remote(), function.remote()]))

        @ray.remote
        def function(): return "second"

        @ray.remote
        class Keep:
            def read(self): return "anew"

        print(ray.get([Keep.remote().read.remote(), function.remote()]))
        """, "-i")
    assert out == "[1, 'first']\n['anew', 'second']\n"


@pytest.mark.rayshim_only
def test_rayshim_run_is_the_other_name_of_the_command(scripts):
    scripts.write("script.py", """
        import sys
        import ray
        INIT
        print(sys.argv, ray.get(ray.put(1)))
        """)
    command = os.path.join(os.path.dirname(sys.executable), "rayshim")
    assert scripts.finished(scripts.start_command(command, "run", "script.py", "word")) == "['script.py', 'word'] 1\n"


@pytest.mark.rayshim_only
def test_a_script_that_imports_rayshim_needs_no_command(scripts):
    scripts.write("script.py", MAIN.replace("import ray\n", "import rayshim as ray\n") + run_main())
    assert scripts.finished(scripts.start_command(sys.executable, "script.py")) == EXPECTED


@pytest.mark.rayshim_only
def test_a_missing_script_is_named(scripts):
    driver = scripts.start("missing.py")
    assert driver.finish() != 0
    assert "missing.py" in driver.err


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_a_child_by_multiprocessing_has_the_same_ray_and_may_use_it(scripts, how):
    out = scripts.run(f"""
        import concurrent.futures, multiprocessing
        import ray

        @ray.remote
        def double(x):
            return 2 * x

        @ray.remote
        class Counter:
            def add(self, x):
                return x + 1

        def use(x):
            INIT
            return ray.__file__, ray.get([double.remote(x), Counter.remote().add.remote(x)])

        if __name__ == "__main__":
            with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context({how!r})) as pool:
                file, results = pool.submit(use, 20).result()
            print(file == ray.__file__, results)
        """)
    assert out == "True [40, 21]\n"


@pytest.mark.rayshim_only  # Ray's worker looks for them in its own main module
def test_functions_and_classes_of_the_script_travel_from_a_child_by_multiprocessing(scripts):
    out = scripts.run("""
        import multiprocessing
        import ray

        class Point:
            def __init__(self, x):
                self.x = x

        def moved(point):
            return Point(point.x + 1)

        def use():
            INIT
            result = ray.get(ray.remote(moved).remote(Point(1)))
            print(type(result) is Point, result.x)

        if __name__ == "__main__":
            child = multiprocessing.get_context("spawn").Process(target=use)
            child.start()
            child.join()
        """)
    assert out == "True 2\n"
