"""Applies a runtime environment: to a worker when it starts, and in inline placement during a call."""

import os
import sys
import time

from reactor.runtime.processes import library_threads
from reactor.runtime.spawning.spawning import current_directory, set_variables

from rayshim.as_ray import commands
from rayshim.environments.checking import imported
from rayshim.errors.exceptions import RuntimeEnvSetupError
from rayshim.session import session


def expanded(variables, before=None):
    """`variables` with `$NAME` and `${NAME}` in their values replaced by environment variables, one after the other, in the order of their names, as Ray
    does. `before`: what this process's environment had before the session's variables, {name: value or None}."""
    if not variables:
        return {}
    known = {name: value for name, value in {**os.environ, **(before or {})}.items() if value is not None}
    result = {}
    for name, value in sorted(variables.items()):
        known[name] = result[name] = _expand(value, known)
    return result


def variables(env, before):
    """The environment variables of a worker with the environment `env`, {name: value, None for none}. `before`: those that the zygote has of the session, as
    they were before, see `expanded`; not every worker is the session's own driver's."""
    given = {name: value for name, value in (env.get("env_vars") or {}).items() if _can_be_set(name, value)}
    result = {**before, **expanded(given, before)}
    if result.get("PYTHONPATH") is not None and commands.MARK in os.environ:
        result["PYTHONPATH"] = commands.variables(result)["PYTHONPATH"]
    return result


def _can_be_set(name, value):
    """Others are an error in the worker, in `enter`."""
    return bool(name) and "=" not in name and "\0" not in name + value


def enter(env, variables, settings):
    """Applies the environment, with its `variables` of the function of that name, to this process, a new worker of a session with these settings. The setup
    hook runs last and may raise anything."""
    given = env.get("env_vars") or {}
    set_variables({name: value for name, value in given.items() if not _can_be_set(name, value)} | variables)
    if "PYTHONPATH" in given and commands.MARK in os.environ:
        for_programs = os.environ["PYTHONPATH"]
        os.environ["PYTHONPATH"] = commands.without(for_programs)
        os.putenv("PYTHONPATH", for_programs)  # what the worker starts has it, unless it is given another environment
    if "TZ" in variables:
        time.tzset()
    if "PYTHONDONTWRITEBYTECODE" in given:
        sys.dont_write_bytecode = bool(given["PYTHONDONTWRITEBYTECODE"])
    if not settings.runtime_env.get("working_dir"):
        _find_modules_in_current_directory()
    add_paths(env)
    if env.get("working_dir"):
        os.chdir(env["working_dir"])
    run_hook(env)


def _find_modules_in_current_directory():
    """As on Ray, a worker finds the modules in the directory where the program was when it called `init`. But here, what the program itself finds
    elsewhere comes first: Python's library, installed packages and modules beside the script."""
    directory = current_directory()
    if directory is not None and "" not in sys.path and directory not in sys.path:
        sys.path.append(directory)


def paths(env):
    """The directories with modules that the environment gives, a list of str."""
    return [path for path in [env.get("working_dir"), *(env.get("py_modules") or [])] if path]


def add_paths(env):
    for path in paths(env):
        if path not in sys.path:
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
        if "TZ" in variables:
            time.tzset()
        if not library_threads.VARIABLES.isdisjoint(variables):
            library_threads.follow()
        if self.env.get("working_dir"):
            os.chdir(self.env["working_dir"])

    def __exit__(self, *exc):
        variables, directory, outer = self.stack.pop()
        if session.current is not None:
            session.current.runtime_env = outer
        set_variables(variables)
        if "TZ" in variables:
            time.tzset()
        if not library_threads.VARIABLES.isdisjoint(variables):
            library_threads.follow()
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
