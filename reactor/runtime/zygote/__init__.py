"""The process that imports the heavy packages once and forks the workers."""
