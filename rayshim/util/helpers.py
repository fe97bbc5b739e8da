"""`ray.util.helpers`."""

from rayshim.util.unordered import as_completed, map_unordered

__all__ = ["as_completed", "map_unordered"]
