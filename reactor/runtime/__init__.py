"""The runtime's three kinds of processes: driver, zygote (which is also the supervisor), worker."""
