"""Which code is the user's, for the places that errors name and for what is recorded by place."""

import os
from pathlib import Path

import reactor

import rayshim
from rayshim.errors import user_code


def test_each_module_of_the_packages_is_ours_and_a_program_beside_them_is_not():
    for package in (rayshim, reactor):
        root = Path(package.__file__).parent
        files = [file for file in root.rglob("*.py") if not {"tests", "fragments"} & {*file.relative_to(root).parts}]
        assert len(files) > 20
        assert [str(file) for file in files if user_code.is_users(str(file))] == []
    assert user_code.is_users(os.path.join(user_code.OURS[0], "program", "main.py"))
    assert user_code.is_users(__file__)


def test_fragments_are_a_program_on_the_api():
    """They run on real Ray, too; orders, graphs and errors name their lines, as those of any program."""
    assert user_code.is_users(os.path.join(user_code.OURS[0], "fragments", "team.py"))


def test_packages_installed_below_a_folder_named_tests_are_ours(monkeypatch):
    there = "/home/me/tests/venv/site-packages/rayshim/"
    monkeypatch.setattr(user_code, "OURS", (there,))
    monkeypatch.setattr(user_code, "_FOLDERS", (there + "api/",))
    assert not user_code.is_users(there + "api/values.py") and not user_code.is_users(there + "actor.py")
    assert user_code.is_users("/home/me/tests/program.py")
