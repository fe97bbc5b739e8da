"""Deterministic multi-process runtime over shared memory: processes, channels, objects, task queues."""
