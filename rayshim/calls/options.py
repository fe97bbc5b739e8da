"""The options of `@remote(...)`, `.options(...)` and `@method(...)`: names, types, ranges and defaults.

Messages are those of Ray 2.60, so that code which matches them works here, too. A table has for each option its types, a rule and a default.
A rule is a function (name, value) -> error message or None.
"""

from reactor import _core, codec

from rayshim.errors.user_code import at, calling
from rayshim.resources import labels

_NONE = type(None)
_SMALLEST_QUANTITY = 1 / _core.UNIT


def _no_rule(name, value):
    return None


def _count(name, value):
    if value is not None and value < 0:
        return f"The keyword '{name}' only accepts None, 0 or a positive integer."


def _count_or_infinite(name, value):
    if value is not None and value < -1:
        return f"The keyword '{name}' only accepts None, 0, -1 or a positive integer, where -1 represents infinity."


def _quantity(name, value):
    return None if value is None else _amount(name, value)


def _amount(name, value):
    if value < 0:
        return f"The quantity of resource {name} cannot be negative"
    if isinstance(value, float) and value and int(value * _core.UNIT) == 0:
        return f"The precision of the fractional quantity of resource {name} cannot go beyond {_SMALLEST_QUANTITY}"


def quantities(name, value):
    """The error of `resources=value`, as text; None if there is none."""
    if value is None:
        return None
    if "CPU" in value or "GPU" in value:
        return "Use the 'num_cpus' and 'num_gpus' keyword instead of 'CPU' and 'GPU' in 'resources' keyword"
    for resource, amount in value.items():
        message = _amount(resource, amount)
        if message:
            return message


def _num_returns(name, value):
    if value is None or value in ("dynamic", "streaming") or value >= 0:
        return None
    return (
        "Default None. When None is passed, The default value is 1 for a task and actor task, and 'streaming' for "
        "generator tasks and generator actor tasks. The keyword 'num_returns' only accepts None, a non-negative "
        "integer, 'streaming' (for generators), or 'dynamic'. 'dynamic' flag will be deprecated in the future, and "
        f"it is recommended to use 'streaming' instead. Got {value!r}."
    )


def _label_values(name, value):
    for label in (value or {}).values():
        if not isinstance(label, str):
            return f"Label value must be string, but got {type(label)}"


def _retry_exceptions(name, value):
    if isinstance(value, (list, tuple)) and not all(isinstance(c, type) and issubclass(c, Exception) for c in value):
        return "retry_exceptions must be either a boolean or a list of exceptions"


def _not_for_tasks(name, value):
    if value is not None:
        return f"Setting '{name}' is not implemented for tasks"


def _backpressure(name, value):
    if value == 0:
        return (
            f"{name}=0 is not allowed. Use a value > 0. If the value is equal to 1, the behavior is identical to "
            "Python generator (generator 1 object whenever `next` is called). Use -1 to disable this feature. "
        )


def _actor_backpressure(name, value):
    if value is not None and value != -1 and value <= 0:
        return (
            f"{name} must be > 0 to cap the actor's total unconsumed generator objects, or -1 to disable. Got {value}."
        )


def _objects_per_yield(name, value):
    if value is not None and value <= 0:
        return f"{name} is a private streaming generator option that must be set to a positive integer."


def _lifetime(name, value):
    if value not in (None, "detached", "non_detached"):
        return "actor `lifetime` argument must be one of 'detached', 'non_detached' and 'None'."


def _runtime_env(name, value):
    if value:
        from rayshim.environments import rules

        rules.check(value, uploads=False)


def _strategy(name, value):
    if isinstance(value, str) and value not in ("DEFAULT", "SPREAD"):
        return (
            f"Invalid scheduling_strategy value {value}. Valid values are "
            '["DEFAULT" | "SPREAD" | PlacementGroupSchedulingStrategy | NodeAffinitySchedulingStrategy]'
        )


# Types by name, so that a check does not import the modules that define them.
_STRATEGIES = (
    _NONE,
    str,
    "rayshim.util.scheduling_strategies.PlacementGroupSchedulingStrategy",
    "rayshim.util.scheduling_strategies.NodeAffinitySchedulingStrategy",
    "rayshim.util.scheduling_strategies.NodeLabelSchedulingStrategy",
)
_AMOUNT = (float, int, _NONE)
_INT = (int, _NONE)
_TEXT = (str, _NONE)
_DICT = (dict, _NONE)
_FLAG = (bool, _NONE)

