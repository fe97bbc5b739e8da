"""Files and what they import: every reactor class that a program can name."""

import os

from reactor.lf.checking import check_file, is_main
from reactor.lf.errors import LFError, at
from reactor.lf.parsing import parse

_PACKAGES = (os.path.join("build", "lfc_include"), "lf-packages", os.path.join("target", "lfc_include"))


class Files:
    """The files of a program.

    Attributes:
        main: the File that was asked for.
        order: all files, each after those that it imports.
    """

    def __init__(self, path):
        self._by_path, self._names, self.order = {}, {}, []
        self.main = self._read(os.path.abspath(path), None)

    def reactor(self, file, name, node):
        """The Reactor that `name` stands for in `file`."""
        found = self._names[file.path].get(name)
        if found is None:
            known = ", ".join(sorted(filter(None, self._names[file.path]))) or "none"
            raise at(node, f"no reactor {name} is declared or imported here; there are {known}")
        if is_main(found):
            raise at(node, f"{name} is a main reactor: it can be neither contained nor extended")
        return found

    def _read(self, path, node):
        if path in self._by_path:
            return self._by_path[path]
        try:
            with open(path, encoding="utf-8") as source:
                text = source.read()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else f"it is not valid UTF-8 ({error.reason})"
            message = f"cannot read {path}: {reason}"
            raise (at(node, message) if node else LFError(message, path)) from None
        file = self._by_path[path] = parse(path, text)
        if node and file.target != "Python":
            raise at(node, f"{path} has target {file.target}: only files with target Python can be imported")
        check_file(file)
        names = self._names[path] = {reactor.name: reactor for reactor in file.reactors}
        for wanted in file.imports:
            for alias, name in wanted.names.items():
                other = self._read(_located(wanted, name, path), wanted)
                if name not in self._names[other.path]:
                    raise at(wanted, f"{other.path} declares no reactor {name}")
                names[alias] = self._names[other.path][name]
        self.order.append(file)
        return file


def _located(wanted, name, path):
    folder = os.path.dirname(path)
    if not wanted.package:
        return os.path.normpath(os.path.join(folder, wanted.path))
    package, _, inner = wanted.path.strip("/").partition("/")
    if not inner.endswith(".lf"):
        inner = os.path.join(inner, f"{name}.lf")
    for packages in _package_folders(folder):
        found = os.path.join(packages, package, "src", "lib", inner)
        if os.path.exists(found):
            return found
    places = ", ".join(os.path.join(folder, package, "src", "lib", inner) for folder in (*_PACKAGES, "$LF_PACKAGES"))
    raise at(wanted, f"package {package} is not installed: looked in this folder and those above it for {places}")


def _package_folders(folder):
    """The folders that packages can lie in, for a file in `folder`."""
    while True:
        yield from (os.path.join(folder, packages) for packages in _PACKAGES)
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    if "LF_PACKAGES" in os.environ:
        yield os.environ["LF_PACKAGES"]


def package_directory(path):
    """The folder that holds `src`, for a file below it; else the file's own folder."""
    parts = os.path.dirname(path).split(os.sep)
    return os.sep.join(parts[: len(parts) - parts[::-1].index("src") - 1]) if "src" in parts else os.path.dirname(path)
