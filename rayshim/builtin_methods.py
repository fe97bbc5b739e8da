"""The methods that every actor has besides its class's own."""


def bind(instance, name):
    """The callable for method `name` of `instance`."""
    if name == "__ray_ready__":
        return lambda: True
    if name == "__ray_call__":
        return lambda function, *args, **kwargs: function(instance, *args, **kwargs)
    if name == "__ray_terminate__":
        from rayshim.actor import exit_actor

        return exit_actor
    return getattr(instance, name)
