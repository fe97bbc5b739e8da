"""Which actors have names."""


def list_named_actors(all_namespaces=False):
    """The names (str) of the living named actors of this namespace.

    With `all_namespaces`, those of every namespace, each as {"name": str, "namespace": str}.
    """
    from rayshim import api

    return api.list_named_actors(all_namespaces)
