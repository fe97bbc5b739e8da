"""What `import ray` and `init` do to a program beside Ray's own names."""

import pytest


def test_modules_of_the_standard_library_need_no_import_of_their_own(scripts):
    scripts.write(
        "script.py",
        """
        import concurrent, importlib, logging, urllib
        import ray
        INIT

        @ray.remote
        def quoted():
            import logging, urllib
            logging.handlers.MemoryHandler
            return urllib.parse.quote("a b")

        print(ray.get(quoted.remote()), urllib.parse.quote("c d"), logging.handlers.MemoryHandler.__name__, importlib.metadata.version("numpy") > "1")
        print(concurrent.futures.ThreadPoolExecutor.__name__, hasattr(logging, "no_such_module"))
        """,
    )
    out = scripts.finished(scripts.start("script.py"))
    assert "a%20b c%20d MemoryHandler True" in out
    assert "ThreadPoolExecutor False" in out


@pytest.mark.rayshim_only  # it passes on Ray, but now and then leaves agents behind for more than 20 s
def test_a_crash_in_native_code_shows_where_the_program_was(scripts):
    scripts.write(
        "script.py",
        """
        import ctypes
        import ray
        INIT

        def read_at_zero():
            ctypes.string_at(0)

        read_at_zero()
        """,
    )
    driver = scripts.start("script.py")
    assert driver.finish() != 0
    assert "Fatal Python error: Segmentation fault" in driver.err
    assert "in read_at_zero" in driver.err
