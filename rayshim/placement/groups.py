"""Placement groups: resources set aside, in bundles, for the tasks and actors that name the group."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.errors.exceptions import RaySystemError, TaskPlacementGroupRemoved
from rayshim.errors.sites import at, calling
from rayshim.placement.bundles import current, offered
from rayshim.session import session
from rayshim.session.ids import PlacementGroupID, job_id

if TYPE_CHECKING:
    from rayshim.calls.refs import ObjectRef

VALID_PLACEMENT_GROUP_STRATEGIES = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"}
_STATES = {"PENDING": "PENDING", "MADE": "CREATED", "RELEASED": "REMOVED"}
_EXAMPLE = 'For example: `[{"CPU": 1.0}, {"GPU": 1.0}]`.'


class PlacementGroup:
    """A handle of a placement group; made by `placement_group`. Picklable, equal to others of the same group."""

    __module__ = "rayshim.util.placement_group"

    def __init__(self, id: Any, bundle_cache: Any = None) -> None:
        self.id = id
        self.bundle_cache = bundle_cache

    @staticmethod
    def empty() -> PlacementGroup:
        """The group that is none."""
        return PlacementGroup(PlacementGroupID.nil())

    @property
    def is_empty(self) -> bool:
        return self.id.is_nil()

    def ready(self) -> ObjectRef[bool]:
        """A ref of the group itself, done when its resources are set aside. `get` of it raises TaskPlacementGroupRemoved if the
        group is removed before."""
        if self.is_empty:
            session.ensure()
            return _core.put_recorded(self)  # pyright: ignore[reportReturnType]
        return _decided(self.id.hex(), self, TaskPlacementGroupRemoved().to_bytes(), True)  # pyright: ignore[reportReturnType]

    def wait(self, timeout_seconds: float | None = 30) -> bool:
        """Whether the group's resources are set aside within that time."""
        ref = _decided(self.id.hex(), True, False, False)
        if session.current.inline and not ref.done():
            return False  # nothing changes while this process waits
        answer = _core.get([ref], timeout_seconds)
        return answer is not None and answer[0]

    @property
    def bundle_specs(self) -> list[dict[str, float]]:
        """The list of its bundles, each {resource: amount}."""
        if not self.bundle_cache:
            self.bundle_cache = _facts(self.id.hex())[0]["bundles"]
        return self.bundle_cache

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def __eq__(self, other):
        return isinstance(other, PlacementGroup) and self.id == other.id

    def __hash__(self):
        return hash(self.id)


def placement_group(
    bundles: list[dict[str, float]],
    strategy: Any = None,
    name: str = "",
    lifetime: Any = None,
    _soft_target_node_id: Any = None,
    bundle_label_selector: Any = None,
    topology_strategy: Any = None,
) -> PlacementGroup:
    """Asks for resources to be set aside and returns the PlacementGroup at once; see `PlacementGroup.ready`.

    Arguments:
        bundles: list of {resource: amount}.
        strategy: "PACK" (default), "SPREAD", "STRICT_PACK": all the same on one machine; "STRICT_SPREAD" with several bundles
            waits for ever there.
        name: for `get_placement_group`.
        lifetime: "detached": stays when the actor that made it ends.
        the others: as in Ray; they choose among machines.

    Raises ValueError for anything malformed.
    """
    validate_placement_group(
        bundles, strategy, lifetime, _soft_target_node_id, bundle_label_selector, topology_strategy
    )
    s = session.ensure()
    strategy = strategy or (topology_strategy or {}).get("ray.io/node-id", "PACK")
    if name and _named(name, s.namespace) is not None:
        raise RaySystemError(
            f"Failed to create placement group because name '{name}' already exists. ({at('placement_group')}: give another name, remove that group first, or find it by get_placement_group('{name}'))"
        )
    bundles = [{kind: float(amount) for kind, amount in bundle.items()} for bundle in bundles]
    group = PlacementGroup(PlacementGroupID.of(job_id()), bundles)
    key = group.id.hex()
    total = {}
    for bundle in bundles:
        for kind, amount in bundle.items():
            total[kind] = total.get(kind, 0) + amount
    apart = strategy == "STRICT_SPREAD" and len(bundles) > 1
    if apart:
        warnings.warn(
            f"placement_group{f' {name!r}' if name else ''}: {len(bundles)} bundles with STRICT_SPREAD need as many machines, and there is one: it waits for ever, "
            "and what is to run in it, too. Use SPREAD",
            stacklevel=2,
        )
    facts = {
        "name": name or "",
        "namespace": s.namespace,
        "strategy": strategy,
        "bundles": bundles,
        "possible": not apart and _placed_by_labels(bundle_label_selector),
        "owner": os.getpid() if s.record and lifetime != "detached" else None,
    }
    wanted = {kind: round(amount * _core.UNIT) for kind, amount in total.items() if amount}
    names = {kind: round(amount * _core.UNIT) for kind, amount in offered(key, bundles).items()}
    if s.inline:
        s.reservations.add(key, facts, wanted, names)
        s.reservations.advance()
    else:
        s.control.ask("reserve", key, facts, wanted, names)
    return group


