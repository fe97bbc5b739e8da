"""The asynchronous deployment whose controller chooses the number of processes, environments and frames by measurement."""
