"""The kinds of placement by name."""

from importlib import import_module

_KINDS = {
    "isolated": ("isolated", "Isolated"),
    "packed": ("packed", "Packed"),
    "inline": ("inline", "Inline"),
}
NAMES = tuple(_KINDS)


def kind(given):
    """The class for what `init(placement=)` got: a name, or `packed(n)`."""
    module, name = _KINDS[given if isinstance(given, str) else "packed"]
    return getattr(import_module(f"rayshim.placement.{module}"), name)


def in_worker(control, settings, record):
    """The Placement of a worker that was born with `record`: the facts of its actor; None, for tasks; {}, for many actors."""
    if record == {}:
        from rayshim.placement.packed import PackedWorker

        return PackedWorker(control, settings)
    return kind(settings["placement"])(control, settings, record)
