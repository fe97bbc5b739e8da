"""The kinds of placement by name. A process imports its own."""

import os

NAMES = ("isolated", "packed", "inline")
AUTO = "auto"  # isolated or packed, see automatic.py
ROLES = "roles"  # as a file says, see roles.py


def kind(given):
    """The class for what `init(placement=)` got: a name, `packed(n)`, or the Roles of a file. `rayshim.api.arguments` has refused anything else."""
    if given == "isolated":
        from rayshim.placement.isolated import Isolated

        return Isolated
    if given == "inline":
        from rayshim.placement.inline import Inline

        return Inline
    if getattr(given, "kind", given) == ROLES:
        from rayshim.placement.by_role import ByRole

        return ByRole
    from rayshim.placement.packed import Packed

    return Packed


def is_file(given):
    """Whether what `init(placement=)` got is the path of a file of roles."""
    return isinstance(given, os.PathLike) or (isinstance(given, str) and given.endswith(".toml"))


def is_serial(given):
    """Whether everything runs in the process of the program. It is asked before `kind`, at a time when the import of a class would delay the start."""
    return given == "inline"


def in_worker(control, settings, record):
    """The Placement of a worker that was born with `record`: the facts of its actor; None, for tasks; {}, for many actors."""
    if record == {} and settings.placement == ROLES:
        from rayshim.placement.by_role import SharedWorker

        return SharedWorker(control, settings)
    if record == {}:
        from rayshim.placement.packed import PackedWorker

        return PackedWorker(control, settings)
    return kind(settings.placement)(control, settings, record)
