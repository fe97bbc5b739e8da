"""Workers find the modules in the directory where a program is started, wherever its script is."""

import pytest

pytestmark = pytest.mark.needs_processes

PROGRAM = """
    import os, sys
    import ray

    os.chdir(sys.argv[1])
    INIT

    def found():
        import where
        return where.it_is

    class Actor:
        def found(self):
            return found()

    @ray.remote
    class InItsConstructor:
        def __init__(self):
            self.it_was = found()

        def found(self):
            return self.it_was

    print(ray.get([ray.remote(found).remote(), ray.remote(Actor).remote().found.remote(), InItsConstructor.remote().found.remote()]))
    try:
        found()
    except ImportError as error:
        print(error)
    """


def write(scripts, program):
    scripts.write("where.py", "it_is = 'in the current directory'\n")
    scripts.write("scripts/same.py", "it_is = 'beside the script'\n")
    scripts.write("elsewhere/where.py", "it_is = 'elsewhere'\n")
    scripts.write("scripts/main.py", program)


@pytest.mark.parametrize(("directory", "place"), [(".", "in the current directory"), ("elsewhere", "elsewhere")])
def test_of_a_script_in_a_folder(scripts, directory, place):
    write(scripts, PROGRAM)
    out = scripts.finished(scripts.start("scripts/main.py", directory))
    assert out.splitlines() == [str([place] * 3), "No module named 'where'"]


def test_not_with_a_working_directory_of_the_session(scripts):
    write(scripts, PROGRAM)
    scripts.write("scripts/main.py", """
        import ray

        INIT

        @ray.remote
        def found():
            import same
            try:
                import where
            except ImportError as error:
                return same.it_is, str(error)
            return same.it_is, where.it_is

        print(ray.get(found.remote()))
        """, runtime_env={"working_dir": str(scripts.directory / "scripts")})
    assert scripts.finished(scripts.start("scripts/main.py")) == "('beside the script', \"No module named 'where'\")\n"
