"""Archives in a runtime environment: `working_dir` as a .zip or .tar file, and wheels in `py_modules`. They are unpacked in the session's folder."""

from __future__ import annotations

import os

from rayshim.errors.user_code import calling
from rayshim.session import folder

ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar.xz")


def is_archive(path: str) -> bool:
    return path.endswith(ENDINGS) and os.path.isfile(path)


def unpacked(path: str, inner: bool = False) -> str:
    """The directory with what is in the archive; the same for the same file.

    Arguments:
        path: of the file.
        inner: whether to take what is in its only directory, if it has no more than that.

    Raises ValueError for a file that is no such archive, or that would write outside of the directory.
    """
    from hashlib import sha256

    facts = os.stat(path)
    key = sha256(f"{os.path.abspath(path)} {facts.st_mtime_ns} {facts.st_size}".encode()).hexdigest()[:16]
    target = os.path.join(folder.of_this_process(), "runtime_resources", key)
    if not os.path.isdir(target):
        _unpack(path, target)
    inside = os.listdir(target)
    if inner and len(inside) == 1 and os.path.isdir(os.path.join(target, inside[0])):
        return os.path.join(target, inside[0])
    return target


def _unpack(path, target):
    import shutil
    import tarfile
    import zipfile

    from reactor.runtime.messages import private_folder

    part = f"{target}.part"
    shutil.rmtree(part, ignore_errors=True)
    private_folder.make(part)
    try:
        if path.endswith((".zip", ".whl")):
            with zipfile.ZipFile(path) as file:
                file.extractall(part)
                for member in file.infolist():  # zipfile leaves the permissions out
                    mode = member.external_attr >> 16 & 0o777
                    at = os.path.join(part, member.filename)
                    if mode and os.path.isfile(at):
                        os.chmod(at, mode | 0o600)
        else:
            with tarfile.open(path) as file:
                file.extractall(part, filter="data")
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise ValueError(
            f"runtime_env: {path} cannot be unpacked: {error} (at {calling()}). Give a .zip, .tar.gz, .tgz, .tar.xz or .whl file"
        ) from error
    os.rename(part, target)
