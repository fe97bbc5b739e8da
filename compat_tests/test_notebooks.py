"""Programs in a Jupyter notebook: cells of one kernel, run and interrupted as Jupyter does."""

import asyncio
import re
import textwrap

import pytest

from compat_tests.conftest import _nothing_left_behind

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


class CellFailed(Exception):
    """A cell raised; `name` and `text` of the exception as the notebook shows them, `traceback` without colours."""

    def __init__(self, name, text, traceback):
        super().__init__(f"{name}: {text}\n{traceback}")
        self.name, self.text, self.traceback = name, text, traceback


class Notebook:
    """A kernel and the cells that were run in it; `IMPORT` and `INIT` in a cell stand for what chooses the backend."""

    def __init__(self, backend, directory, seconds=120):
        import nbformat
        from nbclient import NotebookClient

        self._backend = backend
        self._format = nbformat.v4
        self._seconds = seconds
        self._client = NotebookClient(
            self._format.new_notebook(), kernel_name="python3", resources={"metadata": {"path": str(directory)}}, allow_errors=True)
        self._loop = asyncio.new_event_loop()
        self._late = {}  # what came when its cell had ended, by its stream

    def __enter__(self):
        self._kernel = self._client.async_setup_kernel()
        self._do(self._kernel.__aenter__())
        return self

    def __exit__(self, *error):
        self._do(self._kernel.__aexit__(*error))
        self._loop.close()

    def run(self, source, interrupted_after=None):
        """Run a cell; return what it shows, {"stdout": text, "stderr": text, "result": text of its last expression}, or raise CellFailed.

        `interrupted_after`: a path; Jupyter's "interrupt" is pressed when it exists.
        """
        source = textwrap.dedent(source).replace("IMPORT", f"import {self._backend.package} as ray").replace("INIT", self._backend.init_source())
        return self._do(self._run(source, interrupted_after))

    async def _run(self, source, path):
        cells = self._client.nb.cells
        cells.append(self._format.new_code_cell(source))
        running = asyncio.ensure_future(self._client.async_execute_cell(cells[-1], len(cells) - 1))
        if path is not None:
            while not path.exists() and not running.done():
                await asyncio.sleep(0.01)
            await self._client.km.interrupt_kernel()
        await running
        return _shown(cells[-1].outputs)

    def wait_until_shown(self, stream, text):
        """Wait until some cell shows `text` in `stream`. The lines of workers may come when their cell has ended; nbclient drops those."""
        shown = [output.text for cell in self._client.nb.cells for output in cell.outputs if output.get("name") == stream]
        self._do(self._shown_late(stream, text, shown + self._late.setdefault(stream, [])))

    async def _shown_late(self, stream, text, shown):
        while not any(text in part for part in shown):
            message = await self._client.kc.iopub_channel.get_msg(timeout=None)
            if message["msg_type"] == "stream":
                self._late.setdefault(message["content"]["name"], []).append(message["content"]["text"])
                shown = self._late.get(stream, [])

    def _do(self, what):
        return self._loop.run_until_complete(asyncio.wait_for(what, self._seconds))


def _shown(outputs):
    shown = {"stdout": "", "stderr": "", "result": ""}
    for output in outputs:
        if output.output_type == "stream":
            shown[output.name] += output.text
        elif output.output_type == "execute_result":
            shown["result"] = output.data["text/plain"]
        elif output.output_type == "error":
            raise CellFailed(output.ename, output.evalue, _plain("\n".join(output.traceback)))
    return shown


def _plain(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.fixture
def notebook(backend, cluster, tmp_path, monkeypatch):
    """A kernel that has imported and started the backend; none of its processes may outlive the test."""
    cluster.stop()
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "jupyter"))
    with _nothing_left_behind(seconds=20.0 if backend.is_ray else 5.0), Notebook(backend, tmp_path) as notebook:
        notebook.run("IMPORT\nINIT;")
        yield notebook


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
    notebook.wait_until_shown("stdout", "to the output")
    notebook.wait_until_shown("stderr", "to the errors")


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


@pytest.mark.rayshim_only
def test_a_notebook_may_import_ray_and_have_rayshim(notebook):
    notebook.run("ray.shutdown()")
    assert result(notebook, """
        from rayshim import alias
        alias.install()
        import ray as other
        INIT

        @other.remote
        def name():
            import ray
            return ray.__name__

        other.__name__, other is ray, other.get(name.remote())
    """) == "('rayshim', True, 'rayshim')"
