"""Runtime environments: checks, archives, the keys by which workers are compared, and how a worker enters one."""
