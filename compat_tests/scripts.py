"""Drivers in processes of their own: what a person types at a shell."""

import os
import signal
import subprocess
import sys
import textwrap

from compat_tests import processes


class Driver:
    """A running driver with its output in files, which a reader cannot block and a worker cannot hold open."""

    def __init__(self, command, directory, name, mark, stdin=None):
        self._paths = [os.path.join(directory, f"{name}.{stream}") for stream in ("out", "err")]
        with open(self._paths[0], "wb") as out, open(self._paths[1], "wb") as err:
            self.process = subprocess.Popen(
                command, cwd=directory, stdout=out, stderr=err, stdin=stdin or subprocess.DEVNULL,
                env={**os.environ, processes.MARK: mark}, start_new_session=True, preexec_fn=_default_interrupt)

    @property
    def out(self):
        return self._text(0)

    @property
    def err(self):
        return self._text(1)

    def finish(self, seconds=40.0):
        """Wait for the end; return the exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the driver did not end within {seconds} s\n{self.out}\n{self.err}") from None

    def wait_for(self, text, seconds=40.0):
        """Wait until the driver has printed `text`."""
        def printed():
            if self.process.poll() is not None and text not in self.out:
                raise AssertionError(f"the driver ended without printing {text!r}\n{self.out}\n{self.err}")
            return text in self.out
        processes.wait_until(printed, seconds, f"driver prints {text!r}")

    def interrupt(self):
        """What a terminal does at Ctrl-C: SIGINT to the whole foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def _text(self, index):
        with open(self._paths[index], errors="replace") as file:
            return file.read()


def _default_interrupt():
    # What a shell starts in the background ignores SIGINT, and so would its descendants.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Scripts:
    """Writes scripts into a directory of the test and runs them on one backend."""

    def __init__(self, backend, directory, mark):
        self.backend = backend
        self.directory = directory
        self.mark = mark
        self._drivers = []

    def write(self, name, source, **init):
        """Write a script in which `INIT` stands for the call of `ray.init` that chooses the backend."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.source(source, **init))
        return path

    def source(self, source, **init):
        return textwrap.dedent(source).replace("INIT", self.backend.init_source(**init))

    def start(self, *arguments, stdin=None):
        """Start an interpreter with `arguments`, in which a script may say `import ray`."""
        return self.start_command(sys.executable, *self.backend.command(*arguments), stdin=stdin)

    def start_command(self, *command, stdin=None):
        driver = Driver(command, self.directory, f"driver{len(self._drivers)}", self.mark, stdin)
        self._drivers.append(driver)
        return driver

    def run(self, source, *arguments, **init):
        """Run `source` as a script to its end, which must be a good one; return its standard output."""
        self.write("script.py", source, **init)
        return self.finished(self.start("script.py", *arguments))

    def finished(self, driver):
        status = driver.finish()
        assert status == 0, f"exit status {status}\n{driver.out}\n{driver.err}"
        return driver.out

    def stop(self):
        for driver in self._drivers:
            if driver.process.poll() is None:
                driver.process.kill()
                driver.process.wait()
