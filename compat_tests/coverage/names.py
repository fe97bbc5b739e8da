"""The public names of a package with Ray's API, found by looking at its modules."""

import importlib
import inspect
import types
from dataclasses import dataclass, replace

#: The modules of Ray that programs on one machine use. What they leave out stands in reasons.py.
MODULES = """
ray ray.actor ray.remote_function ray.runtime_context ray.exceptions ray.runtime_env ray.runtime_env.runtime_env ray.job_config ray.client_builder ray.cross_language
ray.types ray.internal ray.job_submission ray.cluster_utils
ray.dag ray.dag.base ray.dag.class_node ray.dag.collective_node ray.dag.compiled_dag_node ray.dag.context ray.dag.dag_node ray.dag.function_node
ray.dag.input_node ray.dag.output_node
ray.experimental ray.experimental.channel ray.experimental.collective ray.experimental.compiled_dag_ref ray.experimental.dynamic_resources
ray.experimental.internal_kv ray.experimental.locations ray.experimental.multiprocessing ray.experimental.queue ray.experimental.rdt ray.experimental.state.api ray.experimental.tqdm_ray
ray.experimental.util.types
ray.util ray.util.accelerators ray.util.actor_group ray.util.actor_pool ray.util.annotations ray.util.check_serialize ray.util.collective
ray.util.collective.backend_registry ray.util.collective.const ray.util.collective.types ray.util.collective.util ray.util.common ray.util.debug ray.util.debugpy ray.util.helpers ray.util.iter ray.util.iter_metrics ray.util.joblib ray.util.metrics
ray.util.multiprocessing ray.util.multiprocessing.pool ray.util.placement_group ray.util.queue ray.util.rpdb ray.util.scheduling_strategies
ray.util.serialization ray.util.serialization_addons ray.util.state ray.util.state.api ray.util.state.common ray.util.state.exception ray.util.state.util
ray.util.timer ray.util.tpu ray.util.tracing
""".split()


#: Ray's libraries: they are no part of its core.
LIBRARIES = {"ray.data", "ray.workflow", "ray.autoscaler", "ray.widgets"}


@dataclass(frozen=True)
class Name:
    """A public name: `ray.module.name`, or `ray.module.Class.name`; `parameters` is None where there are none to read."""

    full: str
    module: str
    kind: str  # "function", "class", "method", "property", "value" or "module"
    parameters: tuple | None
    same_as: str | None = None  # the name in an earlier module under which it stands with its members


def public_names():
    """{full name: Name} of all public names of the installed Ray."""
    found, of_thing = {}, {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in listed(module):
            thing, full = getattr(module, name), f"{module_name}.{name}"
            found[full] = described(full, module_name, thing)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                if id(thing) in of_thing:
                    found[full] = replace(found[full], same_as=of_thing[id(thing)])
                    continue
                of_thing[id(thing)] = full
            if inspect.isclass(thing):
                found |= {entry.full: entry for entry in members(full, module_name, thing)}
    return found


def listed(module):
    """The public names of a module of Ray: those of `__all__` and those that it defines."""
    names = set(getattr(module, "__all__", ()))
    own = module.__name__ == "ray"
    for name, value in vars(module).items():
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        origin = getattr(value, "__module__", None)
        if origin == module.__name__ or (own and str(origin).startswith("ray")):
            names.add(name)
    # Ray lists one that it has not: cpp_function.
    return sorted(name for name in names if f"{module.__name__}.{name}" not in LIBRARIES and hasattr(module, name))


def counterpart(name):
    """rayshim's thing of that Name. ImportError or AttributeError where there is none."""
    thing = importlib.import_module("rayshim" + name.module.removeprefix("ray"))
    for part in name.full.removeprefix(name.module + ".").split("."):
        thing = getattr(thing, part)
    return thing


def described(full, module, thing):
    if isinstance(thing, types.ModuleType):
        return Name(full, module, "module", None)
    if inspect.isclass(thing):
        return Name(full, module, "class", parameters(thing))
    if callable(thing):
        return Name(full, module, "function", parameters(thing))
    return Name(full, module, "value", None)


def members(full, module, cls):
    """The Names of what a class of Ray and its bases there define in public."""
    done = set()
    for base in cls.__mro__:
        if base.__module__.split(".")[0] != "ray" or base is not cls and base.__module__ in MODULES:
            continue  # what is inherited from a public class stands in its rows
        for name, value in vars(base).items():
            if name.startswith("_") or name in done:
                continue
            done.add(name)
            if isinstance(value, property) or not callable(getattr(cls, name, None)):
                yield Name(f"{full}.{name}", module, "property", None)
            else:
                yield Name(f"{full}.{name}", module, "method", parameters(getattr(cls, name)))


def parameters(thing):
    """((name, kind, default's repr or None), ...) of a callable's public parameters; None if it does not tell."""
    try:
        found = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return None
    return tuple(
        (p.name, p.kind.name, None if p.default is p.empty else repr(p.default))
        for p in found
        if not p.name.startswith("_") and p.name != "self"
    )