# name -> (types, rule, default)
_COMMON = {
    "label_selector": (_DICT, lambda name, value: labels.wrong_selector(value), None),
    "fallback_strategy": ((list, _NONE), lambda name, value: labels.wrong_fallback(value), None),
    "accelerator_type": (_TEXT, _no_rule, None),
    "memory": (_AMOUNT, _quantity, None),
    "name": (_TEXT, _no_rule, None),
    "num_cpus": (_AMOUNT, _quantity, None),
    "num_gpus": (_AMOUNT, _quantity, None),
    "object_store_memory": (_INT, _count, None),
    "placement_group": ((_NONE, str, "rayshim.util.placement_group.PlacementGroup"), _no_rule, "default"),
    "placement_group_bundle_index": ((int,), _no_rule, -1),
    "placement_group_capture_child_tasks": (_FLAG, _no_rule, None),
    "resources": (_DICT, quantities, None),
    "runtime_env": (_DICT, _runtime_env, None),
    "scheduling_strategy": (_STRATEGIES, _no_rule, None),
    "enable_task_events": ((bool,), _no_rule, True),
    "_labels": (_DICT, _no_rule, None),
}
_TASK = {
    **_COMMON,
    "max_calls": (_INT, _count, 0),
    "max_retries": (_INT, _count_or_infinite, 3),
    "num_cpus": (_AMOUNT, _quantity, 1),
    "num_returns": ((int, str, _NONE), _num_returns, None),
    "object_store_memory": (_INT, _not_for_tasks, None),
    "retry_exceptions": ((bool, list, tuple), _retry_exceptions, False),
    "_generator_backpressure_num_objects": (_INT, _backpressure, None),
    "_num_objects_per_yield": (_INT, _objects_per_yield, 1),
}
_ACTOR = {
    **_COMMON,
    "concurrency_groups": ((list, dict, _NONE), _no_rule, None),
    "enable_tensor_transport": (_FLAG, _no_rule, None),
    "lifetime": (_TEXT, _lifetime, None),
    "max_concurrency": (_INT, _count, None),
    "max_restarts": (_INT, _count_or_infinite, 0),
    "max_task_retries": (_INT, _count_or_infinite, 0),
    "max_pending_calls": (_INT, _count_or_infinite, -1),
    "namespace": (_TEXT, _no_rule, None),
    "get_if_exists": ((bool,), _no_rule, False),
    "allow_out_of_order_execution": (_FLAG, _no_rule, None),
    "_actor_generator_backpressure_num_objects": (_INT, _actor_backpressure, None),
}
_METHOD = {
    "num_returns": ((int, str, _NONE), _num_returns, None),
    "concurrency_group": (_TEXT, _no_rule, None),
    "max_task_retries": (_INT, _count_or_infinite, None),
    "retry_exceptions": ((bool, list, tuple, _NONE), _retry_exceptions, None),
    "_generator_backpressure_num_objects": (_INT, _backpressure, None),
    "_num_objects_per_yield": (_INT, _objects_per_yield, None),
    "enable_task_events": (_FLAG, _no_rule, None),
    "tensor_transport": (_TEXT, _no_rule, None),
}
_CALL = {**_METHOD, "name": (_TEXT, _no_rule, ""), "_labels": (_DICT, _label_values, None)}

# The numbers that Ray's core takes: (name, its C type, whether None stands for a default). It refuses others at the call.
_CORE_NUMBERS = (
    ("max_retries", "int", False),
    ("num_returns", "int", True),
    ("max_pending_calls", "int32_t", False),
    ("max_concurrency", "int32_t", True),
)
_MOST = 2**63 - 1

#: Default options of a task, an actor and a method.
TASK_DEFAULTS = {name: default for name, (_, _, default) in _TASK.items()}
ACTOR_DEFAULTS = {name: default for name, (_, _, default) in _ACTOR.items()}

#: The text of the AssertionError that Ray raises for `@remote(3)` and `@remote()`, and for `@method(3)`.
REMOTE_USAGE = (
    "The @ray.remote decorator must be applied either with no arguments and no parentheses, for example '@ray.remote',"
    f" or it must be applied using some of the arguments in the list {list({**_TASK, **_ACTOR})}, for example "
    "'@ray.remote(num_returns=2, resources={\"CustomResource\": 1})'."
)
METHOD_USAGE = (
    "The @ray.method decorator must be applied using no arguments or at least one of the arguments in the list "
    f"{list(_METHOD)}, for example '@ray.method(num_returns=2)'."
)


