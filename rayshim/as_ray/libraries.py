"""Libraries of the installed Ray package (RLlib, Tune, Train, Data, Serve) that run on rayshim.

They are pure Python on top of Ray's core, and are taken from the package as they are. The core is rayshim: nothing of the package's own core is
ever loaded. `rayshim/over/` has the few modules that stand for internals of Ray which the libraries import.
"""

import os
import sys
from functools import cache
from importlib.machinery import SourceFileLoader

from reactor.runtime.zygote import early_zygote

from rayshim.session import repeatable
from rayshim.session.version import RAY_VERSION

OVER = "rayshim.over"
_LIBRARIES = ("rllib", "tune", "air", "train", "data", "serve", "llm")
_WHOLE = "widgets _common experimental.state core.generated"
_PRIVATE = (
    "ray_constants utils dict log accelerators thirdparty event client_mode_hook auto_init_hook protobuf_compat inspect_util label_utils grpc_utils "
    "authentication arrow_serialization ray_perf ray_microbenchmark_helpers ray_client_microbenchmark async_utils collections_utils compat "
    "custom_types gc_collect_manager gcs_utils memory_monitor parameter path_utils resource_and_label_spec resource_isolation_config tensor_serialization_utils "
    "runtime_env.conda_utils runtime_env.constants runtime_env.packaging runtime_env.protocol runtime_env.uri_cache runtime_env.utils runtime_env.uv_runtime_env_hook "
    "runtime_env.validation"
)
_UTIL = "debug tpu common spark dask serialization_addons tracing"
_OTHERS = (
    "autoscaler._private.cli_logger autoscaler._private.constants dashboard.modules.metrics.dashboards dashboard.modules.job.pydantic_models "
    "dashboard.modules.job.common"
)
_PARTS = ("_private", "util", "experimental", "autoscaler", "dashboard")  # of the package's core
ALLOWED = frozenset(
    (
        *_LIBRARIES,
        *_WHOLE.split(),
        *(f"_private.{name}" for name in _PRIVATE.split()),
        *(f"util.{name}" for name in _UTIL.split()),
        *_OTHERS.split(),
    )
)


def allowed(name):
    """Whether the module `name`, without its leading "ray.", may come from the installed package."""
    parts = name.split(".")
    return any(".".join(parts[:n]) in ALLOWED for n in range(1, len(parts) + 1)) or _is_foreign(parts[0])


@cache
def _is_foreign(top):
    """Whether another distribution has put the module `ray.top` into the package's folder."""
    from importlib import metadata

    root = None if top in _PARTS or not top.isidentifier() else _root()
    if root is None or not any(os.path.exists(os.path.join(root, top + end)) for end in (".py", "/__init__.py")):
        return False
    files = metadata.distribution("ray").read_text("RECORD") or ""
    return f"ray/{top}.py," not in files and f"ray/{top}/" not in files


def installed(name):
    """Whether the installed package answers for the module `name`: what it lacks there, Ray lacks."""
    return allowed(name) and _root() is not None


def why_missing(name):
    """Why rayshim has no module `name` ("tune") under its own name, if it has it under the name `ray`; None if it has not."""
    if not allowed(name):
        return None
    return (
        f"ray.{name} comes from Ray's package, and runs on rayshim only under the name `ray`. Leave `import ray` in the program as it is, and "
        f'run it with `python -m rayshim script.py` (with Ray {RAY_VERSION} installed: pip install "rayshim[libraries]")'
    )


def preferred(name):
    """Whether the package's module is taken even where rayshim has one of that name, with fewer names in it."""
    return name.startswith(
        (
            "_private.accelerators",
            "_private.thirdparty",
            "_private.runtime_env.constants",
            "_private.runtime_env.packaging",
        )
    )


def spec(name):
    """How the module `name`, without its leading "ray.", is loaded from the installed package, or None.

    Raises ImportError if the package is of another release.
    """
    if not allowed(name) or (root := _root()) is None:
        return None
    if name in _LIBRARIES and name not in _found:
        _import_in_zygote(f"ray.{name}")
    _found[name] = True
    _add_vendored(root)
    from importlib.machinery import ModuleSpec
    from importlib.util import spec_from_file_location

    path = os.path.join(root, *name.split("."))
    if not os.path.isdir(path):
        file = path + ".py"
        return (
            spec_from_file_location(f"ray.{name}", file, loader=_Source(f"ray.{name}", file))
            if os.path.exists(file)
            else None
        )
    inside = os.path.join(path, "__init__.py")
    if os.path.exists(inside):
        loader = _Source(f"ray.{name}", inside)
        return spec_from_file_location(f"ray.{name}", inside, loader=loader, submodule_search_locations=[path])
    namespace = ModuleSpec(f"ray.{name}", None, is_package=True)
    namespace.submodule_search_locations = [path]
    return namespace


def _add_vendored(root):
    """Lets `import colorama` and `import psutil` find those that Ray's package brings along, if they are not installed."""
    vendored = os.path.join(root, "thirdparty_files")
    if vendored not in sys.path:
        sys.path.append(vendored)


class _Source(SourceFileLoader):
    """Loads a module of the package, which `sys.modules` then has under the name in rayshim, too: cloudpickle takes the modules that a function
    uses, as `ray.train.collective`, from those whose names begin with that of `ray`, and the module `ray` is called rayshim. A module of rayshim's own
    that is loaded under that name stays."""

    def exec_module(self, module):
        ours = f"rayshim{self.name.removeprefix('ray')}"
        there = sys.modules.setdefault(ours, module)
        try:
            super().exec_module(module)
        except BaseException:
            if there is module:
                sys.modules.pop(ours, None)
            raise
        repeatable.mend(module)


def new_imports(for_new_zygote=False):
    """The package's modules that this process has imported since the last call, or, for a new zygote, all of them: the zygote imports them once for all
    workers to come.

    Only for a zygote that has the alias: in another, these names are real Ray's."""
    global _given
    if for_new_zygote:
        _given = 0
    if _given == len(_found):
        return ()
    names = list(_found)[_given:]
    _given = len(_found)
    return tuple(f"ray.{name}" for name in names if f"ray.{name}" in sys.modules)


def _import_in_zygote(name):
    """Lets the zygote import a library at the same time as the driver, which begins to: its workers are forked with it, and the first of them
    need not wait until the zygote has done so after the driver."""
    if early_zygote.is_waiting():
        early_zygote.let_import(name)
        return
    session = sys.modules.get("rayshim.session.session")
    current = session and session.current
    if current and current.driver and current.control and current.settings.zygote_alias:
        current.control.tell("preload", (name,))


_found = {}  # modules that were looked for in this process and in the zygote, in that order
_given = 0  # how many of them were given by new_imports


@cache
def _root():
    """The folder of the installed package; None: there is none."""
    from importlib import metadata

    try:
        found = metadata.distribution("ray")
    except metadata.PackageNotFoundError:
        return None
    if found.version != RAY_VERSION:
        raise ImportError(
            f"rayshim runs the libraries of Ray {RAY_VERSION}, and Ray {found.version} is installed here. "
            f"Install the release that it runs: pip install 'ray[rllib,tune,train,data,serve]=={RAY_VERSION}'."
        )
    return str(found.locate_file("ray"))
