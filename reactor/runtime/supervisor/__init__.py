"""The supervisor, a part of the zygote's process: it starts workers, serves requests, settles deaths, and admits drivers from outside."""
