"""The file that `__main__.__file__` and `sys.argv[0]` name in a worker, as on Ray. Processes of `multiprocessing` that a worker spawns run it as their
main module, so it does nothing."""
