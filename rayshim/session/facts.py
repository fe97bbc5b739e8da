"""The facts of an actor that callers get after its death."""

from rayshim.session.ids import actor_id


def public(facts):
    """The facts of an actor for the reason of its death, with its `id` in hex."""
    return {**{k: v for k, v in facts.items() if k not in ("preload", "info")}, "id": actor_id(facts["tag_hash"]).hex()}
