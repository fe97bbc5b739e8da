"""Processes of the operating system: what /proc says of them, their descendants, forked children, numbers of threads."""
