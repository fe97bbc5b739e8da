"""A program may have modules of its own with the names of packages that workers are forked with: its workers have the program's."""

import pytest

PROGRAM = """
    import gymnasium
    import ray
    INIT

    @ray.remote
    def look():
        import gymnasium
        return gymnasium.mine

    @ray.remote
    class Actor:
        def look(self):
            import gymnasium
            return gymnasium.mine

    print(ray.get([look.remote(), Actor.remote().look.remote()]))
    """


def test_a_module_beside_the_script(scripts):
    scripts.write("gymnasium.py", "mine = 'beside'\n")
    scripts.write("script.py", PROGRAM)
    assert scripts.finished(scripts.start("script.py")) == "['beside', 'beside']\n"


@pytest.mark.needs_processes
def test_a_module_that_the_script_makes(scripts):
    scripts.write("script.py", """
        import sys, types
        import ray
        sys.modules["gymnasium"] = types.ModuleType("gymnasium")  # as mocks do
        INIT

        @ray.remote
        def look():
            return "gymnasium" in sys.modules

        print(ray.get(look.remote()))
        """)
    assert scripts.finished(scripts.start("script.py")) == "False\n"
