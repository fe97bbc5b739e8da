"""Algorithms in one file each, to use and to copy."""
