"""A runtime environment where it is in force: in a worker from its birth, inline for the time of a call."""

import os
import sys

from reactor.runtime import threads

from rayshim.calls.runtime_env import imported
from rayshim.errors.exceptions import RuntimeEnvSetupError
from rayshim.session import session


def expanded(variables):
    """`variables` with `$NAME` and `${NAME}` in their values replaced by what the process has; one after the other."""
    made = {}
    for name, value in variables.items():
        made[name] = _expand(value, {**os.environ, **made})
    return made


def enter(env):
    """Gives this process, a fresh worker, the environment; the setup hook, which may raise anything, comes last."""
    os.environ.update(expanded(env.get("env_vars") or {}))
    add_paths(env)
    if env.get("working_dir"):
        os.chdir(env["working_dir"])
    run_hook(env)


def add_paths(env):
    for path in [env.get("working_dir"), *(env.get("py_modules") or [])]:
        if path and path not in sys.path:
            sys.path.insert(0, path)


def run_hook(env):
    """Runs the setup hook, if there is one. RuntimeEnvSetupError with its traceback if it cannot be loaded or raises."""
    hook = env.get("worker_process_setup_hook")
    if hook is None:
        return
    try:
        _load_hook(hook)()
    except Exception as error:
        from traceback import format_exc

        raise RuntimeEnvSetupError(
            f"Failed to execute the setup hook method. Error: {error!r}\n{format_exc()}"
        ) from error


class Surroundings:
    """For inline placement: a call's environment, for its time, in the one process there is."""

    def __init__(self, env):
        self.env = env
        self.stack = []  # what there was before each call that runs now

    def around(self, function):
        import functools

        @functools.wraps(function)
        def run(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return run

    def __enter__(self):
        variables = expanded(self.env.get("env_vars") or {})
        s = session.current
        before = (
            {name: os.environ.get(name) for name in variables},
            self.env.get("working_dir") and os.getcwd(),
            s.runtime_env,
        )
        self.stack.append(before)
        s.runtime_env = self.env  # what the call starts inherits it
        os.environ.update(variables)
        if not threads.VARIABLES.isdisjoint(variables):
            threads.follow()
        if self.env.get("working_dir"):
            os.chdir(self.env["working_dir"])

    def __exit__(self, *exc):
        variables, directory, outer = self.stack.pop()
        if session.current is not None:
            session.current.runtime_env = outer
        for name, value in variables.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        if not threads.VARIABLES.isdisjoint(variables):
            threads.follow()
        if directory:
            os.chdir(directory)


def _load_hook(hook):
    if isinstance(hook, bytes):
        import pickle

        return pickle.loads(hook)
    return imported(hook)


def _expand(value, variables):
    import re

    return re.sub(r"\$(\w+|\{[^}]*\})", lambda m: variables.get(m.group(1).strip("{}"), m.group(0)), value)
