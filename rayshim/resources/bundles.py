"""The resources of a placement group, under the names by which tasks and actors request them, and the caller's placement group."""

from reactor import _core

from rayshim.resources.amounts import units
from rayshim.session import session

MARKER = "bundle"  # the resource of a placement group that everything in it asks for, whatever else it needs
_MARKERS, _MARK = 1000.0, 0.001  # of it in a bundle, and in a demand


def within(key, index, resources):
    """These resources under their names in the group's bundle `index` (-1: any bundle)."""
    named = {}
    for kind, amount in {**resources, MARKER: _MARK}.items():
        named[f"{kind}_group_{key}"] = amount
        if index >= 0:
            named[f"{kind}_group_{index}_{key}"] = amount
    return named


def offered(key, bundles):
    """All resources that a group with these bundles offers: {name: units of it}."""
    names = {}
    for index, bundle in enumerate(bundles):
        for name, amount in within(key, index, {kind: amount for kind, amount in bundle.items() if amount}).items():
            names[name] = names.get(name, 0) + units(_MARKERS if name.startswith(MARKER + "_group_") else amount)
    return names


def plain(demand):
    """A demand under the machine's names for its resources."""
    found = {}
    for name, amount in demand.items():
        kind, group, place = name.partition("_group_")
        if not group:
            found[name] = amount
        elif kind != MARKER and "_" not in place:
            found[kind] = amount
    return found


def current():
    """(hex id, capture) of the placement group that the caller runs in, or None."""
    s = session.current
    if s is None:
        return None
    facts = s.record
    if facts:
        return facts.get("group")
    if s.group is None:
        return None
    call, group = s.group
    return group if call == _core.running_uid() else None


def capturing():
    """The hex id of the placement group for tasks and actors that the caller starts, or None."""
    group, capture = current() or (None, False)
    return group if capture else None
