"""Actors: `@remote class A`, `A.remote(...)`, handles and their methods."""

import copy
import os
import weakref

from reactor import _core
from reactor.codec import import_ref

from rayshim import concurrency, num_threads, placement, session
from rayshim import options as opts
from rayshim import runtime_env as environments
from rayshim.function import _is_generator
from rayshim.generators import num_returns_code, window
from rayshim.refs import _run
from rayshim.signature import Signature
from rayshim.sites import at, calling

_FOREVER = 0xFFFFFFFF  # retries without end
_NAMED = 4096  # actors that the report shows by name
_OPTIONS_ATTRIBUTE = "__ray_method_options__"
# Methods that every actor has; the functions that do them are in rayshim.serving.
BUILT_IN = {"__ray_ready__": (0, 0), "__ray_call__": (1, -1), "__ray_terminate__": (0, 0), "__dag_stage__": (3, -1)}


class ClassInfo:
    """What callers need to know of an actor class: its methods in a fixed order, with signatures and numbers of results."""

    def __init__(self, cls):
        self.name = cls.__name__
        self.module = cls.__module__
        self.qualname = cls.__qualname__
        self.is_async = False
        self.methods = {}  # name -> (index, number of results, min_args, max_args, Signature or None, options)
        self.generators = set()  # names of the methods that are generators
        for name in dir(cls):
            static = _lookup(cls, name)
            function = static.__func__ if isinstance(static, (staticmethod, classmethod)) else static
            if not _is_function(function) or (name.startswith("__") and name in vars(object)):
                continue
            options = getattr(function, _OPTIONS_ATTRIBUTE, {})
            code = getattr(function, "__code__", None)
            if code and code.co_flags & 0x280:  # CO_COROUTINE, CO_ASYNC_GENERATOR
                self.is_async = True
            signature = Signature(function, skip_self=not isinstance(static, staticmethod))
            least = signature.min_args if signature.simple else 1 << 30
            if _is_generator(function):
                self.generators.add(name)
            results = num_returns_code(options.get("num_returns"), name in self.generators)
            self.methods[name] = (len(self.methods), results, least, signature.max_args, signature, options)
        for name, (least, most) in BUILT_IN.items():
            self.methods[name] = (len(self.methods), 1, least, most, None, {})
        self.max_task_retries, self.max_pending_calls = 0, -1  # of one actor, see `of_actor`

    def of_actor(self, options):
        """This for an actor with `options`."""
        made = copy.copy(self)
        made.max_task_retries = options.get("max_task_retries") or 0
        made.max_pending_calls = options.get("max_pending_calls", -1)
        return made


def _lookup(cls, name):
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _is_function(o):
    return hasattr(o, "__code__") or type(o).__name__ == "cython_function_or_method"


class ActorClassInheritanceException(TypeError):
    """`class B(A)` where A is an actor class."""


