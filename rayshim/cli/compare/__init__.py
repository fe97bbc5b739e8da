"""`rayshim compare`: starts programs as processes, and measures them from outside (Linux)."""
