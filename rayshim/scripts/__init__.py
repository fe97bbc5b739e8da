"""`ray.scripts`."""
