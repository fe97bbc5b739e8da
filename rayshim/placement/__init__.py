"""Where tasks and actors run: their demands, placement groups, and the placements packed and inline."""
