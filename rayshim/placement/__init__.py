"""Placement of tasks and actors: resource demands, placement groups, and the placements packed and inline."""