def task_options(given, in_options=False, is_generator=None, base=None):
    """Checks the options of a remote function and returns them in a new dict.

    Arguments:
        given: the options, a dict.
        in_options: whether they come from `.options()`, which does not accept all of them.
        is_generator: whether the function is a generator; None: unknown.
        base: the options that these override, already checked; what options must have in common is a rule for both together.

    Raises ValueError for an unknown option or a wrong value, TypeError for a wrong type.
    """
    per_yield = (base or {}).get("_num_objects_per_yield") or 1
    if in_options and given.get("_num_objects_per_yield", per_yield) != per_yield:
        raise ValueError(
            "_num_objects_per_yield cannot be overridden per task call. Use @ray.remote(_num_objects_per_yield=...) instead. "
            f"(at {calling()})"
        )
    checked = _check(given, _TASK, "remote functions")
    if in_options and "max_calls" in checked:
        raise ValueError(
            f"Setting 'max_calls' is not supported in '.options()'. (at {calling()}: give it to @ray.remote)"
        )
    _check_placement(merge(base or {}, checked))
    if is_generator is not None and checked.get("num_returns") is not None:
        check_num_returns(checked["num_returns"], is_generator)
    return checked


def actor_options(given, in_options=False, base=None):
    """Checks the options of an actor class; see `task_options`."""
    checked = _check(given, _ACTOR, "actors")
    if in_options and "concurrency_groups" in checked:
        raise ValueError(
            f"Setting 'concurrency_groups' is not supported in '.options()'. (at {calling()}: give it to @ray.remote)"
        )
    together = merge(base or {}, checked)
    if together.get("get_if_exists") and not together.get("name"):
        raise ValueError(f"The actor name must be specified to use `get_if_exists`. (at {calling()}: give name=, too)")
    if not in_options and "max_restarts" in checked:
        if checked["max_restarts"] is None:
            raise TypeError(
                f"'<' not supported between instances of 'int' and 'NoneType' (max_restarts=None at {calling()}: leave it out, or give 0)"
            )
        checked["max_restarts"] = min(checked["max_restarts"], _MOST)
    _check_placement(together)
    return checked


def check_at_call(options):
    """Checks in the options of a task or actor what Ray checks when it is called or created, and not before.

    Raises TypeError for a number that is None, OverflowError for one that is too large, ValueError for the others.
    """
    for name, kind, may_be_none in _CORE_NUMBERS:
        if name in options and not (may_be_none and options[name] is None):
            _check_core_number(name, options[name], kind)
    if "max_task_retries" in options:  # calls check the rest (`retries`)
        _check_core_number("max_task_retries", options["max_task_retries"], "int64_t")
    if "max_restarts" in options:
        if options["max_restarts"] is None:
            raise TypeError(
                f"'>' not supported between instances of 'NoneType' and 'int' (max_restarts=None at {calling()}: leave it out, or give 0)"
            )
        _check_core_number("max_restarts", options["max_restarts"], "int64_t")
    for name, rule in (("scheduling_strategy", _strategy), ("_labels", _label_values)):
        if message := rule(name, options.get(name)):
            raise ValueError(f"{message} (at {calling()})")


def check_name_at_call(options):
    """As `check_at_call`, for the name and namespace of an actor."""
    if options.get("name") == "":
        raise ValueError(f"Actor name cannot be an empty string. (at {calling()}: give another name=, or leave it out)")
    check_namespace(options.get("namespace"))


def check_namespace(namespace, call=None):
    """ValueError or TypeError for a wrong one. `call`: name of the function that got it, for the message."""
    where = lambda: at(call) if call else f"at {calling()}"  # noqa: E731
    if namespace == "":
        raise ValueError(f'"" is not a valid namespace. Pass None to not specify a namespace. ({where()})')
    if not isinstance(namespace, (str, type(None))):
        raise TypeError(f"namespace must be None or a string. ({where()}: it is {namespace!r})")


def _no_number(name):
    return TypeError(f"an integer is required ({name}=None at {calling()}: leave it out, or give a number)")


def _check_core_number(name, value, kind):
    if isinstance(value, str):
        return
    if value is None:
        raise _no_number(name)
    if value > _MOST:
        raise OverflowError(f"Python int too large to convert to C long ({name}={value} at {calling()})")
    if value >= 2**31 and kind != "int64_t":
        raise OverflowError(f"value too large to convert to {kind} ({name}={value} at {calling()})")


def method_options(given, is_generator=None):
    """Checks the options of `@method(...)`. Raises AssertionError for an unknown one, as Ray; otherwise see `task_options`."""
    for name in given:
        if name not in _METHOD:
            raise AssertionError(
                f"Unexpected keyword argument to @ray.method: '{name}'. The supported keyword arguments are {list(_METHOD)} (at {calling()})"
            )
    return _check_method(given, _METHOD, is_generator)


