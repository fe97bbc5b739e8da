"""Headers of the native core include headers of their own folder and of those below; a source file may include any header."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1] / "native"

# From top to bottom.
FOLDERS = (
    *("bindings", "worker", "supervise", "inbox", "calls", "record", "codec", "store", "types", "process"),
    *("timed", "order", "channels", "objects", "sync", "memory", "python"),
)


def includes(root):
    """{(header, header that it includes)}, as paths in `root`; those of the same folder are left out."""
    return {
        (path.relative_to(root).as_posix(), name)
        for path in root.rglob("*.h")
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
        if _folder(name) != _folder(path.relative_to(root).as_posix())
    }


def _folder(header):
    return header.rpartition("/")[0]


def upward(root):
    return {
        (header, name)
        for header, name in includes(root)
        if FOLDERS.index(_folder(name)) < FOLDERS.index(_folder(header))
    }


def test_headers_include_downwards():
    assert upward(ROOT) == set()


def test_each_folder_has_its_layer():
    assert {path.name for path in ROOT.iterdir() if path.is_dir()} == set(FOLDERS)
    assert not list(ROOT.glob("*.h"))


def test_it_sees_what_is_wrong(tmp_path):
    for name, text in {
        "memory/heap.h": '#include "memory/layout.h"\n#include "calls/calls.h"\n',
        "calls/calls.h": '#include "process/context.h"\n#include <vector>\n',
        "process/context.h": '#include "calls/calls.h"\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert upward(tmp_path) == {("memory/heap.h", "calls/calls.h"), ("process/context.h", "calls/calls.h")}
