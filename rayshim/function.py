"""Remote functions: `@remote def f`, `f.remote(...)`."""

from reactor import _core

from rayshim import options as opts
from rayshim import session
from rayshim.signature import Signature

_VARIANTS = 64  # kept of one function
_FOREVER = 0xFFFFFFFF  # retries without end


class RemoteFunction:
    """A function that runs in a task worker.

    `remote(*args, **kwargs)` gives an ObjectRef, a list of them (`num_returns` above 1) or None (`num_returns=0`) at once, and
    raises TypeError if the arguments do not fit the function.
    """

    def __init__(self, function, options):
        self._function = function
        self._options = options
        self._variants = {}  # options given -> the function with them, so that its export is found again
        self.__name__ = getattr(function, "__name__", "function")
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", None)
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"Remote functions cannot be called directly. Instead of running '{self.__name__}()', try '{self.__name__}.remote()'."
        )

    def remote(self, *args, **kwargs):
        """Runs the function in a task worker. The first call exports it; later ones go to the core directly."""
        native = self._export()
        self.__dict__["remote"] = native.remote
        return native.remote(*args, **kwargs)

    def options(self, **given):
        """The same function with other options; see `ray.remote`."""
        try:
            key = tuple(sorted(given.items()))
            known = self._variants.get(key)
        except TypeError:  # an option that cannot be hashed or compared
            key = known = None
        if known is None:
            checked = opts.task_options(given, in_options=True, is_generator=_is_generator(self._function))
            known = RemoteFunction(self._function, opts.merge(self._options, checked))
            if key is not None and len(self._variants) < _VARIANTS:
                self._variants[key] = known
        return known

    def bind(self, *args, **kwargs):
        raise NotImplementedError("rayshim does not provide ray.dag yet: call f.remote() instead of f.bind()")

    def forget(self):
        """The session has ended: the next call exports the function anew."""
        self.__dict__.pop("remote", None)

    def _export(self):
        s = session.ensure()
        o = self._options
        resources = opts.task_resources(o)
        retries = o.get("max_retries", 3)
        flags = _flags(o, resources, retries)
        function = self._function
        ref = s.export((function, flags), lambda: (function, dict(flags)))
        signature = Signature(function)
        s.exported.add(self)
        results = o.get("num_returns")
        if results in ("dynamic", "streaming") or results is None and _is_generator(function):
            raise NotImplementedError("rayshim does not provide generator tasks (num_returns='dynamic' or 'streaming') yet")
        return _core.Function(
            ref,
            self.__name__,
            1 if results is None else results,
            signature.min_args if signature.simple else 1 << 30,
            signature.max_args,
            signature.check,
            s.demand(resources),
            _FOREVER if retries is None or retries < 0 else retries,
        )

    def __reduce__(self):
        return RemoteFunction, (self._function, self._options)

    def __repr__(self):
        return f"RemoteFunction({self.__qualname__})"


def _is_generator(function):
    code = getattr(function, "__code__", None)
    return bool(code and code.co_flags & 0x220)  # CO_GENERATOR, CO_ASYNC_GENERATOR


def _flags(o, resources, retries):
    """What the worker must do around the function, as a hashable key."""
    flags = {}
    if o.get("name"):
        flags["name"] = o["name"]
    if resources.get("GPU"):
        flags["gpus"] = resources["GPU"]
    if o.get("retry_exceptions"):
        which = o["retry_exceptions"]
        flags["retry_exceptions"] = tuple(which) if isinstance(which, (list, tuple)) else True
        flags["retries"] = retries
    if o.get("runtime_env"):
        flags["env"] = tuple(sorted((o["runtime_env"].get("env_vars") or {}).items()))
    return tuple(sorted(flags.items()))
