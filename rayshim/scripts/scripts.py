"""`ray.scripts.scripts`: what programs import from the module of Ray's command line. rayshim's is rayshim.cli."""

from rayshim._private.internal_api import memory_summary

__all__ = ["memory_summary"]
