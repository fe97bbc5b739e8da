"""Checks of the arguments of `placement_group`, and the errors for invalid ones."""

from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.user_code import at
from rayshim.resources import labels
from rayshim.session.ids import NodeID

VALID_PLACEMENT_GROUP_STRATEGIES = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"}
_EXAMPLE = 'For example: `[{"CPU": 1.0}, {"GPU": 1.0}]`.'
_NODE = "ray.io/node-id"


def validate_placement_group(
    bundles: list[dict[str, float]],
    strategy: str | None = None,
    lifetime: str | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: list[dict[str, str]] | None = None,
    topology_strategy: dict[str, str] | None = None,
) -> None:
    """Raises ValueError for arguments that `placement_group` does not accept."""
    if topology_strategy is not None and strategy is not None:
        raise ValueError(
            "`strategy` and `topology_strategy` cannot both be specified. Pass node-level packing via "
            f"`topology_strategy['ray.io/node-id']`. ({at('placement_group')})"
        )
    if strategy is not None and strategy not in VALID_PLACEMENT_GROUP_STRATEGIES:
        raise ValueError(
            f"Invalid placement group strategy {strategy}. Supported strategies are: {VALID_PLACEMENT_GROUP_STRATEGIES}. ({at('placement_group')})"
        )
    if topology_strategy is not None:
        _validate_topology(topology_strategy)
    strategy = strategy or (topology_strategy or {}).get(_NODE, "PACK")
    if _soft_target_node_id and strategy != "STRICT_PACK":
        raise ValueError(
            f"_soft_target_node_id currently only works with STRICT_PACK but got {strategy} ({at('placement_group')})"
        )
    if _soft_target_node_id and NodeID.from_hex(_soft_target_node_id).is_nil():
        raise ValueError(
            f"Invalid hex ID of _soft_target_node_id, got {_soft_target_node_id} ({at('placement_group')}: nodes() has the ids)"
        )
    _validate_bundles(bundles)
    if bundle_label_selector is not None and len(bundles) != len(bundle_label_selector):
        raise ValueError(
            f"Invalid bundle label selector {bundle_label_selector}. The length of `bundle_label_selector` should equal the "
            f"length of `bundles`. ({at('placement_group')}: {len(bundle_label_selector)} selectors, {len(bundles)} bundles)"
        )
    if bundle_label_selector is not None:
        _validate_selectors(bundle_label_selector)
    if lifetime not in (None, "detached"):
        raise ValueError(
            f"Placement group `lifetime` argument must be either `None` or 'detached'. Got {lifetime}. ({at('placement_group')})"
        )


def _validate_topology(given):
    if not isinstance(given, dict):
        raise ValueError(f"`topology_strategy` must be a dict, got {type(given).__name__}. ({at('placement_group')})")
    if len(given) > 2:
        raise ValueError(
            f"`topology_strategy` must contain 0, 1, or 2 entries: `{_NODE}` plus an optional topology label. Got {len(given)} entries. "
            f"({at('placement_group')})"
        )
    for label, strategy in given.items():
        if not isinstance(label, str) or not label:
            raise ValueError(
                f"`topology_strategy` keys must be non-empty strings, got {label!r}. ({at('placement_group')})"
            )
        if strategy not in VALID_PLACEMENT_GROUP_STRATEGIES:
            raise ValueError(
                f"Invalid topology strategy {strategy!r} for label {label!r}. Supported strategies are: {VALID_PLACEMENT_GROUP_STRATEGIES}. "
                f"({at('placement_group')})"
            )
        if label != _NODE and strategy != "STRICT_PACK":
            raise ValueError(
                f"Topology strategy '{strategy}' for label '{label}' is not supported yet; only 'STRICT_PACK' is supported for topology "
                f"labels other than `{_NODE}` for now. ({at('placement_group')})"
            )
    others = [label for label in given if label != _NODE]
    if len(others) > 1:
        raise ValueError(
            f"`topology_strategy` currently supports at most one topology label other than `{_NODE}`. Got {others}. ({at('placement_group')})"
        )


def _validate_selectors(given):
    if not isinstance(given, list):
        raise ValueError(
            f"Placement group bundle_label_selector must be a list, got {type(given)}. ({at('placement_group')})"
        )
    for selector in given:
        if not isinstance(selector, dict) or not all(
            isinstance(text, str) for pair in selector.items() for text in pair
        ):
            raise ValueError(
                "Bundle label selector must be a list of string dictionary label selectors. For example: "
                f'`[{{ray.io/market_type": "spot"}}, {{"ray.io/accelerator-type": "A100"}}]`. ({at("placement_group")}: found {selector!r})'
            )
        if wrong := labels.wrong_selector(selector):
            raise ValueError(
                f"Invalid label selector provided in bundle_label_selector list. Detailed error: '{wrong}' ({at('placement_group')})"
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
        if "bundle" in bundle:
            raise RaySystemError(
                f"bundle is a system reserved resource, which is not allowed to be used in placement group. ({at('placement_group')})"
            )
        if bundle.get(""):
            raise ValueError(f"The name of a resource must not be empty. Bundles: {bundles} ({at('placement_group')})")
        if any(amount < 0 for amount in bundle.values()):
            raise ValueError(
                f"Bundles cannot have negative amounts of resources. Bundles: {bundles} ({at('placement_group')})"
            )
