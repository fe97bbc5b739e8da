"""Modules that stand for internals of Ray, for the libraries of the installed Ray package (see rayshim.as_ray.libraries). They only translate: what a core must do is done in the core."""
