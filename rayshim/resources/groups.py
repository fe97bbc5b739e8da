"""Placement groups: reserved resources, in bundles, for the tasks and actors of the group."""

from __future__ import annotations

import hashlib
import warnings
from typing import TYPE_CHECKING, Any, Literal

from reactor import _core

from rayshim.errors.exceptions import RaySystemError, TaskPlacementGroupRemoved
from rayshim.errors.user_code import at, calling
from rayshim.resources import accelerators
from rayshim.resources.amounts import units
from rayshim.resources.bundles import current, offered
from rayshim.resources.group_checks import VALID_PLACEMENT_GROUP_STRATEGIES as VALID_PLACEMENT_GROUP_STRATEGIES  # noqa: PLC0414
from rayshim.resources.group_checks import validate_placement_group
from rayshim.session import session
from rayshim.session.ids import PlacementGroupID, job_id

if TYPE_CHECKING:
    from rayshim.calls.refs import ObjectRef

_STATES = {"PENDING": "PENDING", "MADE": "CREATED", "RELEASED": "REMOVED"}


class PlacementGroup:
    """A handle of a placement group, made by `placement_group`. It can be pickled; handles of the same group are equal."""

    __module__ = "rayshim.util.placement_group"

    def __init__(self, id: PlacementGroupID, bundle_cache: list[dict[str, float]] | None = None) -> None:
        self.id = id
        self.bundle_cache: list[dict[str, float]] | None = bundle_cache

    @staticmethod
    def empty() -> PlacementGroup:
        """The handle of no group."""
        return PlacementGroup(PlacementGroupID.nil())

    @property
    def is_empty(self) -> bool:
        return self.id.is_nil()

    def ready(self) -> ObjectRef[bool]:
        """A ref that is done when the resources of the group are reserved; its value is the group. `get` raises TaskPlacementGroupRemoved if the
        group is removed before."""
        if self.is_empty:
            session.ensure()
            return _core.put_recorded(self)  # pyright: ignore[reportReturnType]
        return _decided(self.id.hex(), self, TaskPlacementGroupRemoved().to_bytes(), True)  # pyright: ignore[reportReturnType]

    def wait(self, timeout_seconds: float | None = 30) -> bool:
        """Waits until the resources of the group are reserved, at most `timeout_seconds`. Returns whether they are."""
        if not isinstance(timeout_seconds, (int, float)):
            raise TypeError(f"an integer is required ({at('wait')}: timeout_seconds is {timeout_seconds!r})")
        session.ensure()
        if self.is_empty:
            return False
        state = _facts(self.id.hex())[1]
        if state == "RELEASED":
            raise Exception(  # noqa: TRY002  Ray's
                f"Placement group {self.id!r} does not exist. ({at('wait')}: it was removed)"
            )
        if timeout_seconds <= 0:
            return timeout_seconds == 0 and state == "MADE"
        ref = _decided(self.id.hex(), True, False, False)
        if not session.current.placement.runs_in_parallel and not ref.done():
            return False
        answer = _core.get([ref], timeout_seconds)
        return answer is not None and answer[0]

    @property
    def bundle_specs(self) -> list[dict[str, float]]:
        """The bundles of the group, a list of {resource: amount}."""
        if not self.bundle_cache:
            if self.is_empty:
                raise KeyError("bundles")  # as Ray, of the group that is none
            self.bundle_cache = _facts(self.id.hex())[0]["bundles"]
        return self.bundle_cache  # pyright: ignore[reportReturnType]  it is there by now

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementGroup) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


def _new_id(s):
    """The id of a new group. With a seed, the driver's groups have the same ids in each run, and so the same order in sets."""
    if s.driver is None or s.settings.seed is None:
        return PlacementGroupID.of(job_id())
    own = hashlib.sha256(f"{s.settings.seed}/placement group {next(s.groups_made)}".encode()).digest()
    return PlacementGroupID(own[: PlacementGroupID.SIZE - len(job_id().binary())] + job_id().binary())


