"""A program's own tests: its pytest suite in several workers, its doctests; and the standard library's tools that run a program."""

import os
import re
import sys

import pytest

PROGRAM = """
    '''A program with tests.

    >>> _ = INIT
    >>> ray.get(double.remote(4))
    8
    >>> counter = Counter.remote()
    >>> [ray.get(counter.add.remote(k)) for k in range(3)]
    [0, 1, 3]
    >>> ray.get(fail.remote())  # doctest: +ELLIPSIS, +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    RayTaskError(ValueError): ...
    >>> ray.shutdown()
    '''
    import ray

    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote
    def fail():
        raise ValueError("no")

    @ray.remote
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k
            return self.n
"""

SUITE = """
    import os
    import pytest
    import ray
    from program import Counter, double, fail

    @pytest.fixture(scope="session", autouse=True)
    def session():
        INIT
        open(f"session-{os.getpid()}", "w").close()
        yield
        ray.shutdown()

    @pytest.fixture
    def counter():
        return Counter.options(name="the counter").remote()

    @pytest.mark.parametrize("k", range(4))
    def test_counter(counter, k):
        assert ray.get([counter.add.remote(k), counter.add.remote(1)]) == [k, k + 1]
        ray.kill(counter)

    @pytest.mark.parametrize("k", range(4))
    def test_double(k):
        assert ray.get(double.remote(k)) == 2 * k

    def test_fail():
        with pytest.raises(ValueError, match="no"):
            ray.get(fail.remote())

    def test_of_a_function_here(monkeypatch, tmp_path):
        @ray.remote
        def where():
            return __name__

        monkeypatch.chdir(tmp_path)
        assert ray.get(where.remote()) == __name__

    def test_that_fails():
        assert ray.get(double.remote(2)) == 5
"""


@pytest.fixture
def program(scripts):
    """Writes the program and its suite, and runs a module of Python's on them."""
    scripts.write("program.py", PROGRAM)
    scripts.write("test_program.py", SUITE)
    return lambda *arguments: scripts.start("-m", *arguments)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_suite_in_several_workers_has_a_session_in_each(program, scripts, workers):
    driver = program("pytest", "-p", "xdist", "-n", str(workers), "-p", "no:cacheprovider", "--rootdir", ".", "-c", os.devnull, "test_program.py")
    assert driver.finish(120) == 1, driver.out + driver.err
    assert re.search("1 failed, 10 passed", driver.out), driver.out + driver.err
    assert "assert 4 == 5" in driver.out
    assert len(list(scripts.directory.glob("session-*"))) == max(workers, 1)


def test_doctests_of_a_module_with_remote_functions(program, scripts):
    scripts.finished(program("doctest", "program.py"))
    out = scripts.finished(program("pytest", "-p", "no:cacheprovider", "--rootdir", ".", "-c", os.devnull, "--doctest-modules", "program.py"))
    assert "1 passed" in out


@pytest.mark.parametrize("tool", [["cProfile"], ["trace", "--count", "--coverdir", "counted"], ["pdb", "-c", "continue", "-c", "quit"]], ids=lambda tool: tool[0])
def test_a_tool_of_pythons_runs_a_program(program, scripts, tool):
    scripts.write("script.py", """
        import ray
        import program
        INIT
        print(ray.get([program.double.remote(2), program.Counter.remote().add.remote(1)]))
    """)
    assert "\n[4, 1]\n" in "\n" + scripts.finished(program(*tool, "script.py"))


@pytest.mark.rayshim_only
def test_the_doctests_of_a_program_that_imports_rayshim(scripts):
    scripts.write("program.py", PROGRAM.replace("import ray\n", "import rayshim as ray\n"))
    assert scripts.finished(scripts.start_command(sys.executable, "-m", "doctest", "program.py")) == ""
