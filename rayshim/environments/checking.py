"""Runtime environments, with which workers start: the rules of checking and merging one."""

from __future__ import annotations

import os

from rayshim.environments import archives, rules
from rayshim.errors.death_texts import NO_ENVIRONMENT
from rayshim.errors.exceptions import RuntimeEnvSetupError
from rayshim.errors.user_code import calling
from rayshim.resources import demands

_HONOURED = ("env_vars", "working_dir", "py_modules", "worker_process_setup_hook")
_PROFILERS = ("nsight", "_nsight", "rocprof_sys", "_rocprof_sys")  # they would change no result
_IGNORED = ("config", "excludes", "_ray_release", "_ray_commit", "_inject_current_ray", *_PROFILERS)
_REMOTE = ("http", "https", "s3", "gs", "azure", "abfss", "hdfs", "gcs")
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
    RuntimeEnvSetupError for a field that needs an installation or a download (a `pip` or `uv` list whose packages are all installed is accepted).
    """
    if env is None:
        return {}
    if not isinstance(env, dict):
        raise TypeError(f"{where}: runtime_env must be a dict or a RuntimeEnv, got {type(env)} (at {calling()})")
    known = {name: value for name, value in env.items() if value is not None}
    rules.check(known, uploads=in_use)
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
        known["env_vars"] = dict(known["env_vars"])
    if not in_use:
        return {name: known[name] for name in _HONOURED if name in known}
    if not known.get("working_dir", True):
        del known["working_dir"]
    if "working_dir" in known:
        known["working_dir"] = _working_directory(known["working_dir"], where)
    if "py_modules" in known:
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


_noted = set()  # the fields of which the user has been warned


def _is_this(command):
    """Whether this command starts the interpreter that runs here."""
    import shutil
    import sys

    found = isinstance(command, str) and shutil.which(command)
    return bool(found) and os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))


def merged(outer, inner):
    """The environment for an actor or task with `inner` that is started in `outer`: `env_vars` are joined, other fields of `inner` replace those of `outer`."""
    both = {**outer, **inner}
    if outer.get("env_vars"):
        both["env_vars"] = {**outer["env_vars"], **(inner.get("env_vars") or {})}
    return both


def of_call(s, given, where, request):
    """(environment, request) of a task or an actor with the option `runtime_env=given`; `request`: what it asks for otherwise. One that cannot be
    set up is no error of the call: `get` of the results raises it, as on Ray."""
    if not given:
        return s.runtime_env, request
    try:
        return merged(s.runtime_env, checked(given, where)), request
    except RuntimeEnvSetupError as error:
        return s.runtime_env, demands.refused(f"{NO_ENVIRONMENT}{error.error_message}")


def _working_directory(path, where):
    path = os.fspath(path)
    if path.startswith("local:"):
        return _local_directory(path, "working_dir")
    local = path.removeprefix("file://")
    if archives.is_archive(local):
        return archives.unpacked(local, inner=local != path)
    if not os.path.isdir(path):
        _refuse_remote(path, where, "working_dir", archives.ENDINGS)
        raise ValueError(
            f"directory {path} must be an existing directory or a supported archive ({', '.join(archives.ENDINGS)}) "
            f"({where} at {calling()}; the current directory is {os.getcwd()})"
        )
    return os.path.abspath(path)


def _is_remote(path):
    return path.partition("://")[0] in _REMOTE


def _refuse_remote(path, where, field, endings):
    if not _is_remote(path):
        return
    if not path.partition("?")[0].endswith(endings):
        raise ValueError(
            f"Only {', '.join(endings)} files are supported for {field} URIs; got {path}. ({where} at {calling()})"
        )
    raise RuntimeEnvSetupError(
        f"{where}: runtime_env={{{field!r}: {path!r}}} needs a download. rayshim downloads nothing: download the file yourself, and give its path (at "
        f"{calling()})"
    )


def _local_directory(uri, field):
    path = rules.local_directory(uri)
    if not os.path.isdir(path):
        raise RuntimeEnvSetupError(
            f"{field} {uri} points to '{path}', which must already exist on every node. (at {calling()})"
        )
    return path


def _module_directory(item, where):
    """The directory for `sys.path`: `item` itself if it is a directory of modules, the parent of the package, module or file `item`, or where the wheel
    `item` is unpacked."""
    import types

    if isinstance(item, types.ModuleType):
        file = item.__path__[0] if hasattr(item, "__path__") else item.__file__
        return os.path.dirname(os.path.abspath(file))  # pyright: ignore[reportArgumentType, reportCallIssue]
    path = os.fspath(item)
    if path.startswith("local:"):
        path = _local_directory(path, "py_modules")
    if path.endswith(".whl") and os.path.isfile(path):
        return archives.unpacked(path)
    if path.endswith(".py") and os.path.isfile(path):
        return os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(path):
        _refuse_remote(path, where, "py_modules", (*archives.ENDINGS, ".whl"))
        raise ValueError(
            f"py_modules entry must be a .py file, a directory, or a .whl file; got {path} ({where} at {calling()})"
        )
    path = os.path.abspath(path)
    return os.path.dirname(path) if os.path.exists(os.path.join(path, "__init__.py")) else path


def _pickled_hook(hook):
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
    """Whether all these packages (a list, the path of a requirements file, or a dict with `packages`) are installed, in matching versions."""
    import re
    from importlib.metadata import PackageNotFoundError, version

    packages = wanted.get("packages") if isinstance(wanted, dict) else wanted
    if isinstance(packages, str):
        with open(packages) as file:
            packages = list(file)
    if not isinstance(packages, (list, tuple)):
        return False
    for package in packages:
        package = package.partition("#")[0].strip()
        if not package:
            continue
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
