"""Programs in a Jupyter notebook: cells of one kernel, run and interrupted as Jupyter does."""

import pytest

from compat_tests.notebooks import CellFailed

COUNTER = """
    @ray.remote
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k
            return self.n

        def fail(self, text):
            raise Trouble(text)

    class Trouble(Exception):
        pass

    counter = Counter.remote()
    ray.get(counter.add.remote(2))
"""


def result(notebook, source):
    return notebook.run(source)["result"]


def test_what_a_later_cell_defines_again_is_for_later_calls(notebook):
    assert result(notebook, COUNTER) == "2"
    assert result(notebook, """
        @ray.remote
        class Counter:
            def add(self, k):
                return -k

        other = Counter.remote()
        ray.get([counter.add.remote(1), other.add.remote(1)])
    """) == "[3, -1]"
    assert result(notebook, """
        factor = 2

        @ray.remote
        def times(x):
            return factor * x

        ray.get(times.remote(4))
    """) == "8"
    assert result(notebook, "factor = 3; ray.get(times.remote(4))") == "8"  # a remote function has the globals of its first call
    assert result(notebook, """
        @ray.remote
        def times(x):
            return 10 * factor * x

        ray.get(times.remote(4))
    """) == "120"


def test_values_of_a_class_of_a_cell_come_back_as_that_class(notebook):
    assert result(notebook, """
        import dataclasses

        @dataclasses.dataclass
        class Point:
            x: int

        @ray.remote
        def move(point):
            return Point(point.x + 1)

        point = ray.get(move.remote(Point(1)))
        type(point) is Point, point
    """) == "(True, Point(x=2))"


@pytest.mark.needs_processes
def test_what_workers_print_is_shown_by_a_cell(notebook):
    notebook.run("""
        import sys

        @ray.remote
        def speak():
            print("to the output")
            print("to the errors", file=sys.stderr)

        ray.get(speak.remote())
    """)
    notebook.run_until_shown("stdout", "to the output")
    notebook.run_until_shown("stderr", "to the errors")


def test_the_error_of_a_call_is_the_cells(notebook):
    notebook.run(COUNTER)
    with pytest.raises(CellFailed) as caught:
        notebook.run("ray.get(counter.fail.remote('of the counter'))")
    assert caught.value.name == "RayTaskError(Trouble)"
    assert "in fail" in caught.value.text and "of the counter" in caught.value.text
    assert "ray.get(counter.fail.remote('of the counter'))" in caught.value.traceback
    assert notebook.run("""
        try:
            ray.get(counter.fail.remote(""))
        except Trouble as error:
            print("caught", isinstance(error, ray.exceptions.RayTaskError))
        print(ray.get(counter.add.remote(1)))
    """)["stdout"] == "caught True\n3\n"


def test_cells_await_in_the_loop_of_the_kernel(notebook):
    notebook.run("""
        import asyncio

        @ray.remote
        def double(x):
            return 2 * x

        @ray.remote
        def fail():
            raise KeyError("lost")

        @ray.remote
        class Server:
            async def double(self, x):
                await asyncio.sleep(0)
                return 2 * x

        server = Server.remote()
    """)
    assert result(notebook, "await double.remote(4)") == "8"
    assert result(notebook, "await asyncio.gather(double.remote(1), server.double.remote(2))") == "[2, 4]"
    assert result(notebook, "[await ref for ref in map(double.remote, range(3))]") == "[0, 2, 4]"
    notebook.run("""
        async def later():
            return await double.remote(5)

        pending = asyncio.create_task(later())
    """)
    assert result(notebook, "await pending") == "10"
    assert result(notebook, "ray.get(server.double.remote(3))") == "6"
    with pytest.raises(CellFailed) as caught:
        notebook.run("await fail.remote()")
    assert caught.value.name == "RayTaskError(KeyError)"


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("waits", ["ray.get(stuck)", "ray.get([counter.add.remote(0), stuck])", "ray.wait([stuck])", "ray.get(counter.take.remote([stuck]))"])
def test_an_interrupted_cell_leaves_the_session_as_it_was(notebook, tmp_path, waits):
    notebook.run(COUNTER)
    notebook.run("""
        import time

        @ray.remote
        def stay():
            open("running", "w").close()
            while True:
                time.sleep(0.01)

        @ray.remote
        class Taker:
            def take(self, refs):
                return ray.get(refs[0])
    """)
    with pytest.raises(CellFailed) as caught:
        notebook.run(f"stuck = stay.remote()\n{waits.replace('counter.take', 'Taker.remote().take')}", interrupted_after=tmp_path / "running")
    assert caught.value.name == "KeyboardInterrupt"
    assert result(notebook, "ray.get(counter.add.remote(1))") == "3"
    assert result(notebook, "ray.wait([stuck], timeout=0)[0]") == "[]"
    with pytest.raises(CellFailed) as caught:
        notebook.run("ray.cancel(stuck)\nray.get(stuck)")
    assert "TaskCancelledError" in caught.value.name


def test_a_session_ends_and_another_begins_in_later_cells(notebook):
    notebook.run(COUNTER)
    notebook.run("""
        @ray.remote
        def double(x):
            return 2 * x

        first = ray.get(double.remote(2))
    """)
    assert result(notebook, "ray.shutdown(); ray.is_initialized()") == "False"
    notebook.run("INIT;")
    assert result(notebook, "first, ray.get(double.remote(3))") == "(4, 6)"
    assert result(notebook, "await double.remote(4)") == "8"
    assert result(notebook, COUNTER) == "2"
    with pytest.raises(CellFailed) as caught:
        notebook.run("INIT;")
    assert caught.value.name == "RuntimeError" and "twice" in caught.value.text
