"""Tries rayshim, and Ray if it is installed, in the small places that programs run in: small_places.py [PYTHON], as root.

PYTHON (default: this one): the interpreter of an environment in which rayshim is installed. packaging/small_program.py runs in each place, with namespaces and
control groups of its own, of which nothing stays. Prints a table: "yes" and the seconds of the whole program, or how it ends. Exit status 1: rayshim fails
somewhere. The environment variable REPORTS names a folder for what programs that fail print.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
GROUPS = Path("/sys/fs/cgroup")
SECONDS = 120  # for one run
GROUP = f"rayshim-small-{os.getpid()}"
CPUS, BYTES = 1, 2 << 30
AS_NOBODY = "exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs"

# Name: commands of the shell in a mount namespace of its own, which end by running "$@".
PLACES = {
    "as it is": 'exec "$@"',
    "no network, not even to itself": 'exec unshare --net "$@"',
    "`/dev/shm` of 64 MiB": 'mount -t tmpfs -o size=64m small /dev/shm; exec "$@"',
    "`/dev/shm` read-only": 'mount -t tmpfs -o ro small /dev/shm; exec "$@"',
    "`/tmp` read-only": 'mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp; exec "$@"',
    "all files read-only but `/dev/shm`": "mount --bind / /mnt; mount -o remount,bind,ro /mnt; mount --rbind /proc /mnt/proc; mount --rbind /dev /mnt/dev; "
    'mount --rbind /sys /mnt/sys; exec chroot /mnt "$@"',
    "not root": f'{AS_NOBODY} env HOME=/tmp "$@"',
    "not root, no home": f'{AS_NOBODY} env -u HOME "$@"',
    "no `/proc/sys`": 'mount -t tmpfs -o ro small /proc/sys; exec "$@"',
    "root without capabilities": 'exec setpriv --inh-caps=-all --bounding-set=-all --no-new-privs "$@"',
    "a container's system calls": f'exec "$1" {HERE}/container_seccomp.py "$@"',
    "a container: all of this": "mount -t tmpfs -o size=64m small /dev/shm; mount -t tmpfs -o ro small /proc/sys; mount --bind /tmp /tmp; "
    f'mount -o remount,bind,ro /tmp; {AS_NOBODY} env -u HOME "$1" {HERE}/container_seccomp.py "$@"',
    "64 processes and threads": 'enter pids; exec "$@"',
    "a control group of 1 CPU and 2 GiB": 'enter cpu memory; exec "$@"',
}
# As in a container, the group is what the program finds under /sys/fs/cgroup. In version 2 there is one for all.
_ENTER = f"""
enter() {{
  for controller; do
    mount={GROUPS}; [ -e $mount/cgroup.controllers ] || mount=$mount/$controller
    [ -d $mount/{GROUP} ] || {{ echo "no control group for $controller can be made here"; exit 75; }}
    echo $$ > $mount/{GROUP}/cgroup.procs
    groups="${{groups:-}} $mount"
  done
  for mount in $(printf '%s\\n' $groups | sort -u); do mount --bind $mount/{GROUP} $mount; done
}}
"""


def limits(commands):
    """Control groups of their own with the limits that the commands `enter`, as {controller: folder}; those that cannot be made here are left out."""
    made = {}
    wanted = {
        "cpu": {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": CPUS * 100000, "cpu.max": f"{CPUS * 100000} 100000"},
        "memory": {"memory.limit_in_bytes": BYTES, "memory.max": BYTES},
        "pids": {"pids.max": 64},
    }
    entered = re.findall(r"enter ([a-z ]+)", commands)
    for controller in entered[0].split() if entered else ():
        values = wanted[controller]
        mount = GROUPS if (GROUPS / "cgroup.controllers").exists() else GROUPS / controller
        folder = mount / GROUP
        with contextlib.suppress(OSError):
            if mount == GROUPS:
                (mount / "cgroup.subtree_control").write_text(f"+{controller}")
            if not mount.is_dir():
                continue
            folder.mkdir(exist_ok=True)
            for name, value in values.items():
                if (folder / name).exists():
                    (folder / name).write_text(str(value))
            made[controller] = folder
    return made


def remove(made):
    for folder in set(made.values()):
        for _ in range(50):  # the last processes may be ending
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.1)
            else:
                break


def outcome(python, package, place, commands):
    """What to say in the table."""
    made = limits(commands)
    expected = [f"--cpus={CPUS}", f"--bytes={BYTES}"] if "CPU" in place else []
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    # The first process of a namespace of processes, with which all others end.
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    command += ["sh", "-c", 'sh -euc "$@"; exit $?', "sh", _ENTER + commands, "sh"]
    command += [python, str(HERE / "small_program.py"), package, *expected]
    started = time.monotonic()
    try:
        ran = subprocess.run(
            command,
            cwd="/",
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"hangs (ended after {SECONDS} s)"
    finally:
        remove(made)
    if ran.returncode == 0:
        return f"yes ({time.monotonic() - started:.1f} s)"
    if folder := os.environ.get("REPORTS"):
        Path(folder, f"{package}-{place}".replace("/", "_")).write_text(ran.stdout)
    lines = [line for line in ran.stdout.splitlines() if line.strip()] or [f"exit status {ran.returncode}"]
    if ran.returncode == 75:
        return f"not tried: {lines[-1]}"
    return f"no: {lines[-1][:150]}"


def main():
    python = shutil.which(sys.argv[1] if len(sys.argv) > 1 else sys.executable)
    if os.geteuid() != 0 or not python:
        sys.exit("small_places.py: needs root, for namespaces and control groups, and an interpreter")
    python = os.path.abspath(python)
    found = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    packages = [
        name for name in ("rayshim", "ray") if subprocess.run([python, "-c", found, name], cwd="/").returncode == 0
    ]
    failed = False
    print(f"| place | {' | '.join(packages)} |\n|---{'|---' * len(packages)}|", flush=True)
    for place, commands in PLACES.items():
        row = [outcome(python, package, place, commands) for package in packages]
        failed = failed or row[0].startswith(("no:", "hangs"))
        print(f"| {place} | {' | '.join(row)} |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
