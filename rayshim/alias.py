"""`rayshim.alias.install()` makes `import ray` give rayshim."""

from rayshim.as_ray.alias import install, is_installed

__all__ = ["install", "is_installed"]
