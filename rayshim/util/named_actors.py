"""Which actors have names."""

from __future__ import annotations

from rayshim import api


def list_named_actors(all_namespaces: bool = False) -> list[str] | list[dict[str, str]]:
    """The names (str) of the living named actors of this namespace.

    With `all_namespaces`, those of every namespace, each as {"name": str, "namespace": str}.
    """
    return api.list_named_actors(all_namespaces)
