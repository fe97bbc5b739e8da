"""Actor classes: `@remote class A` and the creation of an actor by `A.remote(...)`."""

from __future__ import annotations

import os
import sys
import types
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from reactor import _core
from reactor.runtime.spawning import preloading

from rayshim.calls import binding, concurrency, requested, used_modules
from rayshim.calls import options as opts
from rayshim.calls.added_methods import with_added_methods
from rayshim.calls.class_info import SYSTEM_GROUP, ClassInfo, check_groups
from rayshim.calls.class_methods import ClassMethod
from rayshim.calls.handle import ActorHandle, find
from rayshim.calls.signature import Signature
from rayshim.environments import checking as environments
from rayshim.environments.keys import frozen
from rayshim.errors.exceptions import ActorAlreadyExistsError
from rayshim.errors.user_code import calling, is_internal, module_of
from rayshim.resources import accelerators, demands, num_threads
from rayshim.resources.amounts import units
from rayshim.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rayshim.calls.actor_metadata import ActorClassMetadata
    from rayshim.calls.handle import ActorProxy
    from rayshim.dag.class_node import ClassNode

T = TypeVar("T")

_NAMED = 4096  # actors that the report shows by name


class ActorClassInheritanceException(TypeError):
    """Raised for `class B(A)` where A is an actor class."""

    __module__ = "rayshim.actor"


class NewActor:
    """An actor that is about to be created: the facts that its placement needs.

    Attributes:
        cls, info: its class and its ClassInfo; info_ref: the ref of that.
        facts: dict, the facts of the actor for the process that creates its instance.
        link: the core's reference to it.
        creation: (args, kwargs) of the constructor call.
        at_once: whether it works at several calls at the same time, or on streams ahead of their readers.
        threads: how many the numeric libraries use in it, 0: it is chosen elsewhere.
        role: its rayshim.placement.roles.Role, or None.
    """

    __slots__ = ("at_once", "cls", "creation", "facts", "info", "info_ref", "link", "role", "threads")

    def __init__(self, cls, info, info_ref, facts, link, creation, at_once, threads, role):
        self.cls, self.info, self.info_ref = cls, info, info_ref
        self.facts, self.link, self.creation = facts, link, creation
        self.at_once, self.threads, self.role = at_once, threads, role


