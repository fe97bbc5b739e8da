"""The three kinds of processes of the runtime: driver, zygote (which is also the supervisor), worker."""
