"""A program that closes descriptors which are not its own, as daemons do, and opens files that then have their numbers."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
    import gc, os
    import numpy as np
    import rayshim as ray

    ray.init(num_cpus=1, placement={placement!r}, object_store_memory=64 << 20, log_to_driver=False, logging_level="ERROR")
    (heap,) = [fd for fd in range(1024) if os.path.exists(f"/proc/self/fd/{{fd}}") and "memfd:reactor" in os.readlink(f"/proc/self/fd/{{fd}}")]
    STEP, END = 65536, 512 << 20
    mine = os.memfd_create("mine")
    os.dup2(mine, heap)
    for at in range(0, END, STEP):
        os.pwrite(heap, b"x", at)
    values = [ray.put(np.full(16 << 20, i, np.uint8)) for i in range(8)]  # more than the store holds: some go to the disk
    assert [ray.get(ref)[-1] for ref in values] == list(range(8))
    del values
    gc.collect()
    print(all(os.pread(mine, 1, at) == b"x" for at in range(0, END, STEP)))
"""


def test_no_hole_is_made_in_a_file_that_has_the_heaps_number():
    for placement in ("isolated", "inline"):
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM.format(placement=placement))],
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert (ran.returncode, ran.stdout) == (0, "True\n"), (placement, ran.stdout, ran.stderr)


def test_a_worker_that_reads_from_a_terminal_is_told_that_there_is_nothing(tmp_path):
    (tmp_path / "script.py").write_text(
        "import rayshim as ray\n"
        "ray.init(num_cpus=1, logging_level='ERROR')\n"
        "def read():\n"
        "    try:\n"
        "        return input()\n"
        "    except EOFError:\n"
        "        return 'nothing'\n"
        "print(ray.get(ray.remote(read).remote(), timeout=30))\n"
    )
    ours, terminal = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, stdin=terminal, capture_output=True, text=True
        )
    finally:
        os.close(ours)
        os.close(terminal)
    assert done.stdout == "nothing\n", done.stderr
