"""Applies a runtime environment: to a worker when it starts, and in inline placement during a call."""

import os
import sys
import time

from reactor.runtime import threads
from reactor.runtime.spawning import current_directory

from rayshim.calls.runtime_env import imported
from rayshim.errors.exceptions import RuntimeEnvSetupError
from rayshim.session import commands, session

started_with: dict[str, str] | None = (
    None  # the environment variables of this worker, if its interpreter was started with them
)


def expanded(variables, before=None):
    """`variables` with `$NAME` and `${NAME}` in their values replaced by the process's environment variables, one variable after the other. `before`: values
    that some of those had before the session's variables were set, or None."""
    known = {**os.environ, **(before or {})}
    result = {}
    for name, value in variables.items():
        result[name] = _expand(value, {name: value for name, value in {**known, **result}.items() if value is not None})
    return result


def enter(env, settings):
    """Applies the environment to this process, a new worker of a session with these settings. The setup hook runs last and may raise anything."""
    os.environ.update(variables(env, settings.get("variables_before")) if started_with is None else started_with)
    if "TZ" in (env.get("env_vars") or {}):
        time.tzset()
    if not settings["runtime_env"].get("working_dir"):
        _find_modules_in_current_directory()
    add_paths(env)
    if env.get("working_dir"):
        os.chdir(env["working_dir"])
    run_hook(env)


def variables(env, before=None):
    """The environment variables that a worker with the environment `env` gets, {name: value}. `before`: see `expanded`."""
    result = expanded(env.get("env_vars") or {}, before)
    if "PYTHONPATH" in result and commands.MARK in os.environ:
        result["PYTHONPATH"] = commands.variables(result)["PYTHONPATH"]
    return result


def _find_modules_in_current_directory():
    """As on Ray, a worker finds the modules in the directory where the program was when it called `init`. But here, what the program itself finds
    elsewhere comes first: Python's library, installed packages and modules beside the script."""
    directory = current_directory()
    if directory is not None and "" not in sys.path and directory not in sys.path:
        sys.path.append(directory)


def add_paths(env):
    for path in [env.get("working_dir"), *(env.get("py_modules") or [])]:
        if path and path not in sys.path:
            sys.path.insert(0, path)


def run_hook(env):
    """Runs the setup hook, if any. Raises RuntimeEnvSetupError with its traceback if the hook cannot be loaded or raises."""
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
    """For inline placement, a context manager: applies a call's environment to this process while the call runs."""

    def __init__(self, env):
        self.env = env
        self.stack = []  # the environments before each call that is running

    def __enter__(self):
        variables = expanded(self.env.get("env_vars") or {})
        s = session.current
        before = (
            {name: os.environ.get(name) for name in variables},
            self.env.get("working_dir") and os.getcwd(),
            s.runtime_env,
        )
        self.stack.append(before)
        s.runtime_env = self.env  # calls made by this call inherit it
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
    """As Ray: what does not exist is left out if it is written as `${NAME}`, in capitals, and stays otherwise."""
    import re

    known = re.sub(r"\$(\w+|\{[^}]*\})", lambda m: variables.get(m.group(1).strip("{}"), m.group(0)), value)
    return re.sub(r"\$\{[A-Z0-9_]+\}", "", known)
