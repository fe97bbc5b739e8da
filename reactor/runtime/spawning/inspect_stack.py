"""Makes `inspect.stack()` cheap in a program that this package has started.

For a frame whose file is of no module, `inspect` looks through all modules, four times per call: 20 ms where a thousand are imported. The frames
beneath a program are such frames.
"""

import inspect

#: The files of the frames of `python -c` and `python -m`.
_FILES = "<string>", "<frozen runpy>"


def skip_module_search(*more):
    """Makes `inspect` say at once that no module is of one of these files, or of those in `more`, which it would also say after the search."""
    found = getattr(inspect, "modulesbyfile", {})
    for name in (*_FILES, *more):
        found.setdefault(name, "")  # of which `sys.modules` has none
