"""Modules that the core and the libraries of Ray share; they come from Ray's package."""


def __getattr__(name):
    from rayshim.as_ray.alias import submodule

    return submodule(__name__, name)
