"""The files that a program names in `files`. `lfc` copies them beside the program that it makes. Here, a temporary folder has links to them. When the
program ends, the folder is removed, unless the program has written files into it."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile

from reactor.lf.errors import LFError
from reactor.lf.files import package_directory

# When its input ends, the process that made the folder has ended. What the program wrote there stays.
_GUARD = 'read _; find "$0" -maxdepth 1 -type l -delete; rm -rf "$0/__pycache__"; rmdir "$0"'


def supporting_files(file):
    """The paths of what a File names in `files`.

    Raises:
        LFError: there is no such file.
    """
    wanted = file.properties.get("files", ())
    return [_found(file, name) for name in ([wanted] if isinstance(wanted, str) else wanted)]


def _found(file, name):
    elsewhere = [
        folder
        for variable in ("LF_CLASSPATH", "CLASSPATH")
        for folder in os.environ.get(variable, "").split(os.pathsep)
    ]
    folders = [os.path.dirname(file.path), package_directory(file.path), *filter(None, elsewhere)]
    inside = [os.path.join(folder, name.lstrip("/")) for folder in folders]
    for path in [name, *inside] if os.path.isabs(name) else inside:
        if os.path.exists(path):
            return os.path.normpath(path)
    message = f"there is no {name}: looked in {', '.join(dict.fromkeys(folders))}"
    raise LFError(message, file.path, file.text, *file.places["files"])


def folder_of(paths, main):
    """A folder in which all of `paths` are, by their own names: that of the file `main`, if they lie there, else a new one."""
    home = os.path.dirname(main)
    if all(os.path.dirname(path) == home for path in paths):
        return home
    folder = tempfile.mkdtemp(prefix="reactor-")
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    atexit.register(_remove, folder, guard)
    for name, path in {os.path.basename(path): path for path in paths}.items():
        os.symlink(path, os.path.join(folder, name))
    return folder


def _remove(folder, guard):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path):
            os.unlink(path)
    shutil.rmtree(os.path.join(folder, "__pycache__"), ignore_errors=True)
    if os.listdir(folder):
        print(f"The program has left files in {folder}", file=sys.stderr)
    guard.communicate()