class ActorClass(Generic[T]):
    """An actor class: `remote(*args, **kwargs)` creates an actor, an instance in a worker process, and returns its handle."""

    __module__ = "rayshim.actor"

    def __init__(self, cls: type[T], options: dict[str, Any], file_module: str | None = None) -> None:
        self._cls = cls
        self._options = options
        # Of the process that made it: a worker has another main script.
        self._file_module = file_module or module_of(cls)
        self._info = None
        self._imports = ()  # see rayshim.calls.used_modules
        self._signature = None
        self._metadata = None
        self.__name__: str = cls.__name__
        self.__qualname__ = cls.__qualname__
        self.__module__ = cls.__module__
        self.__doc__ = cls.__doc__

    @property
    def __ray_metadata__(self) -> ActorClassMetadata:
        if self._metadata is None:
            from rayshim.calls.actor_metadata import ActorClassMetadata

            self._metadata = ActorClassMetadata(self._cls, self._options)
        return self._metadata

    @property
    def _default_options(self) -> dict[str, Any]:
        """The options of the class."""
        return self._options

    @property
    def __ray_actor_class__(self) -> type[T]:
        """The plain class."""
        return self._cls

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"Actors cannot be instantiated directly. Instead of '{self.__qualname__}()', use '{self.__qualname__}.remote()'. (at {calling()})"
        )

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        def refuse(cls, **_kwargs: Any) -> NoReturn:
            raise ActorClassInheritanceException(
                f"Attempted to define subclass '{cls.__name__}' of actor class '{self.__qualname__}'. Inheriting from actor classes is not "
                "currently supported. You can instead inherit from a non-actor base class and make the derived class an actor class (with "
                f"@ray.remote). (at {calling()})"
            )

        # Only the new class knows its name.
        return (type(self.__name__, (), {"__init_subclass__": classmethod(refuse)}),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_cls" not in self.__dict__:
            raise AttributeError(name)
        try:
            value = getattr(self._cls, name)  # class attributes, static and class methods work as on the class itself
        except AttributeError:
            raise AttributeError(f"'{self!r}' object has no attribute '{name}'") from None
        defined = next((c.__dict__[name] for c in self._cls.__mro__ if name in c.__dict__), None)
        if value is defined and callable(value) and hasattr(type(value), "__get__"):
            # As on Ray, a method is bound, one with functools.lru_cache, too. Were it the function itself, cloudpickle would find it under its
            # module's name and send the class's methods by reference, and the actor would import the module in which the class is defined.
            bound = value.__get__(self)
            return ClassMethod(bound, self._cls.__name__) if type(bound) is types.MethodType else bound
        return value

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._cls), "options", "remote", "bind"})

    def options(self, **given: Any) -> _Optioned[T]:
        """The same class with other options; see `ray.remote`."""
        return _Optioned(self, opts.actor_options(given, in_options=True, base=self._options))

    def remote(self, *args: Any, **kwargs: Any) -> ActorProxy[T]:
        """Creates an actor and returns its ActorHandle at once. The arguments go to the constructor, which runs in the actor's process.

        Raises TypeError if the arguments do not fit the constructor, ActorAlreadyExistsError if the actor's name is taken.
        """
        return self._create(args, kwargs, self._options)

    def _remote(
        self, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any
    ) -> ActorProxy[T]:
        """Ray's older form of `options(**options).remote(*args, **kwargs)`."""
        return opts.remote_with(self, args, kwargs, options)

    def bind(self, *args: Any, **kwargs: Any) -> ClassNode:
        """A node of a graph that creates an actor; see `ray.dag`."""
        return self._bind(args, kwargs, self._options)

    def _bind(self, args, kwargs, options):
        return binding.nodes().ClassNode(self._cls, args, kwargs, options)

    def _create(self, args, kwargs, options):
        s = session.ensure()
        if self._signature is None:
            self._signature = Signature(self._cls)
        self._signature.check(args, kwargs)
        opts.check_name_at_call(options)
        opts.check_at_call(options)
        namespace = options.get("namespace") or s.namespace
        name = options.get("name")
        role = s.placement.role_of_actor(
            (self.__name__, self.__qualname__, f"{self._file_module}.{self.__qualname__}"), name
        )
        if role is not None:
            options = role.options(options)
        if name and options.get("get_if_exists"):
            found = find(name, namespace)
            if found is not None:
                return found
        groups = _groups(options.get("concurrency_groups"))
        if self._info is None:
            self._info = ClassInfo(self._cls, self._file_module)
            check_groups(self._info, groups)
            self._imports = used_modules.slow(self._cls)
        how = {
            "concurrency": options.get("max_concurrency"),
            "groups": groups,
            "out_of_order": options.get("allow_out_of_order_execution"),
            "streams_window": options.get("_actor_generator_backpressure_num_objects"),
        }
        plain = not self._info.is_async and not concurrency.has_threads(how, False)
        if s.settings.timing and plain and concurrency.starts_threads(self._cls):
            how["turns"] = True
        info = self._info.of_actor(options)
        if info.tensor_transport:
            _sends_tensors(info, options, how)
        concurrency.check(self.__name__, how, self._info.is_async)
        resources = requested.actor_resources(options)
        request = demands.resolve(options, resources, self.__qualname__, requested.actor_placement_resources(options))
        env, request = environments.of_call(s, options.get("runtime_env"), self.__name__, request)
        cls_ref = s.export(self._cls, lambda: with_added_methods(self._cls))
        info_ref = s.export(
            self._cls, lambda: info, ("info", info.max_task_retries, info.max_pending_calls, info.tensor_transport)
        )
        facts = {
            "class_name": self.__name__,
            "qualified_name": self.__qualname__,
            "internal": is_internal(self._cls),
            "name": name or "",
            "namespace": namespace,
            "demand": {k: units(v) for k, v in request.demand.items()},
            "devices": accelerators.devices(resources),
            "within": request.group,
            "part": request.part,
            "group": request.group and (request.group, request.capture),
            "ordinal": s.next_ordinal(),
            "creator": os.getpid(),
            "created_at": calling(),
            "creating_actor": s.record["number"] if s.record else 0,
            "detached": (options.get("lifetime") or s.settings.lifetime) == "detached",
            "max_restarts": options.get("max_restarts") or 0,
            "scope": s.settings.scope,
            "info": info_ref.offset,
            "preload": slow_imports(s.settings.zygote_alias),
        }
        if request.demand:
            facts["created_as"] = f"the actor {self.__qualname__} (created at {facts['created_at']})"
        if env != s.settings.runtime_env or s.placement.env_of_call(env):
            facts["env"] = frozen(env)
        if used_modules.may_preload(env):
            facts["preload"] += self._imports
        several = concurrency.several_at_once(how, self._info.is_async)
        facts["several"] = several
        if role is not None:
            role.check(self._cls, several or how["streams_window"])
        facts["loop"] = (
            not how.get("groups") if self._info.is_async else concurrency.has_threads(how, False)
        )  # its calls have an order in timed order
        link = _core.actor(facts["max_restarts"] != 0, several, facts["loop"])
        facts["number"], facts["offset"], facts["tag_hash"] = link.actor, link.offset, link.tag_hash
        if len(s.actor_classes) < _NAMED:
            s.actor_classes[link.actor] = self.__name__
            s.actor_hashes[link.actor] = link.tag_hash
        handle = ActorHandle(link, info, info_ref)
        call = (((cls_ref, facts, how), *args), kwargs)
        at_once, threads = several or how["streams_window"], num_threads.chosen(resources, env, role)
        actor = NewActor(self._cls, info, info_ref, facts, link, call, at_once, threads, role)
        session.check_current(s)  # else some of these facts may be of this session, some of the next
        with s.placement.making(name, namespace):
            if s.placement.create(actor):
                self._send(link, *call)
                return handle
        if options.get("get_if_exists"):
            return self._create(args, kwargs, options)  # it was made meanwhile, and may be gone by now
        raise _taken(name, namespace)

    def _send(self, link, args, kwargs):
        try:
            link.create(args, kwargs)
        except TypeError as error:
            if not hasattr(error, "value"):
                raise
            from reactor.picklability import short

            from rayshim.errors.unpicklable import serialization_error

            raise serialization_error(
                error,
                f"the argument {short(error.value)} for a task or actor {self._signature.of}",  # pyright: ignore[reportAttributeAccessIssue]
                f"at {calling()}",
            ) from error.__cause__

    def __reduce__(self) -> tuple[Any, ...]:
        code = session.current and session.current.exported_as(self._cls)
        if code is not None:
            return _exported, (code, self._options, self._file_module)
        return ActorClass, (self._cls, self._options, self._file_module)

    def __repr__(self) -> str:
        return f"ActorClass({self.__name__})"


