"""In a child process, handles and refs of the parent's session give an error that says how to join the session, and both ways work."""

import os
import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import asyncio, concurrent.futures, multiprocessing, os, pickle, sys
import rayshim as ray

@ray.remote
class Actor:
    def value(self, *args):
        return 7

@ray.remote
def task(*args):
    return 8

async def awaited():
    return await ref

def failing(call):
    try:
        found = call()
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error", repr(found)

def in_fork(call):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, repr(call()).encode())
        os._exit(0)
    os.wait()
    os.close(write)
    with os.fdopen(read) as file:
        return eval(file.read())

def begin(placement="isolated"):
    global actor, ref
    ray.init(num_cpus=2, placement=placement, namespace="ns", log_to_driver=False, logging_level="ERROR")
    actor = Actor.options(name="named").remote()
    ref = ray.put(5)
    ray.get(actor.value.remote())
"""


def run(text):
    program = BEGIN + textwrap.dedent(text)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning"}  # Python warns of forks beside threads
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_each_use_says_that_the_process_was_forked_and_starts_nothing(placement):
    out = run(f"""
        begin({placement!r})
        calls = {{
            "call": lambda: ray.get(actor.value.remote()), "get": lambda: ray.get(ref), "list": lambda: ray.get([ref]),
            "timeout": lambda: ray.get(ref, timeout=5), "wait": lambda: ray.wait([ref]), "get_actor": lambda: ray.get_actor("named", "ns"),
            "kill": lambda: ray.kill(actor), "cancel": lambda: ray.cancel(ref), "await": lambda: asyncio.run(awaited()),
            "future": lambda: ref.future().result(), "pickled": lambda: pickle.loads(pickled),
        }}
        pickled = pickle.dumps(ref)
        for name, call in calls.items():
            kind, text = in_fork(lambda: (lambda found: (found[0], found[1] + f" {{ray.is_initialized()}}"))(failing(call)))
            print(name, "forked after init()" in text and "pass values" in text and "shut down" not in text and text.endswith("False"), kind)
        print(ray.get([actor.value.remote(), ref]))  # the parent's session goes on
        """)
    kinds = {line.split()[0]: line.split()[1:] for line in out.splitlines()[:-1]}
    assert len(kinds) == 11 and all(good == "True" for good, _ in kinds.values()), out
    assert kinds["call"][1] == kinds["kill"][1] == "ActorHandleNotFoundError" and kinds["cancel"][1] == "TypeError"
    assert out.splitlines()[-1] == "[7, 5]"


def test_an_argument_of_the_parents_session_is_refused_by_a_child_with_its_own():
    out = run("""
        begin()
        for argument in (actor, ref):
            print(in_fork(lambda: "forked after init()" in failing(lambda: ray.get(task.remote(argument)))[1]))
        print(in_fork(lambda: failing(lambda: ray.get(task.remote(1)))))
        """)
    assert out.splitlines() == ["True", "True", "('no error', '8')"]


def test_the_address_in_the_message_joins_the_session():
    out = run("""
        import re
        begin()
        pickled = pickle.dumps([actor, ref])

        def join():
            text = failing(lambda: ray.get(ref))[1]
            ray.init(address=re.search("address='([^']*)'", text)[1], namespace="ns", logging_level="ERROR")
            found, value = pickle.loads(pickled)
            return ray.get([ray.get_actor("named").value.remote(), found.value.remote(), value])

        print(in_fork(join))
        """)
    assert out == "[7, 7, 5]\n"


def test_children_of_pools_give_the_message_to_the_parent():
    out = run("""
        def use(_):
            return failing(lambda: ray.get(actor.value.remote()))[1]

        begin()
        fork = multiprocessing.get_context("fork")
        with fork.Pool(1) as pool:
            print("forked after init()" in pool.map(use, [0])[0])
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=fork) as pool:
            print("forked after init()" in pool.submit(use, 0).result())
        """)
    assert out == "True\nTrue\n"


def test_a_spawned_process_is_told_to_join_before_it_reads_a_handle(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        BEGIN
        + textwrap.dedent("""
        def read(pickled, address):
            if address:
                ray.init(address=address, logging_level="ERROR")
                print(ray.get(pickle.loads(pickled).value.remote()), flush=True)
            else:
                kind, text = failing(lambda: pickle.loads(pickled))
                print(kind, "this process has no session" in text and "init(address=...)" in text, flush=True)

        if __name__ == "__main__":
            begin()
            for address in (None, ray.get_runtime_context().gcs_address):
                child = multiprocessing.get_context("spawn").Process(target=read, args=(pickle.dumps(actor), address))
                child.start()
                child.join()
        """)
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "ValueError True\n7\n", done.stderr
