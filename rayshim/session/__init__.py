"""The session: what this process knows of its run, and the names and numbers of a run."""