class _Optioned(Generic[T]):
    """The result of `A.options(...)`, with the methods `remote` and `bind`."""

    def __init__(self, actor_class: ActorClass[T], options: dict[str, Any]) -> None:
        self._actor_class, self._options = actor_class, options

    def remote(self, *args: Any, **kwargs: Any) -> ActorProxy[T]:
        merged = opts.merge(self._actor_class._options, self._options)
        return self._actor_class._create(args, kwargs, merged)

    def bind(self, *args: Any, **kwargs: Any) -> ClassNode:
        return self._actor_class._bind(args, kwargs, opts.merge(self._actor_class._options, self._options))


def _exported(code, options, file_module):
    """The actor class that was exported as `code`, in the process to which it was passed."""
    cls = _core.get_one(code, None)
    session.current.imported(cls, code)
    return ActorClass(cls, options, file_module)


def _taken(name, namespace):
    return ActorAlreadyExistsError(
        f"The name {name} (namespace={namespace}) is already taken. Please use a different name or get the existing actor "
        f"using ray.get_actor('{name}', namespace='{namespace}') (at {calling()}; options(get_if_exists=True) does both in one call)"
    )


def slow_imports(alias, for_new_zygote=False):
    """The slow imports that this process has done, as `reactor.runtime.spawning.preloading` takes them: the zygote does them once, for all workers to
    come. `alias`: whether it has the alias; `for_new_zygote`: it has none of them yet."""
    names = preloading.slow_imports()
    return names + sys.modules["rayshim.as_ray.libraries"].new_imports(for_new_zygote) if alias else names


def _sends_tensors(info, options, how):
    """As in Ray, an actor with direct tensors has a group beside its calls, for transfers. `how` takes it, and the program's own transports."""
    if options.get("enable_tensor_transport") is False:
        raise ValueError(
            "Actor class has methods with @ray.method(tensor_transport=...) decorator but @ray.remote(enable_tensor_transport=False). Either set "
            "enable_tensor_transport=True or remove the @ray.method(tensor_transport=...) decorator from the methods. "
            f"({info.name}, at {calling()})"
        )
    from rayshim.calls.direct import registry

    how["groups"] = {**how["groups"], SYSTEM_GROUP: 1}
    how["transports"] = registry.own()


def _groups(given):
    """{name: max_concurrency}. Like Ray, accepts a list of {"name", "max_concurrency"}, too."""
    if isinstance(given, list):
        return {group["name"]: group["max_concurrency"] for group in given}
    return dict(given or {})
