"""Types of Ray Client, of which nothing is ever made."""


class ClientObjectRef:
    """A ref of a driver outside of its cluster."""


class ClientActorHandle:
    """A handle of a driver outside of its cluster."""
