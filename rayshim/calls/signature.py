"""Checks the arguments of `.remote()`, so that a wrong call fails where it is made and not in the worker."""

from rayshim.errors.user_code import calling, qualified

_POSITIONAL_ONLY, _POSITIONAL, _VAR_POSITIONAL, _KEYWORD_ONLY, _VAR_KEYWORD = range(5)  # as inspect._ParameterKind
_OPTIONAL, _REQUIRED = -1, -2  # of a keyword that fills no slot: whether its parameter has a default
_ANYTHING = (("args", _VAR_POSITIONAL, False), ("kwargs", _VAR_KEYWORD, False))
_CO_VARARGS, _CO_VARKEYWORDS = 0x04, 0x08  # as in inspect, which start-up does not import
_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def is_generator(function):
    """Whether a function yields, `async def` or not."""
    return _has_flags(function, _CO_GENERATOR | _CO_ASYNC_GENERATOR)


def is_plain_generator(function):
    """Whether a function yields and is not `async def`."""
    return _has_flags(function, _CO_GENERATOR)


def is_coroutine(function):
    """Whether a function is `async def` and does not yield."""
    return _has_flags(function, _CO_COROUTINE)


def is_async(function):
    """Whether a function is `async def`."""
    return _has_flags(function, _CO_COROUTINE | _CO_ASYNC_GENERATOR)


def _has_flags(function, flags):
    code = getattr(function, "__code__", None)
    return bool(code and code.co_flags & flags)


class Signature:
    """The parameters of a function, a method or the constructor of a class.

    Arguments:
        function: a function, a method, a partial, another callable, or a class (then its constructor without `self`).
            A callable without a known signature, such as some builtins, accepts everything.
        skip_self: leave out the first parameter; for a plain method taken from its class.

    Attributes:
        min_args: least number of positional arguments in a call without keywords.
        max_args: largest number of positional arguments, -1 for any number.
        has_required_kwonly: whether a keyword-only parameter has no default.
        of: the function's name for errors, see `qualified`.
        simple: whether a call without keywords is right exactly if `min_args <= len(args) <= max_args`.

    Raises ValueError for a method (`skip_self`) without any parameter. A Signature is small, can be pickled, and has no reference to
    the function.
    """

    __slots__ = (
        "_open",
        "_required",
        "_slots",
        "has_required_kwonly",
        "max_args",
        "min_args",
        "of",
        "parameters",
        "simple",
    )

    def __init__(self, function, skip_self=False):
        self._build(tuple(_parameters(function, skip_self)))
        self.of = qualified(function)

    def _build(self, parameters):
        self.parameters = parameters
        kinds = [kind for _, kind, _ in parameters]
        positional = [parameter for parameter, kind in zip(parameters, kinds) if kind <= _POSITIONAL]
        self.min_args = sum(1 for _, _, optional in positional if not optional)
        self.max_args = -1 if _VAR_POSITIONAL in kinds else len(positional)
        # Required names in positional order, None for one that cannot be given by keyword.
        self._required = tuple(
            name if kind == _POSITIONAL else None for name, kind, optional in positional if not optional
        )
        kwonly = [(name, optional) for name, kind, optional in parameters if kind == _KEYWORD_ONLY]
        self.has_required_kwonly = any(not optional for _, optional in kwonly)
        self.simple = not self.has_required_kwonly
        # What a keyword fills: a positional slot, or one of those that have none.
        self._slots = {name: i for i, (name, kind, _) in enumerate(positional) if kind == _POSITIONAL}
        self._slots.update((name, _OPTIONAL if optional else _REQUIRED) for name, optional in kwonly)
        self._open = _VAR_KEYWORD in kinds

    def check(self, args, kwargs, bound=False):
        """Raises TypeError if the arguments do not fit: the error of `inspect.Signature.bind`, with the call and its place. `bound`: they were given to
        `bind`, not to `remote`."""
        if not self._accepts(len(args), kwargs):
            import inspect

            kinds = (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.KEYWORD_ONLY,
                inspect.Parameter.VAR_KEYWORD,
            )
            full = inspect.Signature(
                inspect.Parameter(name, kinds[kind], default=None if has_default else inspect.Parameter.empty)  # pyright: ignore[reportArgumentType]
                for name, kind, has_default in self.parameters
            )
            try:
                full.bind(*args, **kwargs)
            except TypeError as error:
                if bound:
                    raise TypeError(
                        f"{error}. The function `{self.of.rpartition('.')[2]}` has a signature `{repr(self).removeprefix('Signature')}`, but the given "
                        f"arguments to `bind` doesn't match. args: {args}. kwargs: {kwargs}. (at {calling()})"
                    ) from None
                raise TypeError(f"{error}: {self._mismatch(args, kwargs)}") from None

    def _mismatch(self, args, kwargs):
        """For an error: the call, its place, the arguments it was given, and the parameters of the function."""
        given = f"{len(args)} positional argument{'s' * (len(args) != 1)}" + (
            f" and {', '.join(f'{name}=' for name in kwargs)}" if kwargs else ""
        )
        name = self.of.removesuffix(".__init__")
        return (
            f"{name}.remote() at {calling()} was given {given}, but {name} takes {repr(self).removeprefix('Signature')}"
        )

    def _accepts(self, count, kwargs):
        if count > self.max_args >= 0:
            return False
        if not kwargs:
            return self.simple and count >= self.min_args
        slots = self._slots
        for name in kwargs:
            slot = slots.get(name)
            if slot is None:
                if not self._open:
                    return False
            elif 0 <= slot < count:
                return False
        for name in self._required[count:]:
            if name not in kwargs:
                return False
        if self.has_required_kwonly:
            return all(name in kwargs for name, slot in slots.items() if slot == _REQUIRED)
        return True

    def __repr__(self):
        shown = [f"{name}{'=…' if has_default else ''}" for name, _, has_default in self.parameters]
        return f"Signature({', '.join(shown)})"

    def __reduce__(self):
        return _restore, (self.parameters, self.of)


