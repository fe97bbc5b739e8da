"""`ray.scripts.scripts`: the functions that programs import from the module of Ray's command line. rayshim's own command line is rayshim.cli."""

from rayshim._private.internal_api import memory_summary

__all__ = ["memory_summary"]
