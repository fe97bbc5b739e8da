"""Ray's rules for the types of a runtime environment's fields, whether or not a field has a meaning here."""

from __future__ import annotations

import os
from collections.abc import Sized

from rayshim.environments import archives
from rayshim.environments.config import RuntimeEnvConfig
from rayshim.errors.user_code import calling

# The fields of `pip` and `uv` beside `packages`: the type, and Ray's words for it.
_CHECK, _VERSION, _OPTIONS = (bool, "bool,"), (str, "str,"), (list, "list[str]")
_PIP = {"pip_check": _CHECK, "pip_install_options": _OPTIONS, "pip_version": _VERSION}
_UV = {"uv_check": _CHECK, "uv_version": _VERSION, "uv_pip_install_options": _OPTIONS}


# The archives that are accepted behind a URI.
_ENDINGS = {
    "working_dir": archives.ENDINGS,
    "py_modules": (archives.ENDINGS[0], ".whl", *archives.ENDINGS[1:]),  # in the order of Ray's message
}
_REMOTE = ("http", "https", "s3", "gs", "azure", "abfss", "file", "gcs")
_OTHER_URIS = ("conda", "pip", "uv")


def check(env: dict, uploads: bool = True) -> None:
    """Raises TypeError or ValueError, with Ray's text, for the first field that is wrong. None stands for a field that is not given.

    Arguments:
        uploads: whether the environment is that of a session, which takes paths and modules as objects, too, and looks for files later. A RuntimeEnv and
            the option of a task or an actor take paths of existing files, and URIs.
    """
    for name in env:
        if not isinstance(name, str):
            raise TypeError(f"keywords must be strings (runtime_env has {name!r} at {calling()})")
    given = {name: value for name, value in env.items() if value is not None}
    _check_together(given)
    for name, rule in {**_RULES, **({} if uploads else _WITHOUT_UPLOADS)}.items():
        if name in given:
            rule(given[name])


def _check_together(given):
    installs = [name for name in ("pip", "uv", "conda") if name in given]
    if len(installs) > 1:
        listed = "\n".join(f"specified {name} field: {given.get(name)}" for name in ("pip", "conda", "uv"))
        raise ValueError(
            "The 'pip' field, 'uv' field, and 'conda' field of runtime_env cannot be specified at the same time.\n"
            f"{listed}\nTo use pip with conda, please only set the 'conda'field, and specify your pip dependencies within the conda YAML config dict: see "
            "https://conda.io/projects/conda/en/latest/user-guide/tasks/manage-environments.html#create-env-file-manually "
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


def _working_dir_not_uploaded(given):
    if not isinstance(given, str):
        raise TypeError(f"`working_dir` must be a string, got {type(given)}. (at {calling()})")
    _check_location("working_dir", given)


def _py_modules_not_uploaded(given):
    if not isinstance(given, list):
        raise TypeError(f"`py_modules` must be a list of strings, got {type(given)}. (at {calling()})")
    for module in given:
        if not isinstance(module, str):
            raise TypeError(f"`py_module` must be a string, got {type(module)}. (at {calling()})")
        _check_location("py_modules", module)


def _check_location(field, given):
    """A path of something that exists, or a URI."""
    from urllib.parse import urlparse

    scheme = urlparse(given).scheme
    if not scheme:
        if not os.path.exists(given or "."):
            raise ValueError(
                f"{given} is not a valid path. (runtime_env['{field}'] at {calling()}; the current directory is {os.getcwd()})"
            )
    elif scheme == "local":
        local_directory(given)
    elif scheme in _REMOTE:
        shown = given.partition("?")[0]
        if not shown.endswith(_ENDINGS[field]):
            raise ValueError(
                f"Only {', '.join(_ENDINGS[field])} files are supported for {field} URIs; got {shown}. (at {calling()})"
            )
    elif scheme not in _OTHER_URIS:
        raise ValueError(
            f"{given} is not a valid URI. Passing directories or modules to be dynamically uploaded is only supported at the job level (i.e., passed to "
            f"`ray.init`). (at {calling()})"
        )


def local_directory(uri: str) -> str:
    """The path of a URI like local:///path, a directory that is used where it is. Raises ValueError, with Ray's text, for a wrong one."""
    start = f'Invalid "local://" runtime_env URI "{uri}": '
    prefix, path = uri[:8], uri[8:]
    if prefix.lower() != "local://":
        raise ValueError(
            f"{start}a local URI must start with local://. Write local:///path/in/image, or local://C:/path/in/image on Windows. (at {calling()})"
        )
    if not path.startswith("/"):
        raise ValueError(
            f"{start}the path must be absolute. Write local:///path/in/image, or local://C:/path/in/image on Windows. (at {calling()})"
        )
    ending = next((ending for ending in _ENDINGS["py_modules"] if path.endswith(ending)), None)
    if ending is not None:
        raise ValueError(
            f"{start}the path must be a directory, not a {ending} archive. A local:// directory is used in place and is never unpacked. (at {calling()})"
        )
    return path


def _excludes(given):
    if not isinstance(given, str):  # Ray reads it letter by letter, each a pattern, and no program means that
        _patterns(given)


def _patterns(given):
    if not _are_texts(given):
        raise TypeError(f"runtime_env['excludes'] must be of type List[str], got {type(given)} (at {calling()})")


def _hook(given):
    if not callable(given) and not isinstance(given, (str, bytes)):
        raise TypeError(f"worker_process_setup_hook must be a function, got {type(given)}. (at {calling()})")


def _conda(given):
    if not isinstance(given, (str, dict)):
        raise TypeError(f"runtime_env['conda'] must be of type str or dict, got {type(given)}. (at {calling()})")
    if isinstance(given, str):
        if given.endswith((".yaml", ".yml")):
            if not os.path.isfile(given):
                raise ValueError(f"Can't find conda YAML file {given}. (at {calling()})")
        elif os.path.isabs(given) and not os.path.isdir(given):
            raise ValueError(f"Can't find conda env directory {given}. (at {calling()})")


def _pip(given):
    if isinstance(given, dict):
        _fields("pip", given, _PIP)
        given = given["packages"]
        if not isinstance(given, (str, list)):
            raise ValueError(
                f"runtime_env['pip']['packages'] must be of type str of list, got: {type(given)} (at {calling()})"
            )
    elif not isinstance(given, str) and not _are_texts(given):
        raise TypeError(f"runtime_env['pip'] must be of type str or List[str], got {type(given)} (at {calling()})")
    _requirements(given)


def _uv(given):
    if isinstance(given, dict):
        _fields("uv", given, _UV)
        if not isinstance(given["packages"], list):
            raise ValueError(
                f"runtime_env['uv']['packages'] must be of type list, got: {type(given['packages'])} (at {calling()})"
            )
        _texts("runtime_env['uv']['packages']", given["packages"])
    elif not isinstance(given, str) and not _are_texts(given):
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
                f"runtime_env['{field}']['{name}'] must be of type {words} got {type(given[name])} (at {calling()})"
            )
        if name in given and kind is list:
            _texts(f"runtime_env['{field}']['{name}']", given[name])


def _texts(named, items):
    for number, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(
                f"{named} must be of type list[str] got {type(item)} for {number}-th item. (at {calling()})"
            )


def _are_texts(given):
    return isinstance(given, list) and all(isinstance(item, str) for item in given)


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
# The rules for a RuntimeEnv, and for the option of a task or an actor.
_WITHOUT_UPLOADS = {
    "working_dir": _working_dir_not_uploaded,
    "py_modules": _py_modules_not_uploaded,
    "excludes": _patterns,
}
