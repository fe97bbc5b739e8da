"""Runs a command without the system calls that a container may not use by default: container_seccomp.py COMMAND...

They fail as Docker's default profile lets them (https://docs.docker.com/engine/security/seccomp/): with EPERM; clone3 with ENOSYS, so that programs
use clone. (The profile is a list of what may be used; this is the list of what is left out, of the calls that there are on x86-64 and aarch64.)
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# Architecture of the kernel's audit, number of clone3, then of those with EPERM: acct, add_key, bpf, clock_adjtime, clock_settime, delete_module, fanotify_init,
# finit_module, fsconfig, fsmount, fsopen, fspick, init_module, io_uring_enter, io_uring_register, io_uring_setup, kexec_load, keyctl, lookup_dcookie,
# mount, move_mount, name_to_handle_at, nfsservctl, open_by_handle_at, open_tree, perf_event_open, pivot_root, quotactl, reboot, request_key, setdomainname, sethostname, setns,
# settimeofday, swapoff, swapon, syslog, umount2, unshare, userfaultfd, vhangup.
_CALLS = {
    "x86_64": (
        0xC000003E,
        435,
        (
            "163 248 321 305 227 176 300 313 431 432 430 433 175 426 427 425 246 250 212 165 429 303 180 304 428 298 155 179 169 249 171 170 308 164 168 167 103 "
            "166 272 323 153"
        ),
    ),
    "aarch64": (
        0xC00000B7,
        435,
        (
            "89 217 280 266 112 106 262 273 431 432 430 433 105 426 427 425 104 219 18 40 429 264 42 265 428 241 41 60 142 218 162 161 268 170 225 224 116 39 97 "
            "282 58"
        ),
    ),
}
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # instructions of BPF
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2


def program():
    """The filter, as the kernel's array of sock_filter."""
    architecture, clone3, refused = _CALLS[platform.machine()]
    steps = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    for number, error in ((clone3, errno.ENOSYS), *((int(text), errno.EPERM) for text in refused.split())):
        steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return steps


def main():
    steps = program()
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    header = struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(filters))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, header, 0, 0)):
        if prctl(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) != 0:
            sys.exit(f"container_seccomp.py: prctl: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
