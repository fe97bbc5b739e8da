"""`ray._private.runtime_env`."""
