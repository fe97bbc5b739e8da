"""`ray.experimental.state`: the former place of `ray.util.state`."""
