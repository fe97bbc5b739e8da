import subprocess
import sys

import pytest


def test_the_driver_has_ids_but_no_task_and_no_actor(ray):
    context = ray.get_runtime_context()
    for value in (context.get_job_id(), context.get_node_id(), context.get_worker_id()):
        assert isinstance(value, str) and int(value, 16) >= 0
    assert context.get_task_id() is None
    assert context.get_actor_id() is None
    assert isinstance(context.namespace, str)


def test_a_task_knows_its_id_and_name(ray):
    @ray.remote
    def ids():
        context = ray.get_runtime_context()
        return context.get_task_id(), context.get_task_name(), context.get_actor_id()

    (first, name, actor), (second, other, _) = ray.get([ids.remote(), ids.options(name="other").remote()])
    assert first != second
    assert (name.split(".")[-1], other) == ("ids", "other")
    assert actor is None


def test_a_task_is_of_its_drivers_job_and_namespace(ray):
    @ray.remote
    def place():
        context = ray.get_runtime_context()
        return context.get_job_id(), context.namespace

    context = ray.get_runtime_context()
    assert ray.get(place.remote()) == (context.get_job_id(), context.namespace)


def test_an_actor_knows_its_id_and_name(ray):
    @ray.remote
    class Named:
        def ids(self):
            context = ray.get_runtime_context()
            return context.get_actor_id(), context.get_actor_name(), context.get_task_id()

    first, second = Named.options(name="first").remote(), Named.remote()
    (first_id, name, one_call), (second_id, no_name, _) = ray.get([first.ids.remote(), second.ids.remote()])
    assert first_id != second_id
    assert first_id in repr(first)
    assert (name, no_name) == ("first", "")
    assert ray.get(first.ids.remote())[0] == first_id
    assert ray.get(first.ids.remote())[2] != one_call


def test_the_task_id_of_a_ref_is_that_of_its_task(ray):
    @ray.remote
    def own():
        return ray.get_runtime_context().get_task_id()

    ref = own.remote()
    assert ref.task_id().hex() == ray.get(ref)


def test_an_actor_has_no_restart_unless_it_was_restarted(ray):
    @ray.remote
    class Plain:
        def restarted(self):
            return ray.get_runtime_context().was_current_actor_reconstructed

    assert ray.get(Plain.remote().restarted.remote()) is False


def test_rays_state_is_seen_inside_a_task(ray):
    @ray.remote
    def inside():
        return ray.is_initialized(), ray.cluster_resources()["CPU"]

    assert ray.get(inside.remote()) == (True, 4)


def test_is_initialized_follows_init_and_shutdown(bare_ray, backend):
    assert not bare_ray.is_initialized()
    backend.init(num_cpus=1)
    assert bare_ray.is_initialized()
    bare_ray.shutdown()
    assert not bare_ray.is_initialized()


def test_shutdown_may_be_said_twice_or_without_init(bare_ray, backend):
    bare_ray.shutdown()
    backend.init(num_cpus=1)
    bare_ray.shutdown()
    bare_ray.shutdown()
    assert not bare_ray.is_initialized()


def test_a_second_init_is_an_error_unless_it_may_be_ignored(bare_ray, backend):
    backend.init(num_cpus=1)
    with pytest.raises(RuntimeError, match="ignore_reinit_error"):
        backend.init(num_cpus=1)
    backend.init(num_cpus=2, ignore_reinit_error=True)
    assert bare_ray.cluster_resources()["CPU"] == 1


def test_init_after_shutdown_starts_anew(bare_ray, backend):
    @bare_ray.remote
    class Plain:
        def ping(self):
            return "pong"

    @bare_ray.remote
    def one():
        return 1

    for _ in range(2):
        backend.init(num_cpus=1)
        held = Plain.options(name="again").remote()
        assert bare_ray.get([held.ping.remote(), one.remote()]) == ["pong", 1]
        bare_ray.shutdown()


def test_what_an_earlier_init_made_is_gone_with_it(bare_ray, backend):
    @bare_ray.remote
    class Plain:
        def ping(self):
            return "pong"

    backend.init(num_cpus=1)
    ref, actor = bare_ray.put(1), Plain.remote()
    bare_ray.get(actor.ping.remote())
    bare_ray.shutdown()
    backend.init(num_cpus=1)
    with pytest.raises((ValueError, bare_ray.exceptions.RayError), match=f"{ref.hex()}|init"):
        bare_ray.get(ref, timeout=10)
    with pytest.raises(Exception, match="(?i)actor"):
        bare_ray.get(actor.ping.remote(), timeout=10)


def test_init_is_a_context_manager(bare_ray, backend):
    with backend.init(num_cpus=1):
        assert bare_ray.get(bare_ray.put(1)) == 1
    assert not bare_ray.is_initialized()