def placement_group(
    bundles: list[dict[str, float]],
    strategy: str | None = None,
    name: str = "",
    lifetime: Literal["detached"] | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: list[dict[str, str]] | None = None,
    topology_strategy: dict[str, str] | None = None,
) -> PlacementGroup:
    """Requests the reservation of resources, and returns a PlacementGroup at once; see `PlacementGroup.ready`.

    Arguments:
        bundles: list of {resource: amount}.
        strategy: "PACK" (default), "SPREAD" and "STRICT_PACK" mean the same on one machine. "STRICT_SPREAD" with several bundles waits for ever,
            because it needs several machines.
        name: name for `get_placement_group`.
        lifetime: "detached": the group stays when the driver that created it ends.
        other arguments: see Ray; they choose among machines.

    Raises ValueError for wrong arguments.
    """
    s = session.ensure()
    validate_placement_group(
        bundles, strategy, lifetime, _soft_target_node_id, bundle_label_selector, topology_strategy
    )
    if not isinstance(name, str):
        raise TypeError(f"expected bytes, {type(name).__name__} found ({at('placement_group')}: name must be a string)")
    strategy = strategy or (topology_strategy or {}).get("ray.io/node-id", "PACK")
    if name and _named(name, s.namespace) is not None:
        raise RaySystemError(
            f"Failed to create placement group '{_named(name, s.namespace).id.hex()}' because name '{name}' already exists. ({at('placement_group')}: give another name, remove that group first, or find it by get_placement_group('{name}'))"
        )
    bundles = [{kind: float(amount) for kind, amount in bundle.items()} for bundle in bundles]
    group = PlacementGroup(_new_id(s), bundles)
    key = group.id.hex()
    total = {}
    for bundle in bundles:
        for kind, amount in bundle.items():
            total[kind] = total.get(kind, 0) + units(amount)
    apart = strategy == "STRICT_SPREAD" and len(bundles) > 1
    if apart:
        warnings.warn(
            f"placement_group{f' {name!r}' if name else ''}: {len(bundles)} bundles with STRICT_SPREAD need {len(bundles)} machines, but there is only one: the group "
            "and everything that runs in it will wait for ever. Use SPREAD",
            stacklevel=2,
        )
    facts = {
        "kind": "placement group",
        "name": name or "",
        "namespace": s.namespace,
        "strategy": strategy,
        "bundles": bundles,
        "possible": not apart and _placed_by_labels(bundle_label_selector),
        "scope": s.settings.scope,
        "detached": lifetime == "detached",
        "devices": [accelerators.devices(bundle) for bundle in bundles],
    }
    wanted = {kind: amount for kind, amount in total.items() if amount}
    s.placement.reserve(key, facts, wanted, offered(key, bundles))
    s.groups.add(key)
    return group


def _placed_by_labels(selectors):
    from rayshim.resources.strategies import selected

    return all(selected(selector, session.current.settings.labels) for selector in selectors or [])


def remove_placement_group(placement_group: PlacementGroup) -> None:
    """Removes the group: kills the tasks and actors that run in it, fails those that wait for it, and frees its resources."""
    if placement_group is None:
        raise AssertionError(f"remove_placement_group: a PlacementGroup is needed, not None (at {calling()})")
    session.ensure().placement.release(placement_group.id.hex())


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """The PlacementGroup of that name in this namespace. Raises ValueError if there is none."""
    if not placement_group_name:
        raise ValueError(
            f"Please supply a non-empty value to get_placement_group ({at('get_placement_group')}: the name given to placement_group(name=))"
        )
    if not isinstance(placement_group_name, str):
        raise TypeError(
            f"expected bytes, {type(placement_group_name).__name__} found ({at('get_placement_group')}: the name must be a string)"
        )
    namespace = session.ensure().namespace
    found = _named(placement_group_name, namespace)
    if found is None:
        raise ValueError(
            f"Failed to look up placement group with name: {placement_group_name} ({at('get_placement_group')}: none of that name is in namespace {namespace!r}, or it was removed)"
        )
    return found


