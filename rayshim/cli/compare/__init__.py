"""Runs of programs compared: processes that are started, watched and measured from outside (Linux)."""
