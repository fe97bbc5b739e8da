"""Notebooks: cells run in a kernel of their own, as Jupyter runs them."""

import asyncio
import re
import textwrap


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

    def run_until_shown(self, stream, text):
        """Run idle cells until one shows `text` in `stream`: the lines of workers may come after the end of their cell."""
        for _ in range(300):
            if any(text in output.text for cell in self._client.nb.cells for output in cell.outputs if output.get("name") == stream):
                return
            self.run("import time; time.sleep(0.05)")
        raise AssertionError(f"no cell shows {text!r} in its {stream}: {self._client.nb.cells}")

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
