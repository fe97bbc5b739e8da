"""The resources and the placement group that a task or actor requests, from its options and its scheduling strategy."""

from reactor import _core

from rayshim.errors.user_code import calling
from rayshim.resources.amounts import units
from rayshim.resources.bundles import capturing, within
from rayshim.session import session
from rayshim.session.ids import PlacementGroupID


class Request:
    """The request of a task or actor. `demand`: {resource: amount}; `group`: hex id of its placement group, or None; `capture`: whether tasks and
    actors that it starts are in this group, too; `part`: (hex id of the group, index of the bundle, or -1 for any), or None."""

    __slots__ = ("capture", "demand", "group", "part")

    def __init__(self, demand, group=None, capture=False, part=None):
        self.demand, self.group, self.capture, self.part = demand, group, capture, part


def resolve(options, resources, whose, at_creation=None):
    """The Request of a task or actor with these checked options and resources. `whose`: its name, for errors; `at_creation`: the resources that an
    actor needs for its creation.

    Raises ValueError for a bundle that does not exist, and for more resources than any bundle has.
    """
    group, index, capture = _group_of(options)
    if group is None:
        if index != -1:
            raise ValueError(
                f"If placement group is not set, the value of bundle index must be -1. ({whose} at {calling()}: the index is {index})"
            )
        strategy = options.get("scheduling_strategy")
        anywhere = at_creation is not None and not any(at_creation.values())
        demand = {**resources, **_labels_wanted(options, anywhere)}
        if hasattr(strategy, "node_id") and not strategy.soft:
            here = strategy.node_id == session.current.settings.node
            has = _has_now if strategy._fail_on_unavailable else _can_ever_have
            if not here or not has(demand):
                return Request({}, _nowhere(session.current))
        return Request(demand)
    if group.is_empty:
        if index != -1:
            raise ValueError(
                f"If placement group is not set, the value of bundle index must be -1. ({whose} at {calling()}: the index is {index})"
            )
        return Request(resources)
    _check_bundles(group, index, resources, whose, at_creation or resources)
    key = group.id.hex()
    return Request(within(key, int(index), resources), key, capture, (key, int(index)))


def _can_ever_have(demand):
    """Whether this machine has as much in all."""
    return all(amount <= _core.resource(kind).total / _core.UNIT for kind, amount in demand.items())


def _has_now(demand):
    """Whether this machine has as much that nobody uses."""
    return all(amount <= _core.resource(kind).free / _core.UNIT for kind, amount in demand.items())


def _group_of(options):
    """(PlacementGroup or None, bundle index, whether it captures child tasks) from the options, or else from the caller."""
    strategy = options.get("scheduling_strategy")
    if strategy is None:
        group = options.get("placement_group", "default")
        index, capture = (
            options.get("placement_group_bundle_index", -1),
            options.get("placement_group_capture_child_tasks"),
        )
        if group == "default":
            captured = capturing()
            group = captured and _by_id(captured)
    elif hasattr(strategy, "placement_group_bundle_index"):
        group, index = strategy.placement_group, strategy.placement_group_bundle_index
        capture = strategy.placement_group_capture_child_tasks
    else:
        return None, -1, False
    if group is not None and not hasattr(type(group), "bundle_specs"):
        raise AssertionError(f"a PlacementGroup is needed, not {group!r} (at {calling()})")
    if capture is None:
        capture = capturing() is not None
    return group, index, bool(capture)


def _by_id(key):
    from rayshim.resources.groups import PlacementGroup

    return PlacementGroup(PlacementGroupID.from_hex(key))


def _check_bundles(group, index, resources, whose, at_creation):
    from rayshim.resources.groups import check_placement_group_index, known

    known(group)
    check_placement_group_index(group, index)
    bundles = group.bundle_specs
    if not _fits(resources, bundles):
        asked = {kind: int(amount) if amount == int(amount) else amount for kind, amount in resources.items()}
        raise ValueError(
            f"Cannot schedule {whose} with the placement group because the resource request {asked} cannot fit into any bundles "
            f"for the placement group, {bundles}. (at {calling()})"
        )
    if not _fits(at_creation, bundles):
        cpus = at_creation.get("CPU", 0)
        raise ValueError(
            f"Cannot schedule {whose} with the placement group because the actor requires {int(cpus) if cpus == int(cpus) else cpus} CPU for creation, but it "
            f"cannot fit into any bundles for the placement group, {bundles}. Consider creating a placement group with CPU resources. "
            f"(at {calling()}: or give the actor num_cpus=0)"
        )


def _fits(resources, bundles):
    """Whether one of the bundles has these resources."""
    return any(all(bundle.get(kind, 0) >= amount for kind, amount in resources.items()) for bundle in bundles)


def refused(why):
    """The Request of a task or an actor that never starts: `get` of its results raises the error that `refusal` in errors/death_texts.py makes of `why`."""
    return Request({}, _removed(session.current, why))


def _nowhere(s):
    """NOWHERE, reserved: what asks for a node that is not there is refused as what is in it."""
    from rayshim.errors.death_texts import NOWHERE

    return _removed(s, NOWHERE)


def _removed(s, key):
    """`key`, reserved and released: as in a placement group that was removed, nothing starts there."""
    facts = {"kind": "placement group", "possible": False, "bundles": None}
    if key not in s.reserved:
        s.placement.reserve(key, facts, {}, {})
        s.placement.release(key)
        s.reserved.add(key)
    return key


def _labels_wanted(options, anywhere):
    """The demand of a task for a node with other labels: a resource that no node has, so that the task waits. {} if this machine has the labels.
    `anywhere`: an actor without resources, for which Ray takes any node, whatever its NodeLabelSchedulingStrategy says."""
    strategy, selector = options.get("scheduling_strategy"), options.get("label_selector")
    labels = session.current.settings.labels
    if selector:
        from rayshim.resources.strategies import selected

        choices = [selector, *(choice.get("label_selector", {}) for choice in options.get("fallback_strategy") or [])]
        if not any(selected(choice, labels) for choice in choices):
            return {f"a node with labels {selector}": 1}
    if hasattr(strategy, "hard") and not anywhere and not all(expression.holds(labels) for expression in strategy.hard):
        return {f"a node with labels {[str(expression) for expression in strategy.hard]}": 1}
    return {}


def number(s, resources, group=None, setting=None, whose="a task"):
    """The number of the resource demand {name: amount} in the session `s`, for tasks whose workers have this `setting`. `group`: key of the placement group
    that offers the resources, or None; `whose`: name of the task, for the warning about missing resources."""
    key = (group, frozenset(resources.items()), setting)
    found = s.demands.get(key)
    if found is None:
        fixed = {name: units(amount) for name, amount in resources.items()}
        if group is None and setting is None and (not fixed or fixed == {"CPU": _core.UNIT}):
            found = _core.ONE_CPU if fixed else _core.NOTHING
        else:
            found = s.placement.demand(whose, fixed, group, setting)
        s.demands[key] = found
    return found
