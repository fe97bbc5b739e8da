"""A task that is cancelled in the middle of an import."""

import pytest

import rayshim as ray
from compat_tests.processes import wait_until

PACKAGE = {
    "__init__.py": "from .first import *\nfrom .second import *\nnames = first.__all__ + second.__all__\n",
    "first.py": "__all__ = ['one']\none = 1\n",
    "second.py": """
import os, time
__all__ = ['two']
two = 2
if not os.path.exists(os.environ['REACHED']):
    open(os.environ['REACHED'], 'w').close()
    time.sleep(60)
""",
}


@pytest.fixture
def package(tmp_path):
    """A package whose first import stops in its second module, after it has made the file that is given."""
    folder = tmp_path / "slowly_imported"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / name).write_text(text)
    yield tmp_path / "reached"
    ray.shutdown()


@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_later_tasks_can_import_what_a_cancelled_one_had_begun_to(package, placement):
    ray.init(
        num_cpus=1,
        placement=placement,
        runtime_env={"py_modules": [str(package.parent / "slowly_imported")], "env_vars": {"REACHED": str(package)}},
    )

    @ray.remote
    def names():
        import slowly_imported

        return slowly_imported.names

    first = names.remote()
    wait_until(package.exists)
    ray.cancel(first)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(first)
    assert ray.get([names.remote() for _ in range(3)]) == [["one", "two"]] * 3
