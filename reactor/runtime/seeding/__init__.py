"""The random state of workers and actors."""
