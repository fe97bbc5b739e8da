"""A pytest plugin that makes `import ray` give rayshim in the worker processes of pytest-xdist, which are new interpreters.

`python -m rayshim -m pytest` adds it to the environment variable PYTEST_PLUGINS, which these processes inherit.
PYTEST_DONT_REWRITE: the command has imported this module before pytest begins, which pytest would else warn of.
"""

import os

from rayshim.as_ray import alias

NAME = __name__


def pass_on():
    """Makes pytest processes that this process starts load the plugin."""
    named = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    if NAME not in named:
        os.environ["PYTEST_PLUGINS"] = ",".join([NAME, *named])


alias.install()
