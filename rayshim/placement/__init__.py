"""Where tasks and actors run: the interface of placement and its kinds, demands, placement groups."""
