"""Actors: `@remote class A`, `A.remote(...)`, handles and their methods."""

import os
import warnings

from reactor import _core
from reactor.codec import import_ref

from rayshim import options as opts
from rayshim import session
from rayshim.refs import _run
from rayshim.signature import Signature

_NAMED = 4096  # actors that the report shows by name
_OPTIONS_ATTRIBUTE = "__ray_method_options__"
# Methods that every actor has; the functions that do them are in rayshim.serving.
BUILT_IN = {"__ray_ready__": (0, 0), "__ray_call__": (1, -1), "__ray_terminate__": (0, 0)}


class ClassInfo:
    """What callers need to know of an actor class: its methods in a fixed order, with signatures and numbers of results."""

    def __init__(self, cls):
        self.name = cls.__name__
        self.module = cls.__module__
        self.qualname = cls.__qualname__
        self.is_async = False
        self.methods = {}  # name -> (index, number of results, min_args, max_args, Signature or None, options)
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
            results = options.get("num_returns")
            self.methods[name] = (len(self.methods), 1 if results is None else results, least, signature.max_args, signature, options)
        for name, (least, most) in BUILT_IN.items():
            self.methods[name] = (len(self.methods), 1, least, most, None, {})


def _lookup(cls, name):
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _is_function(o):
    return hasattr(o, "__code__") or type(o).__name__ == "cython_function_or_method"


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
            f"Actors cannot be instantiated directly. Instead of '{self.__name__}()', use '{self.__name__}.remote()'."
        )

    def __mro_entries__(self, bases):
        return (self._cls,)  # `class B(A)` where A is a remote class: B derives from the class itself

    def options(self, **given):
        """The same class with other options; see `ray.remote`."""
        return _Optioned(self, opts.actor_options(given, in_options=True))

    def remote(self, *args, **kwargs):
        return self._create(args, kwargs, self._options)

    def bind(self, *args, **kwargs):
        raise NotImplementedError("rayshim does not provide ray.dag yet: use remote() instead of bind()")

    def _create(self, args, kwargs, options):
        s = session.ensure()
        if self._signature is None:
            self._signature = Signature(self._cls)
        self._signature.check(args, kwargs)
        for unmet in ("max_restarts", "max_task_retries"):
            if options.get(unmet):
                warnings.warn(f"rayshim does not honour {unmet}={options[unmet]} yet: a dead actor stays dead", stacklevel=3)
        namespace = options.get("namespace") or s.namespace
        name = options.get("name")
        if name and options.get("get_if_exists"):
            found = find(name, namespace)
            if found is not None:
                return found
        if self._info is None:
            self._info = ClassInfo(self._cls)
        resources = opts.actor_resources(options)
        cls_ref = s.export(self._cls, lambda: self._cls)
        info_ref = s.export((self._cls, "info"), lambda: self._info)
        facts = {
            "class_name": self.__name__,
            "name": name or "",
            "namespace": namespace,
            "demand": {k: round(v * 10000) for k, v in resources.items()},
            "ordinal": s.next_ordinal(),
            "creator": os.getpid(),
            "detached": options.get("lifetime") == "detached",
            "info": info_ref.offset,
            "preload": _heavy(),
        }
        if (options.get("runtime_env") or {}).get("env_vars"):
            facts["env"] = dict(options["runtime_env"]["env_vars"])
        link = _core.actor()
        facts["number"], facts["offset"] = link.actor, link.offset
        if len(s.made) < _NAMED:
            s.made[link.actor] = self.__name__
        handle = ActorHandle(link, self._info, info_ref)
        how = {"concurrency": options.get("max_concurrency")}
        if s.inline:
            if name:
                if find(name, namespace) is not None:
                    raise _taken(name, namespace)
                import weakref

                s.inline_names[namespace, name] = handle if facts["detached"] else weakref.ref(handle)
            from rayshim.inline import InlineActor

            gpus = s.inline_gpus.take(resources.get("GPU", 0))
            s.inline_actors[link.actor] = InlineActor(facts, s.settings, gpus)
            link.create(((cls_ref, facts, how), *args), kwargs)
            return handle
        _core.hold(info_ref.offset)  # the supervisor's, until it forgets the actor
        if not name:
            s.control.tell("actor", link.offset, facts)
        elif s.control.ask("actor", link.offset, facts) == "taken":
            if options.get("get_if_exists") and (found := find(name, namespace)) is not None:
                return found
            raise _taken(name, namespace)
        link.create(((cls_ref, facts, how), *args), kwargs)
        return handle

    def __reduce__(self):
        return ActorClass, (self._cls, self._options)

    def __repr__(self):
        return f"ActorClass({self.__name__})"


