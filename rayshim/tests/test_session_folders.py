"""Folders of sessions of which all processes were killed at once are removed, but not those of other containers."""

import os

import pytest

from rayshim.session import folder, places

GONE = 2**22 + 1  # no process has this number: it is above Linux's largest


@pytest.mark.parametrize("own", ["", "_77"])
def test_a_session_removes_stale_folders_of_its_own_container_alone(tmp_path, monkeypatch, own):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr(places, "namespace", lambda: own)
    parent = tmp_path / os.path.basename(folder.parent_in(os.environ))
    parent.mkdir(mode=0o700)
    for namespace in ("", "_77", "_78"):
        (parent / f"session_{GONE}{namespace}").mkdir()
    folder.of_this_process()
    left = {path.name for path in parent.iterdir()}
    assert left == {f"session_{GONE}{other}" for other in {"", "_77", "_78"} - {own}} | {
        folder.name(os.getpid()).rpartition("/")[2]
    }
