"""`__ray_metadata__` of an actor class: its facts under Ray's names."""

from __future__ import annotations

import inspect
from types import new_class
from typing import TYPE_CHECKING, Any

from rayshim.calls import binding
from rayshim.calls import options as opts
from rayshim.calls.class_info import is_function, options_of
from rayshim.calls.signature import is_generator

if TYPE_CHECKING:
    from collections.abc import Callable

# The options of the class, and what stands there for one that is not given.
_OPTIONS = (
    "max_restarts",
    "max_task_retries",
    "num_cpus",
    "num_gpus",
    "memory",
    "object_store_memory",
    "resources",
    "label_selector",
    "fallback_strategy",
    "accelerator_type",
    "runtime_env",
    "concurrency_groups",
    "scheduling_strategy",
    "enable_tensor_transport",
)


class ActorClassMetadata:
    """The facts of an actor class.

    Attributes:
        modified_class: a subclass of the program's class, with the methods that every actor has.
        class_name: the qualified name of the program's class.
        method_meta: its ActorClassMethodMetadata.
        num_cpus, resources and so on: the options of the class.
    """

    __module__ = "rayshim.actor"

    def __init__(self, cls: type[Any], options: dict[str, Any]) -> None:
        self.modified_class: type[Any] = _modified(cls)
        self.class_name: str = cls.__qualname__
        self.is_cross_language: bool = False
        self.method_meta: ActorClassMethodMetadata = ActorClassMethodMetadata(self.modified_class)
        for name in _OPTIONS:
            setattr(self, name, options.get(name, opts.ACTOR_DEFAULTS[name]))
        self.runtime_env: dict[str, Any] | None = self.runtime_env or {}


class ActorClassMethodMetadata:
    """The facts of the methods of an actor class, each a dict by the methods' names.

    Attributes:
        methods: the functions.
        signatures: lists of `inspect.Parameter`, without `self`.
        num_returns, method_is_generator: of all methods.
        max_task_retries, retry_exceptions and so on: of the methods with that option of `@ray.method`.
    """

    __module__ = "rayshim.actor"

    def __init__(self, cls: type[Any]) -> None:
        self.methods: dict[str, Callable[..., Any]] = dict(inspect.getmembers(cls, _is_method))
        self.decorators: dict[str, Any] = {}
        self.signatures: dict[str, list[inspect.Parameter]] = {}
        self.num_returns: dict[str, int | str | None] = {}
        self.method_is_generator: dict[str, bool] = {}
        self.max_task_retries: dict[str, int] = {}
        self.retry_exceptions: dict[str, Any] = {}
        self.enable_task_events: dict[str, bool] = {}
        self.generator_backpressure_num_objects: dict[str, int] = {}
        self.num_objects_per_yield: dict[str, int] = {}
        self.concurrency_group_for_methods: dict[str, str] = {}
        self.method_name_to_tensor_transport: dict[str, str] = {}
        for name, method in self.methods.items():
            self._describe(name, inspect.unwrap(method), inspect.getattr_static(cls, name))
        self.has_tensor_transport_methods: bool = bool(self.method_name_to_tensor_transport)

    def _describe(self, name, function, static):
        bound = isinstance(static, (staticmethod, classmethod))
        parameters = list(inspect.signature(function).parameters.values())
        self.signatures[name] = parameters if bound else parameters[1:]
        self.method_is_generator[name] = is_generator(function)
        given = options_of(function)
        self.num_returns[name] = given.get("num_returns")
        if hasattr(function, "__ray_invocation_decorator__"):
            self.decorators[name] = function.__ray_invocation_decorator__
        for option, found in (
            ("max_task_retries", self.max_task_retries),
            ("retry_exceptions", self.retry_exceptions),
            ("enable_task_events", self.enable_task_events),
            ("_generator_backpressure_num_objects", self.generator_backpressure_num_objects),
            ("_num_objects_per_yield", self.num_objects_per_yield),
            ("concurrency_group", self.concurrency_group_for_methods),
            ("tensor_transport", self.method_name_to_tensor_transport),
        ):
            if option in given:
                found[name] = given[option]


def _is_method(o):
    return inspect.ismethod(o) or is_function(o)


def _modified(cls):
    """As on Ray, a subclass with the methods that every actor has. Here they are for programs that look at the class: a worker binds its own."""

    def __ray_ready__(self: Any) -> bool:
        return True

    def __ray_call__(self: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return fn(self, *args, **kwargs)

    def __ray_terminate__(self: Any) -> None:
        binding.exit_actor()

    def __init__(self: Any) -> None:
        pass

    added = [__ray_ready__, __ray_call__, __ray_terminate__]
    if not is_function(getattr(cls, "__init__", None)):
        added.append(__init__)
    names = {"__module__": cls.__module__, "__ray_actor_class__": cls, **{f.__name__: f for f in added}}
    return new_class(cls.__name__, (cls,), {}, lambda body: body.update(names))
