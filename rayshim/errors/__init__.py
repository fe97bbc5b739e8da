"""Ray's exceptions, the texts of actor and worker deaths, tracebacks, and the test whether code is the user's."""
