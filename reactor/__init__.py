"""A deterministic multi-process runtime with shared memory: processes, channels, objects, task queues."""
