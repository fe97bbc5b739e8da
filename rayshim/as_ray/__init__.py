"""The module that a program gets for `import ray`: this package by an alias, modules of the installed Ray package, or real Ray.

`bin/` and `path/` hold the command `ray` and the module `ray` for programs that a program starts (commands.py).
"""
