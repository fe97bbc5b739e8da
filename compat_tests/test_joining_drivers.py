"""Other programs that join the session that a program has started for itself, by its address."""

import pytest

pytestmark = pytest.mark.needs_processes

COUNTER = """
@ray.remote(num_cpus=0)
class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        return self.n

    def say(self, text):
        print(text, flush=True)
"""

FIRST = f"""
import os, signal, subprocess, sys, time
import ray

INIT
ADDRESS = ray.get_runtime_context().gcs_address
{COUNTER}
SECOND = '''
import os, signal, subprocess, sys, time
import ray

ray.init(address="%s", namespace="ours", log_to_driver=%s)
{COUNTER}'''

def second(source, log_to_driver=False):
    done = subprocess.run([sys.executable, "-c", SECOND % (ADDRESS, log_to_driver) + source], capture_output=True, text=True, timeout=60)
    return done.stdout, done.returncode, done.stderr

def wait_until_gone(name):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            ray.get_actor(name)
        except ValueError:
            return True
        time.sleep(0.05)

counter = Counter.options(name="first").remote()
ray.get(counter.add.remote())
"""


def run(scripts, source):
    return scripts.run(FIRST + source, namespace="ours").splitlines()


def test_a_second_driver_calls_a_named_actor_of_the_first(scripts):
    assert run(scripts, """
print(second('print(ray.get(ray.get_actor("first").add.remote()))')[0], end="")
print(ray.get(counter.add.remote()))
""") == ["2", "3"]


def test_a_detached_actor_of_a_second_driver_outlives_it_and_others_end_with_it(scripts):
    assert run(scripts, """
print(second('''
kept = Counter.options(name="kept", lifetime="detached").remote()
plain = Counter.options(name="plain").remote()
print(ray.get([kept.add.remote(), plain.add.remote()]))
''')[0], end="")
print(ray.get(ray.get_actor("kept").add.remote()), wait_until_gone("plain"))
""") == ["[1, 1]", "2 True"]


def test_drivers_have_jobs_of_their_own_on_the_same_node(scripts):
    assert run(scripts, """
told = second('''
context = ray.get_runtime_context()
print(context.get_job_id(), context.get_node_id(), ray.cluster_resources()["CPU"], context.gcs_address)
''')[0].split()
context = ray.get_runtime_context()
print(told[0] != context.get_job_id(), told[1] == context.get_node_id(), float(told[2]) == ray.cluster_resources()["CPU"], told[3] == ADDRESS)
""") == ["True True True True"]


def test_a_program_that_a_task_has_started_joins_by_the_address_it_was_given(scripts):
    assert run(scripts, """
@ray.remote
def task():
    return second('print(ray.get(ray.get_actor("first").add.remote()))')[0]

print(ray.get(task.remote()), end="")
""") == ["2"]


def test_amounts_of_the_session_cannot_be_given_by_who_joins(scripts):
    assert run(scripts, """
code = f'import ray; ray.init(address="{ADDRESS}", num_cpus=1)'
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
print(done.returncode, "num_cpus and num_gpus must not be provided" in done.stderr)
""") == ["1 True"]


def test_the_variable_ray_address_joins_too(scripts):
    assert run(scripts, """
code = 'import ray; ray.init(namespace="ours", log_to_driver=False); print(ray.get(ray.get_actor("first").add.remote()))'
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "RAY_ADDRESS": ADDRESS})
print(done.stdout, end="")
""") == ["2"]


def test_a_driver_that_is_killed_takes_its_actors_with_it_and_the_session_goes_on(scripts):
    assert run(scripts, """
out, status, _ = second('''
plain = Counter.options(name="plain").remote()
print(ray.get(plain.add.remote()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
''')
print(out.strip(), status, wait_until_gone("plain"), ray.get(counter.add.remote()))
""") == ["1 -9 True 2"]


def test_each_driver_sees_the_lines_of_its_own_workers(scripts):
    scripts.write("script.py", FIRST + """
out, _, err = second('''
mine = Counter.remote()
ray.get(mine.say.remote("line of the second"))
time.sleep(2)
''', log_to_driver=True)
print("second has its own:", "line of the second" in out + err)
ray.get(counter.say.remote("line of the first"))
time.sleep(2)
""", namespace="ours")
    driver = scripts.start("script.py")
    scripts.finished(driver)
    assert "second has its own: True" in driver.out
    shown = driver.out + driver.err
    assert "line of the first" in shown
    assert "line of the second" not in shown


def test_drivers_share_the_cpus(scripts):
    assert run(scripts, """
holder = Counter.options(num_cpus=ray.cluster_resources()["CPU"]).remote()
ray.get(holder.add.remote())
wait = '''
@ray.remote
def task():
    return "ran"

try:
    print(ray.get(task.remote(), timeout=1))
except ray.exceptions.GetTimeoutError:
    print("waits")
'''
print(second(wait)[0], end="")
ray.kill(holder)
print(second(wait.replace("timeout=1", "timeout=30"))[0], end="")
""") == ["waits", "ran"]


def test_a_detached_actor_of_the_first_driver_is_seen_by_name_in_any_namespace(scripts):
    assert run(scripts, """
Counter.options(name="kept", namespace="theirs", lifetime="detached").remote()
print(second('''
print(ray.get(ray.get_actor("kept", namespace="theirs").add.remote()))
print(sorted(d["name"] for d in ray.util.list_named_actors(all_namespaces=True)))
''')[0], end="")
""") == ["1", "['first', 'kept']"]


def test_many_calls_of_two_drivers_are_all_served(scripts):
    assert run(scripts, """
print(second('''
first = ray.get_actor("first")
print(ray.get([first.add.remote() for _ in range(100)])[-1])
''')[0].strip(), ray.get([counter.add.remote() for _ in range(100)])[-1])
""") == ["101 201"]