class ActorClass:
    """A class whose instances live in processes of their own. `remote(*args, **kwargs)` makes one and gives its handle."""

    def __init__(self, cls, options):
        self._cls = cls
        self._options = options
        self._info = None
        self._signature = None
        self.__name__ = cls.__name__
        self.__qualname__ = cls.__qualname__
        self.__module__ = cls.__module__
        self.__doc__ = cls.__doc__

    @property
    def __ray_metadata__(self):
        import types

        return types.SimpleNamespace(modified_class=self._cls, class_name=self.__name__)

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"Actors cannot be instantiated directly. Instead of '{self.__name__}()', use '{self.__name__}.remote()'. (at {calling()})"
        )

    def __mro_entries__(self, bases):
        raise ActorClassInheritanceException(
            f"Attempted to define a subclass of actor class '{self.__name__}'. Inheriting from actor classes is not currently "
            "supported. You can instead inherit from a non-actor base class and make the derived class an actor class (with @ray.remote). "
            f"(at {calling()})"
        )

    def __getattr__(self, name):
        if name.startswith("__") or "_cls" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._cls, name)  # class attributes, static and class methods work here, as on the class itself

    def __dir__(self):
        return sorted({*dir(self._cls), "options", "remote", "bind"})

    def options(self, **given):
        """The same class with other options; see `ray.remote`."""
        return _Optioned(self, opts.actor_options(given, in_options=True))

    def remote(self, *args, **kwargs):
        return self._create(args, kwargs, self._options)

    def _remote(self, args=None, kwargs=None, **options):
        """`options(**options).remote(*args, **kwargs)`: Ray's older way to say it."""
        return (self.options(**options) if options else self).remote(*(args or ()), **(kwargs or {}))

    def bind(self, *args, **kwargs):
        """The node of a graph that makes an actor; see `ray.dag`."""
        return self._bind(args, kwargs, self._options)

    def _bind(self, args, kwargs, options):
        from rayshim.dag import ClassNode

        return ClassNode(self._cls, args, kwargs, options)

    def _create(self, args, kwargs, options):
        s = session.ensure()
        if self._signature is None:
            self._signature = Signature(self._cls)
        self._signature.check(args, kwargs)
        namespace = options.get("namespace") or s.namespace
        name = options.get("name")
        if name and options.get("get_if_exists"):
            found = find(name, namespace)
            if found is not None:
                return found
        if self._info is None:
            self._info = ClassInfo(self._cls)
        how = {"concurrency": options.get("max_concurrency"), "groups": _groups(options.get("concurrency_groups")),
               "out_of_order": options.get("allow_out_of_order_execution"),
               "streams_window": options.get("_actor_generator_backpressure_num_objects")}
        concurrency.check(self.__name__, how, self._info.is_async)
        resources = opts.actor_resources(options)
        place = placement.place(options, resources, self.__qualname__)
        info = self._info.of_actor(options)
        cls_ref = s.export(self._cls, lambda: self._cls)
        info_ref = s.export(self._cls, lambda: info, ("info", info.max_task_retries, info.max_pending_calls))
        facts = {
            "class_name": self.__name__,
            "name": name or "",
            "namespace": namespace,
            "demand": {k: round(v * _core.UNIT) for k, v in place.demand.items()},
            "gpus": resources.get("GPU", 0),
            "within": place.group,
            "group": place.group and (place.group, place.capture),
            "ordinal": s.next_ordinal(),
            "creator": os.getpid(),
            "maker": s.record["number"] if s.record else 0,
            "detached": options.get("lifetime") == "detached",
            "max_restarts": options.get("max_restarts") or 0,
            "info": info_ref.offset,
            "preload": _heavy(),
        }
        if place.demand:
            facts["made_as"] = f"the actor {self.__qualname__} (made at {calling()})"
        env = s.runtime_env
        if options.get("runtime_env"):
            env = environments.merged(env, environments.checked(options["runtime_env"], self.__name__))
        if env != s.settings["runtime_env"] or s.inline and env:
            facts["env"] = environments.frozen(env)
        if s.settings["placement"] == "packed":
            from rayshim.packing import shares

            facts["shares"] = shares(self._cls, info, how, facts, num_threads.chosen(resources, env))
        several = concurrency.several_at_once(how, self._info.is_async)
        link = _core.actor(facts["max_restarts"] != 0, several)
        facts["number"], facts["offset"] = link.actor, link.offset
        if len(s.made) < _NAMED:
            s.made[link.actor] = self.__name__
        handle = ActorHandle(link, info, info_ref)
        if s.inline:
            if name:
                if find(name, namespace) is not None:
                    raise _taken(name, namespace)
                s.inline_names[namespace, name] = handle if facts["detached"] else weakref.ref(handle)
            from rayshim.inline import InlineActor

            gpus = s.inline_gpus.take(resources.get("GPU", 0))
            call = (((cls_ref, facts, how), *args), kwargs)
            s.inline_actors[link.actor] = InlineActor(facts, gpus, call if facts["max_restarts"] else None)
            if place.group and placement.released(s, place.group):
                from rayshim.inline import end

                end(s, facts, "its placement group was removed before it could start.", released=place.group)
                return handle
            self._send(link, *call)
            return handle
        _core.hold(info_ref.offset)  # the supervisor's, until it forgets the actor
        if name:
            _core.offer(link, named=True)
        if not name:
            s.control.tell("actor", link.offset, facts)
        elif s.control.ask("actor", link.offset, facts) == "taken":
            if options.get("get_if_exists") and (found := find(name, namespace)) is not None:
                return found
            raise _taken(name, namespace)
        self._send(link, ((cls_ref, facts, how), *args), kwargs)
        return handle

    def _send(self, link, args, kwargs):
        try:
            link.create(args, kwargs)
        except TypeError as error:
            if not hasattr(error, "value"):
                raise
            from rayshim.util.check_serialize import told

            raise told(error, f"the argument {error.value!r} for a task or actor {self._signature.of} (at {calling()})") from error

    def __reduce__(self):
        return ActorClass, (self._cls, self._options)

    def __repr__(self):
        return f"ActorClass({self.__name__})"


class _Optioned:
    """`A.options(...)`: only `remote` or `bind` is left to be said."""

    def __init__(self, actor_class, options):
        self._actor_class, self._options = actor_class, options

    def remote(self, *args, **kwargs):
        merged = opts.merge(self._actor_class._options, self._options)
        return self._actor_class._create(args, kwargs, merged)

    def bind(self, *args, **kwargs):
        return self._actor_class._bind(args, kwargs, opts.merge(self._actor_class._options, self._options))


