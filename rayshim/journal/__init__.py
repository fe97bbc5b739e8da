"""Journals: recording a run, replaying it, and comparing two recorded runs."""