def _restore(parameters, of):
    signature = Signature.__new__(Signature)
    signature._build(parameters)
    signature.of = of
    return signature


def _parameters(function, skip_self):
    """The parameters as (name, kind, has default)."""
    if isinstance(function, type):
        constructor = function.__init__
        if not hasattr(constructor, "__code__") and not hasattr(constructor, "__wrapped__"):
            return ()  # object's constructor, or a builtin's that Ray does not pass arguments to either
        function, skip_self = constructor, True
    code = getattr(function, "__code__", None)
    if type(function) is type(_parameters) and not {"__wrapped__", "__signature__"} & function.__dict__.keys():
        found = _of_code(code, function.__defaults__ or (), function.__kwdefaults__ or {})  # pyright: ignore[reportAttributeAccessIssue]
    else:
        found = _of_inspect(function)
    if skip_self:
        if not found:
            raise ValueError(
                "Methods must take a 'self' argument, but the method "
                f"'{getattr(function, '__name__', function)}' does not have one. (at {calling()})"
            )
        if found[0][1] <= _POSITIONAL:
            found = found[1:]
    return found


def _of_code(code, defaults, kwdefaults):
    """Read off the code object: a hundredth of what importing inspect costs, and start-up pays for it."""
    names, count, only = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    first_default = count - len(defaults)
    found = [
        (names[i], _POSITIONAL_ONLY if i < code.co_posonlyargcount else _POSITIONAL, i >= first_default)
        for i in range(count)
    ]
    end = count + only
    if code.co_flags & _CO_VARARGS:
        found.append((names[end], _VAR_POSITIONAL, False))
        end += 1
    found += [(name, _KEYWORD_ONLY, name in kwdefaults) for name in names[count : count + only]]
    if code.co_flags & _CO_VARKEYWORDS:
        found.append((names[end], _VAR_KEYWORD, False))
    return found


def _of_inspect(function):
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return _ANYTHING
    return [(p.name, int(p.kind), p.default is not p.empty) for p in parameters]
