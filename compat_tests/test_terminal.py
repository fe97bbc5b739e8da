"""What a person types at a terminal: Python's and IPython's prompts, Ctrl-C, Ctrl-D, the debugger."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import textwrap
import threading
from importlib.util import find_spec

import pytest

from compat_tests import processes
from compat_tests.conftest import _nothing_left_behind

PROMPTS = {"python": ["-i", "-q"], "ipython": ["-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner", "--no-confirm-exit"]}


class Terminal:
    """A program on a pseudo terminal of its own. What is typed comes back as output, too: wait for what is not in it."""

    def __init__(self, backend, directory, arguments):
        self.backend = backend
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=directory, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "dumb", "PYTHON_BASIC_REPL": "1", "IPYTHONDIR": str(directory / "ipython")})
        os.close(slave)
        self._output = bytearray()
        self._seen = 0  # where the text ends that was waited for last
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        while True:
            try:
                read = os.read(self._master, 65536)
            except OSError:
                return  # nobody has the other end any more
            if not read:
                return
            self._output += read

    @property
    def output(self):
        return self._output.decode(errors="replace").replace("\r", "")

    def type(self, source):
        """Type the lines of `source`, `IMPORT` and `INIT` for what chooses the backend; return where the output was."""
        before = len(self.output)
        source = textwrap.dedent(source).replace("IMPORT", f"import {self.backend.package} as ray").replace("INIT", self.backend.init_source())
        os.write(self._master, source.encode())
        return before

    def wait_for(self, text, after=0):
        """Wait until the output has what matches `text`."""
        def shown():
            found = re.compile(text, re.MULTILINE).search(self.output, after)
            self._seen = found.end() if found else self._seen
            return found

        try:
            processes.wait_until(shown, 60, f"the terminal shows {text!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output}") from None

    def answer(self, source, text):
        """Type `source`; wait for what matches `text`."""
        self.wait_for(text, self.type(source))

    def end_input(self):
        """Type Ctrl-D, at the prompt after the text that was waited for last: before it the terminal takes Ctrl-D for a zero byte."""
        self.wait_for(r"(>>> |In \[\d+\]: )\Z", self._seen)
        os.write(self._master, b"\x04")

    def finish(self):
        status = self.process.wait(60)
        self._reader.join(20)
        return status

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(20)
        os.close(self._master)


@pytest.fixture
def terminal(backend, cluster, tmp_path):
    """Starts programs on a terminal; none of their processes may outlive the test."""
    cluster.stop()
    started = []

    def start(*arguments):
        started.append(Terminal(backend, tmp_path, arguments))
        return started[-1]

    with _nothing_left_behind(seconds=20.0 if backend.is_ray else 5.0):
        yield start
        for terminal in started:
            terminal.stop()


@pytest.fixture(params=list(PROMPTS))
def prompt(request, terminal):
    if request.param == "ipython" and find_spec("IPython") is None:
        pytest.skip("IPython is not installed")
    prompt = terminal(*PROMPTS[request.param])
    prompt.answer("IMPORT\n_ = INIT\nprint('imp' 'orted')\n", "^.*imported$")
    return prompt


def test_functions_and_actors_are_typed_in_and_typed_again(prompt):
    prompt.answer("""\
        @ray.remote
        def double(x):
            return 2 * x

        'is', ray.get(double.remote(21))
        """, r"\('is', 42\)$")
    prompt.answer("""\
        @ray.remote
        class Counter:
            n = 0
            def add(self, k):
                self.n += k
                return self.n

        counter = Counter.remote()
        'is', ray.get([counter.add.remote(double.remote(4)) for _ in range(2)])
        """, r"\('is', \[8, 16\]\)$")
    prompt.answer("""\
        @ray.remote
        def double(x):
            return x + x + 1

        'is', ray.get(double.remote(1)), ray.get(counter.add.remote(1))
        """, r"\('is', 3, 17\)$")
    prompt.end_input()
    assert prompt.finish() == 0


def test_an_error_is_shown_and_the_next_line_runs(prompt):
    prompt.answer("""\
        @ray.remote
        def fail():
            raise KeyError('lo' 'st')

        ray.get(fail.remote())
        """, "^KeyError: 'lost'$")
    prompt.answer("'is', ray.get(ray.put(3))\n", r"\('is', 3\)$")


@pytest.mark.needs_processes
def test_what_workers_print_is_shown_while_the_prompt_waits(prompt):
    prompt.answer("""\
        @ray.remote
        def speak(word):
            print('spo' + word)

        ref = speak.remote('ken')
        """, r"\x1b\[36m\(speak pid=\d+\)\x1b\[0m spoken$")


@pytest.mark.needs_concurrency
def test_ctrl_c_ends_the_wait_and_not_the_session(prompt, tmp_path):
    prompt.type("""\
        @ray.remote
        def stay():
            import time
            open("running", "w").close()
            while True:
                time.sleep(0.01)

        @ray.remote
        class Counter:
            n = 0
            def add(self, k):
                self.n += k
                return self.n

        counter = Counter.remote()
        ray.get(counter.add.remote(1)); ref = stay.remote(); ray.get(ref)
        """)
    processes.wait_until(lambda: (tmp_path / "running").exists(), 60, "the task runs")
    prompt.answer("\x03", "^KeyboardInterrupt")
    prompt.answer("'is', ray.get(counter.add.remote(1)), ray.wait([ref], timeout=0)[0]\n", r"\('is', 2, \[\]\)$")
    prompt.answer("ray.cancel(ref); ray.get(ref)\n", "^.*TaskCancelledError")
    prompt.end_input()
    assert prompt.finish() in ((0,) if sys.version_info < (3, 14) else (0, -signal.SIGINT))  # so ends Python 3.14 itself after Ctrl-C


def test_a_script_ends_at_a_prompt_that_has_its_session(terminal, backend, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(f"""
        import ray
        {backend.init_source()}

        @ray.remote
        def double(x):
            return 2 * x

        print(input("question"), ray.get(double.remote(3)))
        """))
    prompt = terminal("-i", *backend.command("script.py"))
    prompt.wait_for("^.*question")
    prompt.answer("ans" "wered\n", "^.*answered 6$")
    prompt.answer("'is', __name__, ray.get(double.remote(4))\n", r"\('is', '__main__', 8\)$")
    prompt.end_input()
    assert prompt.finish() == 0


@pytest.mark.rayshim_only  # Ray has a debugger of its own, which waits for a client
def test_the_debugger_stops_in_the_driver(terminal, backend, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(f"""
        import ray
        {backend.init_source()}
        ref = ray.put(3)
        breakpoint()
        print("the", "end")
        """))
    prompt = terminal(*backend.command("script.py"))
    prompt.wait_for(r"^\(Pdb\)")
    prompt.answer("p 'is', ray.get(ref)\n", r"^\('is', 3\)$")
    prompt.answer("c\n", "^the end$")
    assert prompt.finish() == 0


def test_ipython_awaits_refs(terminal):
    pytest.importorskip("IPython")
    prompt = terminal(*PROMPTS["ipython"])
    prompt.answer("""\
        IMPORT
        _ = INIT
        @ray.remote
        def double(x):
            return 2 * x

        'is', await double.remote(21), [await double.remote(i) for i in range(2)]
        """, r"\('is', 42, \[0, 2\]\)$")
