"""The names of `ray._private` that frameworks import, over rayshim's own. Programs should take the public ones."""


def __getattr__(name):
    from rayshim.as_ray.alias import submodule

    return submodule(__name__, name)