class _Optioned:
    """`A.options(...)`: only `remote` is left to be said."""

    def __init__(self, actor_class, options):
        self._actor_class, self._options = actor_class, options

    def remote(self, *args, **kwargs):
        merged = opts.merge(self._actor_class._options, self._options)
        return self._actor_class._create(args, kwargs, merged)

    def bind(self, *args, **kwargs):
        return self._actor_class.bind(*args, **kwargs)


def _taken(name, namespace):
    from rayshim.exceptions import ActorAlreadyExistsError

    return ActorAlreadyExistsError(
        f"The name {name} (namespace={namespace}) is already taken. Please use a different name or get the existing actor "
        f"using ray.get_actor('{name}', namespace='{namespace}')"
    )


def _heavy():
    """Names of the slow imports that the driver has done: the zygote does them once, for all workers to come."""
    import sys

    return tuple(name for name in ("torch", "gymnasium") if name in sys.modules)


class ActorMethod(_core.Method):
    """One method of one actor: `handle.method.remote(...)`."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{self.name}()', try 'object.{self.name}.remote()'."
        )

    def options(self, **given):
        """The same method with other options for the calls that follow: num_returns, name, ..."""
        checked = opts.call_options(given)
        return _OptionedMethod(self, checked)

    def bind(self, *args, **kwargs):
        raise NotImplementedError("rayshim does not provide ray.dag yet: use remote() instead of bind()")

    def __repr__(self):
        return f"ActorMethod({self.name})"


class _OptionedMethod:
    def __init__(self, method, options):
        results = options.get("num_returns")
        if isinstance(results, str):
            raise NotImplementedError(f"rayshim does not provide num_returns={results!r} yet")
        self.remote = method.remote if results is None else method.with_results(results).remote


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
            index, results, least, most, signature, _ = self._info.methods[name]
        except KeyError:
            raise AttributeError(f"'{self._info.name}' object has no attribute '{name}'") from None
        if isinstance(results, str):
            raise NotImplementedError(f"rayshim does not provide num_returns={results!r} yet")
        check = None if signature is None else signature.check
        made = ActorMethod(self._link, index, name, results, least, most, check)
        self.__dict__[name] = made
        return made

    @property
    def _actor_id(self):
        return actor_id(self._link.actor)

    @property
    def _ray_actor_id(self):
        return self._actor_id

    def __dir__(self):
        return list(self._info.methods)

    def __repr__(self):
        return f"Actor({self._info.name}, {self._actor_id.hex()})"

    def __hash__(self):
        return hash(self._link.uid)

    def __eq__(self, other):
        return isinstance(other, ActorHandle) and self._link.uid == other._link.uid

    def __reduce__(self):
        index = _core.export_ref(self._link)
        if index >= 0:
            return _handle_from, (_ImportLink(index), self._info_ref)
        _core.hold(self._link.offset)  # pickled outside any call: the actor stays while the session lasts
        return _handle_at, (self._link.offset, self._info_ref, _run())


class _ImportLink:
    """Stands in a pickle for a link; becomes it when unpickled."""

    def __init__(self, index):
        self.index = index

    def __reduce__(self):
        return import_ref, (self.index,)


def _handle_from(link, info_ref):
    return ActorHandle(link, _info_of(info_ref), info_ref)


def _handle_at(offset, info_ref, run):
    link = _core.link_at(offset, True) if run == _run() else None
    if link is None:
        raise ValueError("this pickled actor handle is of a session that has ended")
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
        return handle if handle is not None and handle._link.state == 0 else None
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
        raise TypeError("exit_actor API is called on a non-actor worker.")
    raise ActorExit(0)
