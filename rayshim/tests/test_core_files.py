"""Core files have nothing of the memory that a session's processes share: values of other actors would be in them, and they would be as large as the store."""

import ctypes
import mmap
import multiprocessing
import os
import re
import resource
from pathlib import Path

import numpy as np
import pytest
from reactor.runtime.processes import descendants
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.placement.packed import packed

STORE = 128 << 20
SIZE = 2 << 20
SECRET = b"SECRET-OF-ANOTHER-ACTOR"


@pytest.fixture(params=["isolated", "packed", "inline"])
def running(request):
    ray.init(
        placement=packed(1) if request.param == "packed" else request.param,
        num_cpus=4,
        object_store_memory=STORE,
        log_to_driver=False,
    )
    yield request.param
    ray.shutdown()


def secret(size=SIZE):
    return np.frombuffer(SECRET * (size // len(SECRET)), dtype=np.uint8)


# ---- mappings


def dumped(pid):
    """The mappings of shared memory of a process that a core file would contain: lines of /proc/PID/smaps. A mapping is one of shared memory if
    others see what is written there, or if it is of a file that has no name any more."""
    found, line, shared = [], "", False
    for text in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", text):
            line = text
            shared = text.split()[1].endswith("s") or text.endswith("(deleted)")
            shared = shared and not _is_file(text) and "/dev/shm/sem." not in text  # those are multiprocessing's own
        elif text.startswith("VmFlags:") and shared and "dd" not in text.split():
            found.append(line)
    return found


def _is_file(line):
    """Whether a mapping is of a file with a name, such as a library's."""
    path = line.split(maxsplit=5)[5:]
    return bool(path) and os.path.isfile(path[0])


def all_mappings(pid):
    return Path(f"/proc/{pid}/smaps").read_text()


@ray.remote
class Holder:
    """Has memory of each kind mapped."""

    def __init__(self):
        self.kept = []

    def keep(self, refs):
        self.kept.append(ray.get(refs))
        return os.getpid()

    def make(self):
        return np.full(SIZE // 8, 1.0)

    def fork(self):
        """What a child would have in its core file, while it has copies of arrays in the store."""
        self.kept.append(np.full(SIZE // 8, 2.0))
        with multiprocessing.get_context("fork").Pool(1) as pool:
            return pool.apply(dumped, (os.getpid(),)), pool.apply(_own_dumped)


def _own_dumped():
    return dumped(os.getpid())


def test_a_mapping_that_would_be_dumped_is_found():
    memory = mmap.mmap(-1, SIZE)
    try:
        assert len(dumped(os.getpid())) >= 1
        memory.madvise(mmap.MADV_DONTDUMP)
        assert not [line for line in dumped(os.getpid()) if "/dev/zero" in line]
    finally:
        memory.close()


def test_no_process_of_a_session_has_shared_memory_in_its_core_file(running):
    holder = Holder.remote()
    refs = [ray.put(np.full(SIZE, i, np.uint8)) for i in range(2 * STORE // SIZE)]  # half of them go to the disk
    ray.get([holder.keep.remote([ref]) for ref in refs[:8]])
    for _ in range(4):
        ray.get(holder.make.remote())  # in the store in the first place, from the second on
    pids = [os.getpid(), *descendants.of(os.getpid())]
    mapped = "".join(map(all_mappings, pids))
    assert "memfd:reactor" in mapped
    if running != "inline":
        assert ray.get(holder.fork.remote()) == ([], [])
    assert len(ray.get(refs[0])) == SIZE
    assert {pid: found for pid in pids if (found := dumped(pid))} == {}


def test_values_from_the_disk_and_copies_that_are_written_to_are_not_in_core_files():
    torch = pytest.importorskip("torch")
    ray.init(num_cpus=2, object_store_memory=STORE, log_to_driver=False)
    try:
        refs = [ray.put(np.full(SIZE, i, np.uint8)) for i in range(2 * STORE // SIZE)]
        held = ray.get(refs[:20])
        assert re.search(r" r--s .*\(deleted\)\n", all_mappings(os.getpid()))  # a value that is read from the disk
        tensor = ray.get(ray.put(torch.ones(SIZE)))
        tensor[0] = 2  # a page of this process's own
        assert dumped(os.getpid()) == []
        assert (held[3][5], tensor[0]) == (3, 2)
    finally:
        ray.shutdown()


# ---- crashes


def pattern_is_plain():
    """Whether the system writes core files into the current directory."""
    return not Path("/proc/sys/kernel/core_pattern").read_text().startswith(("|", "/"))


writes_core_files = pytest.mark.skipif(
    not pattern_is_plain() or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0,
    reason="this system writes no core files into the current directory",
)


def crash(directory):
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    Path("/proc/self/coredump_filter").write_text("0x3b")  # all but the code of libraries
    os.chdir(directory)
    ctypes.string_at(0)


def core_file(directory):
    [path] = wait_until(lambda: [*directory.glob("core*")]) or []
    return path


def check(path):
    """The file is of the process's own memory."""
    assert path.stat().st_size < STORE // 2
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        assert data[:4] == b"\x7fELF"
        assert data.find(SECRET * 2) == -1


@ray.remote
class Other:
    def put(self):
        self.ref = ray.put(secret())
        return [self.ref]

    def crash(self, directory):
        crash(directory)

    def read_and_crash(self, refs, directory):
        self.read = ray.get(refs)
        crash(directory)


@writes_core_files
@pytest.mark.parametrize("placement", ["isolated", "packed"])
@pytest.mark.parametrize("how", ["task", "actor", "reader"])
def test_a_crash_leaves_a_core_file_without_the_store(how, placement, tmp_path):
    ray.init(
        placement=packed(2) if placement == "packed" else placement,
        num_cpus=4,
        object_store_memory=STORE,
        log_to_driver=False,
    )
    try:
        ref = ray.put(secret())
        other = Other.remote()
        if placement == "isolated":
            refs = ray.get(other.put.remote())
        spilled = [ray.put(secret()) for _ in range(2 * STORE // SIZE)]
        errors = (ray.exceptions.WorkerCrashedError, ray.exceptions.ActorDiedError)
        with pytest.raises(errors):
            if how == "task":
                ray.get(ray.remote(crash).options(max_retries=0).remote(tmp_path))
            elif how == "actor":
                ray.get(Other.remote().crash.remote(tmp_path))
            else:
                ray.get(Other.remote().read_and_crash.remote([spilled[0], spilled[-1]], tmp_path))
        check(core_file(tmp_path))
        assert len(ray.get(ref)) == len(secret())
        if placement == "isolated":
            assert len(ray.get(refs[0])) == len(secret())
    finally:
        ray.shutdown()