def call_options(given, is_generator=None):
    """Checks the options of one call, `actor.method.options(...)`. Raises TypeError for an unknown one and for text as `num_returns`,
    AssertionError for a wrong type of `retry_exceptions`, as Ray; otherwise see `task_options`."""
    for name in given:
        if name not in _CALL:
            raise TypeError(
                f"ActorMethod._remote() got an unexpected keyword argument '{name}'. Valid ones are {list(_CALL)}. (at {calling()})"
            )
    if "_num_objects_per_yield" in given:
        raise ValueError(
            "_num_objects_per_yield cannot be overridden per actor method call. Use @ray.method(_num_objects_per_yield=...) instead. "
            f"(at {calling()})"
        )
    number, retried = given.get("num_returns"), given.get("retry_exceptions")
    if isinstance(number, str) and number not in ("streaming", "dynamic"):
        raise TypeError(f"an integer is required (num_returns={number!r:.80} for actor methods at {calling()})")
    if not isinstance(retried, (bool, list, tuple, type(None))):
        raise AssertionError(
            f"retry_exceptions can either be boolean or list/tuple of exception types. (at {calling()}: it is {retried!r:.80})"
        )
    checked = _check_method(given, _CALL, is_generator)
    if checked.get("tensor_transport") is not None:
        checked["tensor_transport"] = transport(checked["tensor_transport"])
    return checked


def check_num_returns(num_returns, is_generator):
    """Raises ValueError if this kind of function cannot return that number of results."""
    if isinstance(num_returns, int) and num_returns < 0:
        raise ValueError(f"num_returns must be >= 0, but got {num_returns}. (at {calling()})")
    if num_returns in ("streaming", "dynamic") and not is_generator:
        raise ValueError(
            f"num_returns='{num_returns}' can only be used with generator functions (functions that use 'yield'). "
            f"The decorated function is not a generator function. (at {calling()}: write it with `yield`, or leave num_returns out)"
        )


def merge(base, update):
    """A new dict of the options of `base`, overridden by those of `update`; both are already checked."""
    return {**base, **update}


def _check(given, table, whom):
    for name, value in given.items():
        if name not in table:
            raise ValueError(
                f"Invalid option keyword {name} for {whom}. Valid ones are {list(table)}. (at {calling()})"
            )
        _check_value(name, value, table, whom)
    return dict(given)


def _check_method(given, table, is_generator):
    for name, value in given.items():
        if name == "num_returns" and not isinstance(value, str):
            check_num_returns(value, is_generator)
        _check_value(name, value, table, "actor methods")
        if name == "num_returns" and is_generator is not None:
            check_num_returns(value, is_generator)
    return dict(given)


def _check_value(name, value, table, whom):
    try:
        _check_rule(name, value, *table[name][:2])
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({name}={value!r:.80} for {whom} at {calling()})") from None


def _check_rule(name, value, types, rule):
    plain = tuple(t for t in types if isinstance(t, type))
    if not isinstance(value, plain) and not any(
        f"{codec.module_of(base)}.{base.__qualname__}" in types for base in type(value).__mro__
    ):
        shown = "ray" if codec.named else "rayshim"
        expected = ", ".join(
            f"<class '{t.replace('rayshim', shown)}'>" if isinstance(t, str) else repr(t) for t in types
        )
        expected = f"({expected})" if len(types) > 1 else expected
        raise TypeError(f"The type of keyword '{name}' must be {expected}, but received type {type(value)}")
    message = rule(name, value)
    if message:
        raise ValueError(message)


def _check_placement(options):
    if options.get("placement_group", "default") not in ("default", None) and options.get("scheduling_strategy"):
        raise ValueError(
            "Placement groups should be specified via the scheduling_strategy option. "
            f"The placement_group option is deprecated. (at {calling()}: both are given; leave placement_group out)"
        )


def transport(name):
    """The name of a registered tensor transport. Raises ValueError for another one."""
    from rayshim.calls.direct import registry

    return registry.normalized(name)


def retries(given):
    """A number of retries as the core counts them: a negative one is without end. OverflowError for one that is too large."""
    _check_core_number("retries", given, "int")
    return _core.FOREVER if given < 0 else given


def remote_with(called, args, kwargs, options):
    """Ray's older form `_remote(args, kwargs, **options)` of a function, a class or a method."""
    return (called.options(**options) if options else called).remote(*(args or ()), **(kwargs or {}))
