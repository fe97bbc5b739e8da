"""`ray._private.runtime_env.packaging`: on a cluster, packs directories, uploads them, and remembers what it has uploaded.

Here it has no names. On one machine, `working_dir` and `py_modules` are used where they are. Programs import and reload the module to make Ray
forget its uploads, and there is nothing to forget.
"""