def _named(name, namespace):
    for key, facts, state, _ in _table():
        if (facts["name"], facts["namespace"]) == (name, namespace) and state != "RELEASED":
            return PlacementGroup(PlacementGroupID.from_hex(key), facts["bundles"])
    return None


def get_current_placement_group() -> PlacementGroup | None:
    """The PlacementGroup of the calling task or actor, or None."""
    session.ensure()
    group, _ = current() or (None, False)
    return None if group is None else PlacementGroup(PlacementGroupID.from_hex(group))


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """The facts of the group as a dict, {} for an unknown group; without an argument, {hex id: facts} of all groups."""
    session.ensure()
    if placement_group is None:
        return {key: _entry(key, *more) for key, *more in _table()}
    return next((_entry(*facts) for facts in _table(placement_group.id.hex())), {})


def _entry(key, facts, state, history):
    attempts, ready_after, attempt_took = history
    node = session.current.settings.node if state != "PENDING" else ""
    stage = {
        "PENDING": "NO_RESOURCES" if facts["possible"] and _would_fit(facts["bundles"]) else "INFEASIBLE",
        "MADE": "FINISHED",
        "RELEASED": "REMOVED",
    }[state]
    return {
        "placement_group_id": key,
        "name": facts["name"],
        "bundles": {i: {k: v for k, v in bundle.items() if v} for i, bundle in enumerate(facts["bundles"])},
        "bundles_to_node_id": {i: node for i in range(len(facts["bundles"]))},
        "strategy": facts["strategy"],
        "state": _STATES[state],
        "stats": {
            "end_to_end_creation_latency_ms": ready_after * 1000,
            "scheduling_latency_ms": attempt_took * 1000,
            "scheduling_attempt": max(attempts, 1),  # a group that no machine can hold counts as tried, as on Ray
            "highest_retry_delay_ms": 0.0,  # an attempt follows at once when resources become free
            "scheduling_state": stage,
        },
    }


def _would_fit(bundles):
    """Whether each of the bundles is no more than the whole machine has."""
    return all(_core.resource(kind).total >= units(amount) for bundle in bundles for kind, amount in bundle.items())


def _table(key=None):
    return [
        (key, facts, *more) for key, facts, *more in session.current.placement.reservations(key) if facts["bundles"]
    ]


def _facts(key):
    for _, facts, state, _ in _table(key):
        return facts, state
    raise ValueError(
        f"there is no placement group {key} in this session (asked for at {calling()}): it belongs to an earlier init(), or was created from an id alone. Create it again"
    )


def known(group):
    """Raises ValueError for a group that this session does not know."""
    s = session.current
    key = group.id.hex()
    if key not in s.groups:
        _facts(key)
        s.groups.add(key)


def _decided(key, reserved, released, is_error):
    """A ref that gets `reserved` or `released`."""
    s = session.ensure()
    ref, where = _core.request(True)
    s.placement.when_decided(key, reserved, released, is_error, where)
    return ref


def check_placement_group_index(placement_group: PlacementGroup, bundle_index: int) -> None:
    """Raises ValueError if the group does not have that bundle; -1 means any bundle."""
    if placement_group is None:
        raise AssertionError(f"a PlacementGroup is needed, not None (at {calling()})")
    if placement_group.is_empty:
        if bundle_index != -1:
            raise ValueError(
                f"If placement group is not set, the value of bundle index must be -1. (at {calling()}: placement_group_bundle_index={bundle_index})"
            )
    elif bundle_index >= placement_group.bundle_count or bundle_index < -1:
        raise ValueError(
            f"placement group bundle index {bundle_index} is invalid. Valid placement group indexes: "
            f"0-{placement_group.bundle_count} (at {calling()}: it has {placement_group.bundle_count} bundles, numbered from 0; -1 is any)"
        )
