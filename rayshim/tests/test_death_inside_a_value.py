"""A worker is killed while it reads or writes a value, by code of the value's own: the store keeps nothing for it, and no actor."""

import gc
import os
import signal

import numpy as np
import pytest
from reactor import _core
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.session import session as session_module

pytestmark = pytest.mark.usefixtures("zygote_has_pytest")
LARGE = 300_000
CODE = 6000  # bytes of functions that workers which have come meanwhile have exported


def die_once(path):
    """Kills this process if there is a file `path`, which is removed before."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def read(path, content):
    die_once(path)
    return content


class DiesWhenRead:
    """Comes out as `content`. Refs in it and a large array lie behind it in the value."""

    def __init__(self, path, content):
        self.path, self.content = path, content

    def __reduce__(self):
        return read, (self.path, self.content)


class DiesWhenWritten:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        die_once(self.path)
        return str, ("written",)


def content(kind):
    """What a value has beside what kills its reader or writer: small, with a handle, with a ref, or large with a ref."""
    if kind == "small":
        return ["x" * 6000]
    if kind == "handle":
        return [Kept.remote()]
    return [ray.put(np.arange(LARGE // 8))] + ([np.arange(LARGE // 8)] if kind == "large" else [])


@ray.remote(num_cpus=0)
class Kept:
    """Ends when nobody has a handle of it."""


@ray.remote(max_retries=2)
def look(*values):
    return len(values)


@ray.remote(max_retries=2)
def get(refs):
    return len(ray.get(refs))


@ray.remote(max_retries=2)
def written(path, kind):
    return [content(kind), DiesWhenWritten(path)]


@ray.remote(max_retries=2)
def put(path, kind):
    return ray.get(ray.put([content(kind), DiesWhenWritten(path)]))[1]


@ray.remote(max_retries=2)
def passed(path, kind):
    return ray.get(look.remote([content(kind), DiesWhenWritten(path)]))


@ray.remote(max_retries=2, num_returns=3)
def several(path, kind):
    return content(kind), [content(kind), DiesWhenWritten(path)], content(kind)


@ray.remote(max_retries=2)
def raised(path, kind):
    raise ValueError(content(kind), DiesWhenWritten(path))


@ray.remote(max_retries=2)
def yielded(path, kind):
    yield content(kind)
    yield [content(kind), DiesWhenWritten(path)]


@ray.remote(max_restarts=-1, max_task_retries=2)
class Actor:
    def __init__(self, *values):
        self.values = values

    def look(self, *values):
        return len(values)

    def written(self, path, kind):
        return [content(kind), DiesWhenWritten(path)]


def failed(ref):
    with pytest.raises(ValueError):
        ray.get(ref)
    return True


# What is done with a path and a kind of content; the worker dies in it once.
READ = {
    "task, by value": lambda value: ray.get(look.remote(value())),
    "task, by ref": lambda value: ray.get(look.remote(ray.put(value()))),
    "task, twice by ref": lambda value: ray.get(look.remote(*[ray.put(value())] * 2)),
    "get in a task": lambda value: ray.get(get.remote([ray.put(value())] * 2)),
    "actor, by value": lambda value: ray.get(Actor.remote().look.remote(value())),
    "actor, by ref": lambda value: ray.get(Actor.remote().look.remote(ray.put(value()))),
    "constructor": lambda value: ray.get(Actor.remote(value(), ray.put(value())).look.remote()),
}
WRITTEN = {
    "result": lambda path, kind: ray.get(written.remote(path, kind)),
    "put": lambda path, kind: ray.get(put.remote(path, kind)),
    "argument": lambda path, kind: ray.get(passed.remote(path, kind)),
    "one of several results": lambda path, kind: ray.get(several.remote(path, kind)),
    "exception": lambda path, kind: failed(raised.remote(path, kind)),
    "generator": lambda path, kind: [ray.get(ref) for ref in yielded.remote(path, kind)],
    "actor's result": lambda path, kind: ray.get(Actor.remote().written.remote(path, kind)),
}


@pytest.fixture(params=["isolated", "packed"], scope="module")
def session(request):
    ray.init(placement=request.param, num_cpus=2, log_to_driver=False)
    yield
    ray.shutdown()


def actors():
    """How many processes actors have that are isolated; packed workers stay for others."""
    now = _core.stats()
    return now["processes"] - now["pool_idle"] if session_module.current.settings.placement == "isolated" else 0


def leaves_nothing(run, path):
    """Runs it once without a death, for what stays of the functions, and then with deaths."""
    run()
    gc.collect()
    before, others = _core.store_used(), actors()
    for _ in range(3):
        open(path, "w").close()
        run()
        assert not os.path.exists(path), "no worker has died"
    wait_until(
        lambda: gc.collect() >= 0 and _core.store_used() <= before + CODE and actors() <= others
    )  # an exception is part of a cycle


@pytest.mark.parametrize("kind", ["small", "handle", "ref", "large"])
@pytest.mark.parametrize("how", READ)
def test_while_it_reads(session, tmp_path, how, kind):
    path = str(tmp_path / "die")
    leaves_nothing(lambda: READ[how](lambda: DiesWhenRead(path, content(kind))), path)


@pytest.mark.parametrize("kind", ["small", "handle", "ref", "large"])
@pytest.mark.parametrize("how", WRITTEN)
def test_while_it_writes(session, tmp_path, how, kind):
    if how == "exception" and kind != "small":
        pytest.skip("refs in exceptions are pickled out of band: as on Ray, nobody knows for how long they are needed")
    path = str(tmp_path / "die")
    leaves_nothing(lambda: WRITTEN[how](path, kind), path)
