"""What is told of an actor to those who call it after its death."""

from rayshim.session.ids import actor_id


def public(facts):
    """What of an actor's facts is told in the reason of its death, with its `id` in hex."""
    return {**{k: v for k, v in facts.items() if k not in ("preload", "info")}, "id": actor_id(facts["number"]).hex()}
