"""The driver's side of a run: it starts the run, or joins one that is there."""
