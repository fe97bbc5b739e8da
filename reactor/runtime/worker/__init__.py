"""A worker, from the fork to its end, and what actors that share a worker have of their own."""
