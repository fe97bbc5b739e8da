"""`ray._private.runtime_env.nsight`: on Ray, starts a worker under NVIDIA's profiler nsys.

Here it has no names. Workers are forked and cannot be started by another program: the option `nsight` of a runtime environment is accepted, and
has no effect. Programs that patch the text of this file find nothing to patch.
"""