def _taken(name, namespace):
    from rayshim.exceptions import ActorAlreadyExistsError

    return ActorAlreadyExistsError(
        f"The name {name} (namespace={namespace}) is already taken. Please use a different name or get the existing actor "
        f"using ray.get_actor('{name}', namespace='{namespace}') (at {calling()}; options(get_if_exists=True) does that in one call)"
    )


def _heavy():
    """Names of the slow imports that the driver has done: the zygote does them once, for all workers to come."""
    import sys

    return tuple(name for name in ("torch", "gymnasium") if name in sys.modules)


class ActorMethod(_core.Method):
    """One method of one actor: `handle.method.remote(...)`."""

    __slots__ = ()
    is_generator = False

    def _remote(self, args=None, kwargs=None, **options):
        """`options(**options).remote(*args, **kwargs)`: Ray's older way to say it."""
        return (self.options(**options) if options else self).remote(*(args or ()), **(kwargs or {}))

    def __reduce__(self):
        _, info_ref = _facts[self.link]
        return getattr, (_handle_from(self.link, info_ref), self.name)

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{self.name}()', try 'object.{self.name}.remote()'. (at {calling()})"
        )

    def options(self, **given):
        """The same method with other options for the calls that follow: num_returns, name, ..."""
        checked = opts.call_options(given, is_generator=self.is_generator)
        return _OptionedMethod(self, checked)

    def bind(self, *args, **kwargs):
        """The node of a graph that calls the method; see `ray.dag`."""
        return _bind(self, args, kwargs, {})

    def __dir__(self):
        return [*dir(object), "options", "remote", "bind"]

    def __repr__(self):
        return f"ActorMethod({self.name})"


_facts = weakref.WeakKeyDictionary()  # a link whose methods have been looked up -> (ClassInfo, its ref)


def _bind(method, args, kwargs, options):
    handle = ActorHandle(method.link, *_facts[method.link])
    _, results, _, _, signature, _ = handle._info.methods[method.name]
    if signature is not None:
        signature.check(args, kwargs)
    from rayshim.dag.class_node import bind_method

    given = options.get("num_returns")
    return bind_method(handle, method.name, args, kwargs, options, results if given is None else given)


class GeneratorMethod(ActorMethod):
    """A method that yields: its calls give an ObjectRefGenerator."""

    __slots__ = ()
    is_generator = True


_AROUND = ("name", "concurrency_group", "retry_exceptions")  # options of a call that its actor's process has to know


class _OptionedMethod:
    def __init__(self, method, options):
        results = options.get("num_returns")
        results = method.results if results is None else num_returns_code(results, method.is_generator)
        around = tuple((name, tuple(value) if isinstance(value, list) else value)
                       for name in _AROUND if (value := options.get(name)) not in (None, ""))
        ref = session.ensure().export_options(around) if around else None
        retries = options.get("max_task_retries")
        self.remote = method.vary(results, *window(options), method.retries if retries is None else _retries(retries), ref).remote
        self._method, self._options = method, options

    def bind(self, *args, **kwargs):
        return _bind(self._method, args, kwargs, self._options)


class _Limited:
    """A method of an actor with `max_pending_calls`. The limit is the handle's: `pending` has the refs of its calls that may
    not be done yet."""

    def __init__(self, method, pending, limit):
        self._method, self._pending, self._limit = method, pending, limit

    def remote(self, *args, **kwargs):
        """As ActorMethod.remote. Raises PendingCallsLimitExceeded when too many calls of this handle wait or run."""
        if len(self._pending) >= self._limit:
            self._pending[:] = [ref for ref in self._pending if not ref.done()]
        if len(self._pending) >= self._limit:
            from rayshim.exceptions import PendingCallsLimitExceeded

            raise PendingCallsLimitExceeded(
                f"{self._method!r}: {len(self._pending)} calls of this handle are pending, and max_pending_calls={self._limit}. Get "
                f"some of their results first (at {calling()})"
            )
        made = self._method.remote(*args, **kwargs)
        if made is not None:
            self._pending.append(made[0] if isinstance(made, list) else made)
        return made

    def options(self, **given):
        """As ActorMethod.options."""
        return _Limited(self._method.options(**given), self._pending, self._limit)

    def __getattr__(self, name):
        return getattr(self._method, name)

    def __call__(self, *args, **kwargs):
        return self._method(*args, **kwargs)


def _retries(given):
    """As the core counts them."""
    return _FOREVER if given < 0 else given


def _groups(given):
    """{name: max_concurrency}; Ray takes a list of {"name", "max_concurrency"} too."""
    if isinstance(given, list):
        return {group["name"]: group["max_concurrency"] for group in given}
    return dict(given or {})