def _placed_by_labels(selectors):
    from rayshim.placement.strategies import selected

    return all(selected(selector, session.current.settings.get("labels", {})) for selector in selectors or [])


def remove_placement_group(placement_group: Any) -> None:
    """Ends the group: what runs in it is killed, what waits for it fails, and its resources are free again."""
    if placement_group is None:
        raise AssertionError(f"remove_placement_group: a PlacementGroup is needed, not None (at {calling()})")
    s = session.ensure()
    key = placement_group.id.hex()
    if not s.inline:
        s.control.ask("release", key)
        return
    s.reservations.release(key)
    from rayshim.placement import inline

    for made in list(s.inline_actors.values()):
        if made.facts.get("within") == key:
            inline.end(s, made.facts, f"its placement group {key} was removed.")
    s.reservations.advance()


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """The PlacementGroup of that name in this namespace. ValueError if there is none."""
    if not placement_group_name:
        raise ValueError(
            f"Please supply a non-empty value to get_placement_group ({at('get_placement_group')}: the name given to placement_group(name=))"
        )
    namespace = session.ensure().namespace
    found = _named(placement_group_name, namespace)
    if found is None:
        raise ValueError(
            f"Failed to look up placement group with name: {placement_group_name} ({at('get_placement_group')}: none of that name is in namespace {namespace!r}, or it was removed)"
        )
    return found


def _named(name, namespace):
    for key, facts, state in _table():
        if (facts["name"], facts["namespace"]) == (name, namespace) and state != "RELEASED":
            return PlacementGroup(PlacementGroupID.from_hex(key), facts["bundles"])
    return None


def get_current_placement_group() -> PlacementGroup | None:
    """The PlacementGroup that the calling task or actor is in, or None."""
    session.ensure()
    here = current()
    return here and PlacementGroup(PlacementGroupID.from_hex(here[0]))


def placement_group_table(placement_group: Any = None) -> dict[str, Any]:
    """What is known of the group as a dict, {} of an unknown one; without an argument {hex id: that} of all groups."""
    session.ensure()
    if placement_group is None:
        return {key: _entry(key, facts, state) for key, facts, state in _table()}
    for key, facts, state in _table():
        if key == placement_group.id.hex():
            return _entry(key, facts, state)
    return {}


def _entry(key, facts, state):
    node = session.current.settings["node"] if state != "PENDING" else ""
    stage = {"PENDING": "QUEUED" if facts["possible"] else "INFEASIBLE", "MADE": "FINISHED", "RELEASED": "REMOVED"}[
        state
    ]
    return {
        "placement_group_id": key,
        "name": facts["name"],
        "bundles": dict(enumerate(facts["bundles"])),
        "bundles_to_node_id": {i: node for i in range(len(facts["bundles"]))},
        "strategy": facts["strategy"],
        "state": _STATES[state],
        "stats": {
            "end_to_end_creation_latency_ms": 0.0,
            "scheduling_latency_ms": 0.0,
            "scheduling_attempt": 1,
            "highest_retry_delay_ms": 0.0,
            "scheduling_state": stage,
        },
    }


