"""Folders that only this user can reach."""

import os
import stat
import subprocess
import sys

import pytest
from reactor.runtime.messages import private_folder
from reactor.runtime.messages.private_folder import NotPrivate

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
ANOTHER = 65534


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def refusal(path, **how):
    with pytest.raises(NotPrivate) as caught, private_folder.opened(path, **how):
        pass
    return str(caught.value)


def test_a_folder_and_all_that_is_missing_above_it_have_mode_0700(tmp_path):
    with private_folder.opened(tmp_path / "a" / "b" / "c", create=True) as fd:
        os.mkdir("inside", dir_fd=fd)
    assert [mode(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert (tmp_path / "a/b/c/inside").is_dir()


@pytest.mark.parametrize("umask", ["0", "0o777"])
def test_the_mode_does_not_depend_on_the_programs_umask(tmp_path, umask):
    code = (
        f"import os, sys; os.umask({umask})\nfrom reactor.runtime.messages import private_folder\n"
        "with private_folder.opened(sys.argv[1], create=True): pass"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a" / "b")], check=True)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


def test_a_folder_is_not_created_without_being_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError), private_folder.opened(tmp_path / "a"):
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("given", [0o777, 0o770, 0o707, 0o755, 0o701, 0o1777, 0o710])
def test_a_folder_that_others_can_reach_is_refused_and_left_as_it_is(tmp_path, given):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(given)
    assert f"{folder} has mode {given:04o}" in refusal(folder, create=True)
    assert mode(folder) == given & 0o777 or given > 0o777


@pytest.mark.parametrize("create", [True, False])
def test_a_symbolic_link_to_a_folder_of_this_user_is_refused(tmp_path, create):
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("folder")
    assert refusal(tmp_path / "link", create=create) == f"{tmp_path}/link is a symbolic link"
    (tmp_path / "broken").symlink_to("nowhere")
    assert refusal(tmp_path / "broken", create=create) == f"{tmp_path}/broken is a symbolic link"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("kind", ["file", "fifo"])
def test_what_is_no_directory_is_refused_without_waiting(tmp_path, kind):
    if kind == "file":
        (tmp_path / "thing").touch()
    else:
        os.mkfifo(tmp_path / "thing")
    assert refusal(tmp_path / "thing", create=True) == f"{tmp_path}/thing is not a directory"


@needs_root
@pytest.mark.parametrize("given", [0o700, 0o777])
def test_a_folder_of_another_user_is_refused_by_its_owner(tmp_path, given):
    (tmp_path / "folder").mkdir()
    os.chown(tmp_path / "folder", ANOTHER, ANOTHER)
    os.chmod(tmp_path / "folder", given)
    assert f"({ANOTHER})" in refusal(tmp_path / "folder", create=True)


@needs_root
def test_a_folder_of_another_user_that_cannot_even_be_opened_is_refused_by_its_owner(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o700)
    os.chmod(tmp_path, 0o777)
    for above in tmp_path.parents[:3]:
        os.chmod(above, os.stat(above).st_mode | 0o111)
    code = f"""if True:
        import os, sys
        from reactor.runtime.messages import private_folder
        os.setuid({ANOTHER})
        try:
            with private_folder.opened(sys.argv[1], create=True): pass
        except private_folder.NotPrivate as error:
            print(error)
    """
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "folder")], capture_output=True, text=True)
    assert "folder belongs to user root (0)" in ran.stdout, ran.stderr


def test_a_folder_that_every_user_could_replace_is_refused_if_it_is_used_by_path(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with private_folder.opened(tmp_path / "shared" / "folder", create=True):
        pass  # by its descriptor it is the same folder, whoever renames it
    assert f"every user can replace {tmp_path}/shared/folder" in refusal(tmp_path / "shared" / "folder", by_path=True)
    (tmp_path / "shared").chmod(0o1777)
    with private_folder.opened(tmp_path / "shared" / "folder", by_path=True):
        pass


@needs_root
def test_a_folder_in_a_directory_of_another_user_is_refused_if_it_is_used_by_path(tmp_path):
    """As with the TMPDIR of the user who has called sudo."""
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", ANOTHER, ANOTHER)
    os.chmod(tmp_path / "theirs", 0o1777)
    assert f"who can replace {tmp_path}/theirs/folder" in refusal(
        tmp_path / "theirs" / "folder", create=True, by_path=True
    )


def test_the_folder_is_the_same_while_somebody_exchanges_it(tmp_path):
    folder = tmp_path / "folder"
    with private_folder.opened(folder, create=True) as fd:
        folder.rename(tmp_path / "moved")
        folder.mkdir(mode=0o777)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    assert os.listdir(folder) == [] and os.listdir(tmp_path / "moved") == ["file"]


def test_only_an_empty_folder_of_this_user_is_removed(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "folder" / "file").touch()
    private_folder.remove_if_empty(tmp_path / "folder")
    assert (tmp_path / "folder" / "file").exists()
    (tmp_path / "folder" / "file").unlink()
    private_folder.remove_if_empty(tmp_path / "folder")
    private_folder.remove_if_empty(tmp_path / "folder")
    assert os.listdir(tmp_path) == []
