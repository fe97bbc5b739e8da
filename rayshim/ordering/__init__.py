"""The cost of serial order, the change to arrival order, and the reports when nothing moves."""
