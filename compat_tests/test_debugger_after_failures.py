"""RAY_DEBUG_POST_MORTEM asks for a debugger where a task fails. Libraries ask whether it does."""

import importlib

import pytest


@pytest.mark.parametrize("value, enabled", [("1", True), ("0", False), ("true", False), ("", False), (None, False)])
def test_the_variable_is_read_at_each_question(backend, monkeypatch, value, enabled):
    if value is None:
        monkeypatch.delenv("RAY_DEBUG_POST_MORTEM", raising=False)
    else:
        monkeypatch.setenv("RAY_DEBUG_POST_MORTEM", value)
    pdb = importlib.import_module(f"{backend.package}.util.rpdb")
    assert pdb._is_ray_debugger_post_mortem_enabled() is enabled
