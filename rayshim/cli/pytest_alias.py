"""A pytest plugin: `import ray` is rayshim in pytest's own worker processes, too (pytest-xdist), which are interpreters of their own.

`python -m rayshim -m pytest` names it in PYTEST_PLUGINS, which they inherit.
"""

import os

from rayshim.session import alias

NAME = __name__


def pass_on():
    """From now on pytests that this process starts load the plugin."""
    named = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    if NAME not in named:
        os.environ["PYTEST_PLUGINS"] = ",".join([NAME, *named])


alias.install()
