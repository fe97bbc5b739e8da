"""Modules of a runtime environment that have the names of installed packages, which the program has imported."""

import pytest

pytest.importorskip("networkx")

pytestmark = pytest.mark.needs_processes


@pytest.mark.parametrize("field", ["py_modules", "working_dir"])
def test_workers_have_the_environments_package(scripts, tmp_path, field):
    package = tmp_path / "mine" / "networkx"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("MINE = True\n")
    given = [str(package)] if field == "py_modules" else str(package.parent)
    out = scripts.run(
        """
        import networkx
        import ray
        INIT

        def found():
            import networkx
            return hasattr(networkx, "MINE")

        @ray.remote
        class Actor:
            def found(self):
                return found()

            def of_the_program(self):
                return hasattr(networkx, "MINE")

        task = ray.remote(found)
        actor = Actor.remote()
        print(hasattr(networkx, "MINE"), ray.get([task.remote(), actor.found.remote(), actor.of_the_program.remote()]))
        """,
        runtime_env={field: given},
    )
    assert "False [True, True, True]" in out