class ActorHandle:
    """A reference to an actor. Its methods are attributes; it can be passed to tasks and actors, stored and returned.

    The actor ends when the last handle is gone and what was sent to it is done.
    """

    def __init__(self, link, info, info_ref):
        d = self.__dict__
        d["_link"], d["_info"], d["_info_ref"] = link, info, info_ref

    def __getattr__(self, name):
        # The methods are made when first asked for, and found in the instance's dictionary from then on.
        try:
            index, results, least, most, signature, own = self._info.methods[name]
        except KeyError:
            if name.startswith("__"):
                raise AttributeError(f"'{self._info.name}' object has no attribute '{name}'") from None  # Python itself asks for such
            methods = ", ".join(method for method in self._info.methods if not method.startswith("__"))
            raise AttributeError(f"'{self._info.name}' object has no attribute '{name}' (at {calling()}; its methods are: {methods})") from None
        check = None if signature is None else signature.check
        kind = GeneratorMethod if name in self._info.generators else ActorMethod
        retries = own.get("max_task_retries")
        retries = _retries(self._info.max_task_retries if retries is None else retries)
        made = kind(self._link, index, name, results, least, most, check, *window(own), retries)
        if self._info.max_pending_calls > 0:
            made = _Limited(made, self.__dict__.setdefault("_pending", []), self._info.max_pending_calls)
        self.__dict__[name] = made
        _facts[self._link] = self._info, self._info_ref
        return made

    @property
    def _actor_id(self):
        return actor_id(self._link.actor)

    @property
    def _ray_actor_id(self):
        return self._actor_id

    def __dir__(self):
        return ["__init__", *(name for name in self._info.methods if name != "__dag_stage__")]

    def __repr__(self):
        return f"Actor({self._info.name}, {self._actor_id.hex()})"

    def __hash__(self):
        return hash(self._link.uid)

    def __eq__(self, other):
        return isinstance(other, ActorHandle) and self._link.uid == other._link.uid

    def __reduce__(self):
        index = _core.export_ref(self._link)
        if index >= 0:
            return _weak_handle_from if self._link.weak else _handle_from, (_ImportLink(index), self._info_ref)
        _core.hold(self._link.offset)  # pickled outside any call: the actor stays while the session lasts
        _core.offer(self._link, named=True)
        return _handle_at, (self._link.offset, self._info_ref, _run())


class _ImportLink:
    """Stands in a pickle for a link; becomes it when unpickled."""

    def __init__(self, index):
        self.index = index

    def __reduce__(self):
        return import_ref, (self.index,)


def _handle_from(link, info_ref):
    return ActorHandle(link, _info_of(info_ref), info_ref)


def _weak_handle_from(link, info_ref):
    return ActorHandle(_core.link_at(link.offset, True, weak=True), _info_of(info_ref), info_ref)


def _handle_at(offset, info_ref, run):
    link = _core.link_at(offset, True) if run == _run() else None
    if link is None:
        raise ValueError(f"this pickled actor handle is of a session that has ended (unpickled at {calling()}): make the actor again after the new init()")
    return _handle_from(link, info_ref)


_infos = {}  # uid of the info's object -> ClassInfo; ids are unique within a session


def _info_of(ref):
    key = (_core.epoch(), ref.uid)
    info = _infos.get(key)
    if info is None:
        info = _infos[key] = _core.get_one(ref, None)
    return info


def find(name, namespace):
    """The handle of the named actor, or None."""
    s = session.ensure()
    if s.inline:
        found = s.inline_names.get((namespace, name))
        handle = found if isinstance(found, ActorHandle) else found and found()
        return handle if handle is not None and handle._link.state == _core.InboxState.OPEN else None
    found = s.control.ask("named", name, namespace)
    if found is None:
        return None
    offset, info = found
    link = _core.link_at(offset, False, weak=True)
    info_ref = _core.ref_at(info)
    _core.drop(info)
    return _handle_from(link, info_ref)


def actor_id(number):
    """The ActorID of the actor with that number."""
    from rayshim.ids import ActorID

    return ActorID(number.to_bytes(12, "little") + b"\x01\x00\x00\x00")


def method(*args, **kwargs):
    """Decorator for an actor's method: `@ray.method(num_returns=2)`. Raises AssertionError for an unknown option."""
    if not kwargs:
        raise AssertionError(opts.METHOD_USAGE)
    checked = opts.method_options(kwargs)

    def annotate(function):
        setattr(function, _OPTIONS_ATTRIBUTE, checked)
        return function

    return annotate


class ActorExit(SystemExit):
    """Raised by `exit_actor`; ends the actor's process without being an error."""

    intended = True


def exit_actor():
    """Ends the current actor. The running call, those that wait and all later ones get an ActorDiedError.

    Raises TypeError outside of an actor.
    """
    _, number = _core.running()
    s = session.current
    if not number and not (s is not None and s.record):
        raise TypeError(f"exit_actor API is called on a non-actor worker. ({at('exit_actor')}: call it in a method of an actor)")
    raise ActorExit(0)
