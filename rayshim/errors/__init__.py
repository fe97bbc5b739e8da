"""Ray's exceptions, what is told of a death, and which code is the user's."""
