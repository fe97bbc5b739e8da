"""What Ray's libraries import of `ray._private.ray_logging`."""

import re

NUMBERS = re.compile(r"(\d+|0x[0-9a-fA-F]+)")
