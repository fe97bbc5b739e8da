"""The message for `import rayshim.tune` and `from rayshim import tune`, which fail in a program that says `import rayshim as ray`."""

import sys

_OURS = "rayshim."


class _Telling:
    """The last finder, for what rayshim has only under the name `ray`."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(_OURS):
            return
        from rayshim.as_ray import alias, libraries

        part = name.removeprefix(_OURS)
        why = libraries.why_missing(part)
        if why is None or alias.is_installed() or not alias.is_being_imported():
            return
        # The error names the module under the name `ray`: the import system does not show an error of the very name that it looks for.
        raise ModuleNotFoundError(f"No module named {name!r}: {why}", name=f"ray.{part}")


sys.meta_path.append(_Telling())
