"""Ray's rules for the types of a runtime environment's fields, whether or not a field has a meaning here."""

from __future__ import annotations

import os
from collections.abc import Sized

from rayshim.calls.runtime_env_config import RuntimeEnvConfig
from rayshim.errors.sites import calling

# The fields of `pip` and `uv` beside `packages`: the type, and Ray's words for it.
_CHECK, _VERSION, _OPTIONS = (bool, "bool"), (str, "str"), (list, "list[str]")
_PIP = {"pip_check": _CHECK, "pip_install_options": _OPTIONS, "pip_version": _VERSION}
_UV = {"uv_check": _CHECK, "uv_version": _VERSION, "uv_pip_install_options": _OPTIONS}


def check(env: dict) -> None:
    """Raises TypeError or ValueError, with Ray's text, for the first field that is wrong. None stands for a field that is not given."""
    for name in env:
        if not isinstance(name, str):
            raise TypeError(f"keywords must be strings (runtime_env has {name!r} at {calling()})")
    given = {name: value for name, value in env.items() if value is not None}
    _check_together(given)
    for name, rule in _RULES.items():
        if name in given:
            rule(given[name])


def _check_together(given):
    installs = [name for name in ("pip", "uv", "conda") if given.get(name)]
    if len(installs) > 1:
        listed = "\n".join(f"specified {name} field: {given.get(name)}" for name in ("pip", "conda", "uv"))
        raise ValueError(
            "The 'pip' field, 'uv' field, and 'conda' field of runtime_env cannot be specified at the same time.\n"
            f"{listed}\nTo use pip with conda, please only set the 'conda' field, and specify your pip dependencies within the conda YAML config dict "
            f"(at {calling()})"
        )
    for name in ("container", "image_uri"):
        others = set(given) - {name, "config", "env_vars"}
        if given.get(name) and others:
            raise ValueError(
                f"The '{name}' field currently cannot be used together with other fields of runtime_env. Specified fields: {others} (at {calling()})"
            )


def _env_vars(given):
    if isinstance(given, Sized) and not len(given):
        return  # as if it were not given, whatever it is
    if not isinstance(given, dict):
        raise TypeError(f"runtime_env['env_vars'] must be of type Dict[str, str], got {type(given)} (at {calling()})")
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(
                f"runtime_env['env_vars'] must be of type Dict[str, str], but the key {name} is of type {type(name)} (at {calling()})"
            )
        if not isinstance(value, str):
            raise TypeError(
                f"runtime_env['env_vars'] must be of type Dict[str, str], but the value {value} is of type {type(value)} "
                f"(for key {name}, at {calling()})"
            )


def _working_dir(given):
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(
            f"working_dir must be a string or Path (either a local path or remote URI), got {type(given)}. (at {calling()})"
        )


def _py_modules(given):
    import types

    if not isinstance(given, list):
        raise TypeError(f"`py_modules` must be a list of strings or modules, got {type(given)}. (at {calling()})")
    for module in given:
        if not isinstance(module, (str, os.PathLike, types.ModuleType)):
            raise TypeError(
                f"py_modules must be a list of file paths, URIs, or imported modules, got {type(module)}. (at {calling()})"
            )


def _excludes(given):
    if isinstance(given, str):
        return  # Ray reads it letter by letter, each a pattern, and no program means that
    if not isinstance(given, list) or not all(isinstance(pattern, str) for pattern in given):
        raise TypeError(f"runtime_env['excludes'] must be of type List[str], got {type(given)} (at {calling()})")


def _hook(given):
    if not callable(given) and not isinstance(given, (str, bytes)):
        raise TypeError(f"worker_process_setup_hook must be a function, got {type(given)}. (at {calling()})")


def _conda(given):
    if not isinstance(given, (str, dict)):
        raise TypeError(f"runtime_env['conda'] must be of type str or dict, got {type(given)}. (at {calling()})")
    if isinstance(given, str) and given.endswith((".yaml", ".yml")) and not os.path.isfile(given):
        raise ValueError(f"Can't find conda YAML file {given}. (at {calling()})")


def _pip(given):
    if isinstance(given, dict):
        _fields("pip", given, _PIP)
        given = given["packages"]
        if not isinstance(given, (str, list)):
            raise ValueError(
                f"runtime_env['pip']['packages'] must be of type str of list, got: {type(given)} (at {calling()})"
            )
    elif not isinstance(given, (str, list)):
        raise TypeError(f"runtime_env['pip'] must be of type str or List[str], got {type(given)} (at {calling()})")
    _requirements(given)


def _uv(given):
    if isinstance(given, dict):
        _fields("uv", given, _UV)
        if not isinstance(given["packages"], list):
            raise ValueError(
                f"runtime_env['uv']['packages'] must be of type list, got: {type(given['packages'])} (at {calling()})"
            )
    elif not isinstance(given, (str, list)):
        raise TypeError(f"runtime_env['uv'] must be of type List[str], or dict, got {type(given)} (at {calling()})")
    else:
        _requirements(given)


def _requirements(given):
    """A list of packages, or the path of a file with them."""
    if isinstance(given, str) and not os.path.isfile(given):
        raise ValueError(f"{given} is not a valid file (at {calling()})")


def _fields(field, given, kinds):
    names = ("packages", *kinds)
    if not set(given) <= set(names):
        raise ValueError(
            f"runtime_env['{field}'] can only have these fields: {', '.join(names[:-1])} and {names[-1]}, but got: {list(given)} (at {calling()})"
        )
    if "packages" not in given:
        raise ValueError(f"runtime_env['{field}'] must include field 'packages', but got {given} (at {calling()})")
    for name, (kind, words) in kinds.items():
        if name in given and not isinstance(given[name], kind):
            raise TypeError(
                f"runtime_env['{field}']['{name}'] must be of type {words}, got {type(given[name])} (at {calling()})"
            )


def _config(given):
    RuntimeEnvConfig.parse_and_validate_runtime_env_config(given)


_RULES = {
    "env_vars": _env_vars,
    "working_dir": _working_dir,
    "py_modules": _py_modules,
    "excludes": _excludes,
    "worker_process_setup_hook": _hook,
    "conda": _conda,
    "pip": _pip,
    "uv": _uv,
    "config": _config,
}
