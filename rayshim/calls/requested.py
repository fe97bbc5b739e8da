"""The resources that a task or an actor asks for by its options."""

from rayshim.calls.options import quantities
from rayshim.errors.user_code import calling
from rayshim.resources import accelerators

# Amounts above one of these devices must be whole numbers, as in Ray.
_WHOLE_ABOVE_ONE = ("GPU",)


def task_resources(options):
    """The resources that a task holds while it runs: {resource: amount > 0}.

    One CPU if `num_cpus` is not given; as in Ray, no CPU if `num_cpus=None` is given. Raises ValueError for resources that cannot be requested.
    """
    wanted = _resources(options)
    if "num_cpus" not in options:
        wanted["CPU"] = 1
    return _nonzero(wanted)


def actor_resources(options):
    """The resources that an actor holds while it lives: {resource: amount > 0}.

    Nothing if no resource except `memory` is requested. Otherwise the requested resources, and one CPU if `num_cpus` is not given; an
    explicit `num_gpus=0` counts as a request (Ray's rule). Raises the exceptions of `task_resources`.
    """
    wanted = _resources(options)
    wanted.setdefault("CPU", 1 if wanted.keys() - {"memory", "object_store_memory"} else 0)
    return _nonzero(wanted)


def actor_placement_resources(options):
    """The resources that must be free when the actor is created; it then holds only `actor_resources`.

    An actor that requests nothing still needs a free CPU when it is created.
    """
    wanted = _resources(options)
    if wanted.keys() - {"memory", "object_store_memory"}:
        return actor_resources(options)
    return _nonzero({**wanted, "CPU": 1})


def _resources(options):
    wanted = dict(options.get("resources") or {})
    message = quantities("resources", wanted)
    if message:
        raise ValueError(f"{message} (resources={wanted!r:.80} at {calling()})")
    for resource, amount in list(wanted.items()):
        if not isinstance(resource, str):
            if amount:
                raise AttributeError(
                    f"{type(resource).__name__!r} object has no attribute 'encode' (resources={wanted!r:.80} at {calling()}: the name of a "
                    "resource must be a string)"
                )
            del wanted[resource]
        elif not resource and amount:
            raise ValueError(f"The name of a resource must not be empty (resources={wanted!r:.80} at {calling()})")
    if "memory" in wanted or "object_store_memory" in wanted:
        raise ValueError(
            f"The resources dictionary must not contain the key 'memory' or 'object_store_memory' (at {calling()}: pass them as separate options)"
        )
    for option, resource in (
        ("num_cpus", "CPU"),
        ("num_gpus", "GPU"),
        ("memory", "memory"),
        ("object_store_memory", "object_store_memory"),
    ):
        amount = options.get(option)
        if amount is not None:
            wanted[resource] = int(amount) if resource == "memory" else amount
    if options.get("accelerator_type") is not None:
        wanted[f"accelerator_type:{options['accelerator_type']}"] = 0.001
    for resource, amount in accelerators.asked(wanted).items():
        if message := accelerators.wrong(resource, amount):
            raise ValueError(f"{message} (at {calling()})")
    for resource in _WHOLE_ABOVE_ONE:
        if message := accelerators.wrong_above_one(resource, wanted.get(resource, 0)):
            raise ValueError(f"{message} (at {calling()})")
    return wanted


def _nonzero(wanted):
    return {resource: float(amount) for resource, amount in wanted.items() if amount}