def test_init_refuses_an_unknown_argument(bare_ray, backend):
    with pytest.raises((TypeError, RuntimeError), match="colour"):
        backend.init(colour=1)
    assert not bare_ray.is_initialized()


def test_init_takes_rays_arguments(bare_ray, backend):
    backend.init(
        num_cpus=1, num_gpus=0, resources={}, labels={}, object_store_memory=100 << 20, _memory=1 << 30,
        local_mode=False, ignore_reinit_error=False, dashboard_host="127.0.0.1", dashboard_port=None,
        configure_logging=True, logging_level="ERROR", logging_format=None, log_to_driver=True,
        namespace="n", runtime_env={}, _temp_dir=None)
    assert bare_ray.get(bare_ray.put(1)) == 1


@pytest.mark.parametrize("first", ["f.remote()", "A.remote().m.remote()"])
def test_the_first_use_of_the_api_initialises_it(scripts, first):
    out = scripts.run(f"""
        import ray

        @ray.remote
        def f():
            return 1

        @ray.remote
        class A:
            def m(self):
                return 1

        if __name__ == "__main__":
            print(ray.is_initialized(), ray.get({first}), ray.is_initialized())
        """)
    assert out.split() == ["False", "1", "True"]


def test_importing_starts_nothing(backend):
    use = "ray.remote(lambda: 1); ray.remote(type('A', (), {})); print(ray.is_initialized())"
    command = [sys.executable, "-c", f"import {backend.package} as ray; {use}"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=30).stdout == "False\n"


def test_a_ref_of_an_earlier_init_is_unknown(bare_ray, backend):
    backend.init(num_cpus=1)
    old = bare_ray.put(1)
    bare_ray.shutdown()
    backend.init(num_cpus=1)

    @bare_ray.remote
    def take(value):
        return value

    for misuse in (lambda: bare_ray.get(old), lambda: bare_ray.get([bare_ray.put(1), old]), lambda: take.remote(old),
                   lambda: take.remote([old]), lambda: bare_ray.wait([old])):
        with pytest.raises(ValueError, match="owner is unknown"):
            misuse()
    known = bare_ray.put(2)
    assert bare_ray.wait([old, known]) == ([known], [old])


def test_an_actor_of_an_earlier_init_cannot_be_killed(bare_ray, backend):
    @bare_ray.remote
    class Plain:
        pass

    backend.init(num_cpus=1)
    old = Plain.remote()
    bare_ray.shutdown()
    backend.init(num_cpus=1)
    with pytest.raises(bare_ray.exceptions.ActorHandleNotFoundError, match="not valid across Ray sessions"):
        bare_ray.kill(old)


@pytest.mark.parametrize("address", ["nonsense", "ray://127.0.0.1:1"])
def test_an_address_that_leads_nowhere_is_refused(bare_ray, backend, address):
    with pytest.raises((ValueError, ConnectionError)):
        backend.init(address=address)
    assert not bare_ray.is_initialized()


def test_the_context_of_init_is_a_mapping(bare_ray, backend):
    context = backend.init(num_cpus=1)
    assert context["node_id"] == bare_ray.get_runtime_context().get_node_id()
    assert set(context.keys()) >= {"node_ip_address", "address", "gcs_address", "session_dir"}
    assert context.get("no such fact", 3) == 3


def _names(ray):
    context = ray.get_runtime_context()
    return context.get_task_name(), context.get_task_function_name()


def test_a_call_has_a_name_and_the_name_of_its_function(ray):
    names = _names

    @ray.remote
    def work():
        return names(ray)

    @ray.remote
    class Worker:
        def __init__(self):
            self.constructed = names(ray)

        def work(self):
            return names(ray)

        def stream(self):
            yield names(ray)

        def born(self):
            return self.constructed

    @ray.remote
    class Async:
        async def work(self):
            return names(ray)

    module = __name__
    assert ray.get(work.remote()) == ("work", f"{module}.work")
    assert ray.get(work.options(name="other").remote()) == ("other", f"{module}.work")
    worker = Worker.remote()
    assert ray.get(worker.work.remote()) == ("Worker.work", f"{module}.Worker.work")
    assert ray.get(worker.work.options(name="other").remote()) == ("other", f"{module}.Worker.work")
    assert ray.get(next(worker.stream.options(num_returns="streaming").remote())) == ("Worker.stream", f"{module}.Worker.stream")
    assert ray.get(worker.born.remote()) == ("Worker.__init__", f"{module}.Worker.__init__")
    threaded = Worker.options(max_concurrency=2).remote()
    assert ray.get(threaded.work.remote()) == ("Worker.work", f"{module}.Worker.work")
    loop = Async.remote()
    for name, method in ("Async.work", loop.work), ("other", loop.work.options(name="other")):
        task, function = ray.get(method.remote())
        assert task == name
        assert function.startswith(module) and function.endswith("Async.work")  # Ray has the class's qualified name in between
