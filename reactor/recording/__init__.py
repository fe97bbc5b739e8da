"""What the core has recorded of a run, as data, and what is computed from it. Nothing here needs a run."""
