"""Folders that only this user can reach.

In a directory such as /tmp other users can create, before this program does, whatever name this program will use. So a folder is opened once and checked
on its descriptor: it is no symbolic link, this user owns it, and no one else has permissions. All that is in it is then reached by the descriptor.
"""

import os
import stat
from contextlib import contextmanager, suppress


class NotPrivate(PermissionError):
    """A folder that another user can reach, or could replace."""


@contextmanager
def opened(path, create=False, by_path=False):
    """A descriptor of the folder, while the context lasts.

    Arguments:
        path: of the folder.
        create: whether to create it, and the directories above it, with mode 0700 if they do not exist.
        by_path: whether its files will be used by their path, too, so that nobody else must be able to replace the folder.

    Raises NotPrivate, whose text says what was found; FileNotFoundError without `create`; OSError for a folder that cannot be created.
    """
    path = os.path.abspath(path)
    fd = _open(path, create, by_path)
    try:
        _check(path, os.fstat(fd))
        yield fd
    finally:
        os.close(fd)


def make(path):
    """Creates the folder and the missing directories above it, with mode 0700."""
    if not os.path.isdir(path):
        make(os.path.dirname(os.path.abspath(path)))
        with suppress(FileExistsError):
            _mkdir(path)


def remove_if_empty(path):
    """Removes the folder if nothing is in it."""
    with suppress(OSError), opened(path):  # else it is in use, or not this user's
        os.rmdir(path)


def _open(path, create, by_path):
    parent, name = os.path.split(path)
    if create and not os.path.isdir(parent):
        make(parent)
    above = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if by_path:
            _check_above(parent, path, os.fstat(above))
        if create:
            with suppress(FileExistsError):
                _mkdir(name, above)
        try:
            return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        except (NotADirectoryError, PermissionError):
            _check(path, os.stat(name, dir_fd=above, follow_symlinks=False))
            raise
    finally:
        os.close(above)


def _mkdir(name, above=None):
    os.mkdir(name, 0o700, dir_fd=above)
    # The program's umask may have taken more away, and an access list of the directory above may have given more.
    created = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        if os.fstat(created).st_uid == os.geteuid():  # else it was replaced meanwhile
            os.chmod(f"/proc/self/fd/{created}", 0o700)
    finally:
        os.close(created)


def _check(path, found):
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(f"{path} is a symbolic link")
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{path} is not a directory")
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to {_user(found.st_uid)}, and this process runs as {_user(os.geteuid())}")
    if found.st_mode & 0o077:
        raise NotPrivate(f"{path} has mode {stat.S_IMODE(found.st_mode):04o}, with which other users can reach it")


def _check_above(parent, path, found):
    """Whoever owns a directory, or may write to one that is not sticky, can replace what is in it. A group is trusted: many systems give each user
    an own one, and make directories writable for it."""
    if found.st_uid not in (0, os.geteuid()) and _is_mapped(found.st_uid):
        raise NotPrivate(f"{parent} belongs to {_user(found.st_uid)}, who can replace {path}")
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise NotPrivate(
            f"every user can replace {path}, because {parent} has mode {stat.S_IMODE(found.st_mode):04o}, without the sticky bit"
        )


def _is_mapped(uid):
    """Whether this user namespace has that user. Files of others, those of the machine's root among them, appear in it as those of a user "nobody"."""
    with open("/proc/self/uid_map") as ranges:
        return any(int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, ranges))


def _user(uid):
    import pwd

    try:
        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return f"user {uid}"
