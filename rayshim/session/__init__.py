"""The session of this process: its state, ids, versions, environment, GPUs, and the name `ray`."""
