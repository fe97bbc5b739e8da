"""Profiles of programs: what `placement="auto"` has measured, a file of JSON for each program, and beside it the file of roles that it has chosen."""

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

_SAMPLES = 5  # runs kept of each placement


@dataclass
class Profile:
    """Measurements of a program.

    Attributes:
        program: path of its main script. version: a hash of its text; the measurements of another text do not count.
        runs: {placement: list of runs}; a run is {pattern of the driver: [times it ran, seconds of all]}.
        seconds: {actor: seconds that its methods ran} and
        traffic: [[actor, actor, bytes]], of the last run.
        alone: {class: reason why its actors need processes of their own}.
        unreturned: the actors with a method that was called and did not return.
        chosen: why the last run had its placement.
    """

    program: str
    version: str
    runs: dict[str, list[dict[str, list[float]]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    traffic: list[list] = field(default_factory=list)
    alone: dict[str, str] = field(default_factory=dict)
    unreturned: list[str] = field(default_factory=list)
    chosen: str = ""

    def add(self, placement, run):
        """Adds the measurements of one run; the oldest go."""
        self.runs[placement] = [*self.runs.get(placement, []), run][-_SAMPLES:]


def folder():
    """The directory of all profiles."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "rayshim", "profiles")


def main_script():
    """The path of the program that runs here; None for a program without a file (a prompt, a notebook, standard input)."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.realpath(path) if path and os.path.isfile(path) else None


def path_of(program):
    """Where the profile of a program is kept."""
    return folder() / f"{Path(program).stem}-{hashlib.sha256(program.encode()).hexdigest()[:12]}.json"


def roles_path_of(program):
    """Where the file of roles is, by which another run of the program has the placement of its last one."""
    return path_of(program).with_suffix(".toml")


def version_of(program):
    return hashlib.sha256(Path(program).read_bytes()).hexdigest()[:16]


def load(program):
    """The Profile of a program; an empty one if there is none, if it cannot be read, or if the program has changed since."""
    fresh = Profile(program, version_of(program))
    found = stored([program])
    return found[0] if found and (found[0].program, found[0].version) == (fresh.program, fresh.version) else fresh


def stored(programs=()):
    """The Profiles of these programs, or all that can be read, whether or not the program has changed since."""
    paths = [path_of(os.path.realpath(p)) for p in programs] or sorted(folder().glob("*.json"))
    found = []
    for path in paths:
        try:
            found.append(Profile(**json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            continue
        except (OSError, TypeError, ValueError) as error:
            print(f"rayshim: {path} is not a profile that can be read ({error}). Delete it", file=sys.stderr)
    return found


def save(profile, roles=""):
    """Writes it, and the text of its file of roles, in place of those before, each as a whole. The files are for this user alone."""
    from reactor.runtime.messages import private_folder

    path = path_of(profile.program)
    private_folder.make(path.parent)
    _write(path, json.dumps(asdict(profile)))
    if roles:
        _write(roles_path_of(profile.program), roles)
    else:
        roles_path_of(profile.program).unlink(missing_ok=True)


def _write(path, text):
    part = path.with_suffix(f".{os.getpid()}")
    part.unlink(missing_ok=True)
    try:
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def clear(programs=()):
    """Deletes the profiles of these programs, or all; gives how many there were."""
    paths = [path_of(os.path.realpath(p)) for p in programs] or list(folder().glob("*.json"))
    found = [path for path in paths if path.exists()]
    for path in found:
        path.unlink()
        path.with_suffix(".toml").unlink(missing_ok=True)
    return len(found)