def _table():
    s = session.current
    table = s.reservations.table() if s.inline else s.control.ask("reservations")
    return [(key, facts, state) for key, facts, state in table if facts["bundles"]]


def _facts(key):
    for known, facts, state in _table():
        if known == key:
            return facts, state
    raise ValueError(
        f"there is no placement group {key} in this session (asked for at {calling()}): it belongs to an earlier init(), or was made from an id alone. Make it again"
    )


def _decided(key, made, released, is_error):
    """A ref that gets `made` or `released`."""
    s = session.ensure()
    ref, where = _core.request()
    if s.inline:
        s.reservations.when_decided(key, made, released, is_error, where)
    else:
        s.control.tell("reserved", key, made, released, is_error, where)
    return ref


def check_placement_group_index(placement_group: Any, bundle_index: int) -> None:
    """ValueError unless the group has that bundle; -1 is any."""
    if placement_group.is_empty:
        if bundle_index != -1:
            raise ValueError(
                f"If placement group is not set, the value of bundle index must be -1. (at {calling()}: placement_group_bundle_index={bundle_index})"
            )
    elif not -1 <= bundle_index < placement_group.bundle_count:
        raise ValueError(
            f"placement group bundle index {bundle_index} is invalid. Valid placement group indexes: "
            f"0-{placement_group.bundle_count} (at {calling()}: it has {placement_group.bundle_count} bundles, numbered from 0; -1 is any)"
        )


def validate_placement_group(
    bundles: list[dict[str, float]],
    strategy: Any = None,
    lifetime: Any = None,
    _soft_target_node_id: Any = None,
    bundle_label_selector: Any = None,
    topology_strategy: Any = None,
) -> None:
    """ValueError for what `placement_group` cannot take."""
    if topology_strategy is not None and strategy is not None:
        raise ValueError(
            "`strategy` and `topology_strategy` cannot both be specified. Pass node-level packing via "
            f"`topology_strategy['ray.io/node-id']`. ({at('placement_group')})"
        )
    for given in [strategy, *(topology_strategy or {}).values()]:
        if given is not None and given not in VALID_PLACEMENT_GROUP_STRATEGIES:
            raise ValueError(
                f"Invalid placement group strategy {given}. Supported strategies are: {VALID_PLACEMENT_GROUP_STRATEGIES}. ({at('placement_group')})"
            )
    if _soft_target_node_id and strategy != "STRICT_PACK":
        raise ValueError(
            f"_soft_target_node_id currently only works with STRICT_PACK but got {strategy} ({at('placement_group')})"
        )
    _validate_bundles(bundles)
    if bundle_label_selector is not None and len(bundles) != len(bundle_label_selector):
        raise ValueError(
            f"Invalid bundle label selector {bundle_label_selector}. The length of `bundle_label_selector` should equal the "
            f"length of `bundles`. ({at('placement_group')}: {len(bundle_label_selector)} selectors, {len(bundles)} bundles)"
        )
    if lifetime not in (None, "detached"):
        raise ValueError(
            f"Placement group `lifetime` argument must be either `None` or 'detached'. Got {lifetime}. ({at('placement_group')})"
        )


def _validate_bundles(bundles):
    if not isinstance(bundles, list):
        raise ValueError(f"Placement group bundles must be a list, got {type(bundles)}. ({at('placement_group')})")
    if not bundles:
        raise ValueError(
            f"Bundles must be a non-empty list of resource dictionaries. {_EXAMPLE} Got empty list instead. ({at('placement_group')})"
        )
    for bundle in bundles:
        if not isinstance(bundle, dict) or not all(
            isinstance(kind, str) and isinstance(amount, (int, float)) for kind, amount in bundle.items()
        ):
            raise ValueError(
                f"Bundles must be a non-empty list of resource dictionaries. {_EXAMPLE} ({at('placement_group')}: found {bundle!r})"
            )
        if not any(bundle.values()):
            raise ValueError(
                f"Bundles cannot be an empty dictionary or resources with only 0 values. Bundles: {bundles} ({at('placement_group')})"
            )
        if any(amount < 0 for amount in bundle.values()):
            raise ValueError(
                f"Bundles cannot have negative amounts of resources. Bundles: {bundles} ({at('placement_group')})"
            )
