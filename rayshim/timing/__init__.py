"""Timing files: the durations by which `init(ordering="timed")` orders a program (reactor/native/timed/table.h)."""
