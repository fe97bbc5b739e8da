"""`import ray` means rayshim, from `install()` on."""

from rayshim.session.alias import install, is_installed

__all__ = ["install", "is_installed"]
