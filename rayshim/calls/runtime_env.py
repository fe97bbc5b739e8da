"""Runtime environments: what a worker is born with; the rules of checking and merging one."""

from __future__ import annotations

import os

from rayshim.errors.exceptions import RuntimeEnvSetupError
from rayshim.errors.sites import calling

_HONOURED = ("env_vars", "working_dir", "py_modules", "worker_process_setup_hook")
_PROFILERS = ("nsight", "_nsight", "rocprof_sys", "_rocprof_sys")  # they would change no result
_IGNORED = ("config", "excludes", "_ray_release", "_ray_commit", "_inject_current_ray", *_PROFILERS)
# Fields that need an installation, a download or a container.
_REFUSED = (
    "pip",
    "uv",
    "conda",
    "container",
    "image_uri",
    "py_executable",
    "java_jars",
    "mpi",
)


def checked(env, where, in_use=True):
    """A plain dict of what of `env` has a meaning here; `where` names it in errors; `in_use`: a worker is to be born with it.

    Raises TypeError for a wrong type, ValueError for a directory that does not exist,
    RuntimeEnvSetupError for a field that needs an installation (a `pip` or `uv` list whose packages are all installed is accepted).
    """
    if env is None:
        return {}
    if not isinstance(env, dict):
        raise TypeError(f"{where}: runtime_env must be a dict or a RuntimeEnv, got {type(env)} (at {calling()})")
    known = {name: value for name, value in env.items() if value is not None}
    for name, value in known.items():
        if name in _PROFILERS and in_use:
            _note(
                name,
                f"{where}: runtime_env={{{name!r}: ...}} is ignored: workers are forks of one process, which no profiler is started around. Run the "
                "whole program under it, for instance `nsys profile python -m rayshim script.py`",
            )
        if (
            in_use
            and name in _REFUSED
            and not (name in ("pip", "uv") and _installed(value) or name == "py_executable" and _is_this(value))
        ):
            raise RuntimeEnvSetupError(
                f"{where}: runtime_env={{{name!r}: {value!r}}} needs an installation or another service. rayshim installs nothing: its workers use "
                f"this Python interpreter as it is. Install it yourself and remove this field (at {calling()})"
            )
        if name not in _HONOURED + _IGNORED + _REFUSED:
            _note(
                name,
                f"{where}: runtime_env={{{name!r}: ...}} is ignored: Ray has no such field, unless a plugin gives it. The fields are "
                f"{', '.join(_HONOURED + _IGNORED + _REFUSED)}",
            )
    if "env_vars" in known:
        known["env_vars"] = _variables(known["env_vars"])
    if "working_dir" in known:
        known["working_dir"] = _directory("working_dir", known["working_dir"], where)
    if "py_modules" in known:
        if not isinstance(known["py_modules"], list):
            raise TypeError(
                f"{where}: `py_modules` must be a list of strings or modules, got {type(known['py_modules'])} (at {calling()})"
            )
        known["py_modules"] = [_module_directory(item, where) for item in known["py_modules"]]
    hook = known.get("worker_process_setup_hook")
    if hook is not None and not isinstance(hook, (str, bytes)):
        known["worker_process_setup_hook"] = _pickled_hook(hook)
    return {name: known[name] for name in _HONOURED if name in known}


def _note(name, text):
    """Tells the user once about a field that is ignored."""
    import logging

    if name not in _noted:
        _noted.add(name)
        logging.getLogger("rayshim").warning(text)


_noted = set()  # the fields that the user has been told of


def _is_this(command):
    """Whether this command starts the interpreter that runs here."""
    import shutil
    import sys

    found = isinstance(command, str) and shutil.which(command)
    return bool(found) and os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))


def merged(outer, inner):
    """The environment for an actor or task with `inner` that is started in `outer`: `env_vars` are joined, other fields of `inner` replace those of `outer`."""
    both = {**outer, **inner}
    if outer.get("env_vars") and inner.get("env_vars"):
        both["env_vars"] = {**outer["env_vars"], **inner["env_vars"]}
    return both


def _variables(given):
    if not isinstance(given, dict):
        raise TypeError(f"runtime_env['env_vars'] must be of type Dict[str, str], got {type(given)} (at {calling()})")
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(
                f"runtime_env['env_vars'] must be of type Dict[str, str], but the key {name} is of type {type(name)} (at {calling()})"
            )
        if not isinstance(value, str):
            raise TypeError(
                f"runtime_env['env_vars'] must be of type Dict[str, str], but the value {value} for key {name} is of type {type(value)} (at {calling()})"
            )
    return dict(given)


def _directory(field, path, where):
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(path, str):
        raise TypeError(
            f"{where}: `{field}` must be a string (a directory on this machine), got {type(path)} (at {calling()})"
        )
    if not os.path.isdir(path):
        raise ValueError(
            f"{where}: runtime_env={{{field!r}: {path!r}}}: must be a directory on this machine (at {calling()}; the current directory is {os.getcwd()})"
        )
    return os.path.abspath(path)


def _module_directory(item, where):
    """The directory for `sys.path`: `item` itself if it is a directory of modules, or the parent of the package, module or file `item`."""
    import types

    if isinstance(item, types.ModuleType):
        file = item.__path__[0] if hasattr(item, "__path__") else item.__file__
        return os.path.dirname(os.path.abspath(file))  # pyright: ignore[reportArgumentType, reportCallIssue]
    if isinstance(item, (str, os.PathLike)) and os.path.isfile(item) and os.fspath(item).endswith(".py"):
        return os.path.dirname(os.path.abspath(item))
    path = _directory("py_modules", item, where)
    return os.path.dirname(path) if os.path.exists(os.path.join(path, "__init__.py")) else path


def _pickled_hook(hook):
    if not callable(hook):
        raise TypeError(
            f"worker_process_setup_hook must be a function or the name of one, got {type(hook)} (at {calling()})"
        )
    try:
        from reactor import codec

        return codec.pickled(hook)
    except Exception as error:
        raise RuntimeEnvSetupError(
            f"Failed to export the setup function. {error} (worker_process_setup_hook at {calling()})"
        ) from error


def imported(path):
    """The object named `package.module.name`. Raises ImportError or AttributeError."""
    from importlib import import_module

    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _installed(wanted):
    """Whether all these packages (a list, or a dict with `packages`) are installed, in matching versions."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    packages = wanted.get("packages") if isinstance(wanted, dict) else wanted
    if not isinstance(packages, (list, tuple)):
        return False
    for package in packages:
        match = re.fullmatch(r"\s*([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*(.*)", package)
        if match is None:
            return False
        try:
            have = version(match.group(1))
        except PackageNotFoundError:
            return False
        if match.group(3):
            try:
                from packaging.specifiers import SpecifierSet

                if have not in SpecifierSet(match.group(3)):
                    return False
            except Exception:
                return False
    return True
