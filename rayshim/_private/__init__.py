"""The names of `ray._private` that frameworks import, over rayshim's own. Programs should take the public ones."""
