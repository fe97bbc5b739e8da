"""Rules of Ray's reference beside the common ones: arguments of init, namespaces, resources, small modules."""

import os

import numpy
import pytest

from compat_tests.processes import wait_until


@pytest.mark.parametrize("arguments, kind, text", [
    ({"num_cpus": -1}, ValueError, "Resource quantities must be nonnegative"),
    ({"num_cpus": "a"}, AssertionError, "CPU"),
    ({"num_cpus": 1.5}, ValueError, "Resource quantities must all be whole numbers"),
    ({"num_gpus": -1}, ValueError, "Resource quantities must be nonnegative"),
    ({"resources": {"CPU": 1}}, AssertionError, "`CPU` cannot be a custom resource"),
    ({"resources": {"GPU": 1}}, AssertionError, "`GPU` cannot be a custom resource"),
    ({"resources": {"lamp": -1}}, ValueError, "Violated by resource 'lamp'"),
    ({"resources": {"lamp": 0.5}}, ValueError, "whole numbers"),
    ({"namespace": ""}, ValueError, '"" is not a valid namespace. Pass None to not specify a namespace.'),
    ({"namespace": 3}, TypeError, "namespace must be None or a string."),
    ({"_temp_dir": "relative"}, ValueError, "temp_dir must be absolute path or None."),
    ({"cgroup_path": "a"}, ValueError, "cgroup_path cannot be set when resource isolation is not enabled"),
    ({"object_store_memory": 1}, ValueError, ""),
    ({"no_such_argument": 1}, RuntimeError, "Unknown keyword argument"),
])
def test_init_refuses_wrong_arguments(bare_ray, backend, arguments, kind, text):
    with pytest.raises(kind) as caught:
        backend.init(**arguments)
    assert text in str(caught.value)


def test_what_init_returns_has_its_facts_by_key(bare_ray, backend):
    context = backend.init(num_cpus=1)
    assert set(context.address_info) == set(context.keys()) and len(context) == len(context.address_info)
    assert context["node_id"] == bare_ray.get_runtime_context().get_node_id()
    with pytest.raises(KeyError):
        context["no such fact"]
    assert isinstance(context._repr_html_(), str)
    with context as entered:
        assert entered is context
    assert not bare_ray.is_initialized()


@pytest.mark.parametrize("name", ["nodes", "cluster_resources", "available_resources"])
def test_the_cluster_is_unknown_without_a_session(bare_ray, name):
    with pytest.raises(bare_ray.exceptions.RaySystemError, match="Ray has not been started yet"):
        getattr(bare_ray, name)()


@pytest.mark.filterwarnings("ignore:This API is deprecated:DeprecationWarning")
def test_the_driver_is_no_task_to_its_runtime_context(ray):
    context = ray.get_runtime_context()
    for ask in (lambda: context.task_id, lambda: context.actor_id, context.get_assigned_resources, lambda: context.was_current_actor_reconstructed):
        with pytest.raises(AssertionError, match="only available when the process is a"):
            ask()
    with pytest.raises(RuntimeError, match="only available when the process is a worker"):
        context.is_canceled()
    with pytest.raises(RuntimeError, match="This method is only available in an actor"):
        _ = context.current_actor
    assert context.get_task_id() is None and context.get_actor_id() is None and context.get_placement_group_id() is None
    assert context.get_session_name().startswith("session_") and os.path.isabs(context.get_temp_dir())
    assert isinstance(context.gcs_address, str) and not hasattr(context, "worker_id")


@pytest.mark.filterwarnings("ignore:This API is deprecated:DeprecationWarning")
def test_ids_of_the_runtime_context_are_objects_and_its_getters_give_hex(ray):
    def look():
        context = ray.get_runtime_context()
        return context.job_id, context.node_id, context.get_job_id(), context.get_node_id(), context.get()

    class Looker:
        def look(self):
            context = ray.get_runtime_context()
            return context.task_id, context.actor_id, context.get_task_id(), context.get_actor_id(), context.get()

    for job, node, job_hex, node_hex, got in (look(), ray.get(ray.remote(look).remote())):
        assert isinstance(job, ray.JobID) and isinstance(node, ray.NodeID) and (job.hex(), node.hex()) == (job_hex, node_hex)
        assert (got["job_id"], got["node_id"]) == (job, node) and isinstance(got["namespace"], str)
    task, actor, task_hex, actor_hex, got = ray.get(ray.remote(Looker).remote().look.remote())
    assert isinstance(task, ray.TaskID) and isinstance(actor, ray.ActorID) and (task.hex(), actor.hex()) == (task_hex, actor_hex)
    assert (got["task_id"], got["actor_id"]) == (task, actor)


def test_an_actor_of_another_namespace_runs_in_the_programs(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=2, namespace="home")

    @ray.remote
    class Named:
        def namespace(self):
            return ray.get_runtime_context().namespace

        def found(self, name):
            return ray.get_actor(name) is not None

    away = Named.options(name="away", namespace="elsewhere").remote()
    here = Named.options(name="here").remote()
    assert ray.get([away.namespace.remote(), here.namespace.remote()]) == ["home", "home"]
    assert ray.get(away.found.remote("here"))
    with pytest.raises(ValueError, match="Failed to look up actor"):
        ray.get_actor("away")
    assert ray.get_actor("away", namespace="elsewhere") == away


@pytest.mark.parametrize("arguments, kind, text", [
    (("",), ValueError, "Please supply a non-empty value to get_actor"),
    ((3,), TypeError, "expected bytes, int found"),
    (("x", ""), ValueError, '"" is not a valid namespace'),
    (("x", 3), TypeError, "namespace must be None or a string."),
])
def test_get_actor_refuses_wrong_names(ray, arguments, kind, text):
    with pytest.raises(kind, match=text):
        ray.get_actor(*arguments)


def test_memory_is_a_resource_of_init(bare_ray, backend):
    backend.init(num_cpus=1, _memory=1 << 30)
    assert bare_ray.cluster_resources()["memory"] == 1 << 30

    @bare_ray.remote(memory=1 << 20)
    def held():
        return bare_ray.get_runtime_context().get_assigned_resources()["memory"]

    assert bare_ray.get(held.remote()) == 1 << 20


def test_a_task_may_ask_for_many_kinds_of_resources(bare_ray, backend):
    kinds = {f"kind{i}": 1 for i in range(60)}
    backend.init(num_cpus=2, resources=kinds)

    @bare_ray.remote
    def held():
        return bare_ray.get_runtime_context().get_assigned_resources()

    assert bare_ray.get(held.options(resources=kinds).remote()) == {"CPU": 1.0, **kinds}
    assert bare_ray.get(held.options(resources=dict.fromkeys(kinds, 0.25)).remote())["kind59"] == 0.25


def test_accelerators_that_are_no_gpus_have_ids(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=4, resources={"neuron_cores": 2, "TPU": 4})

    def seen():
        ids = {kind: ids for kind, ids in ray.get_runtime_context().get_accelerator_ids().items() if ids}
        return ids, os.environ.get("NEURON_RT_VISIBLE_CORES"), os.environ.get("TPU_VISIBLE_CHIPS")

    class Seeing:
        def seen(self):
            return seen()

    task = ray.remote(seen)
    assert ray.get(task.remote()) == ({}, None, None)
    assert ray.get(task.options(resources={"neuron_cores": 2}).remote()) == ({"neuron_cores": ["0", "1"]}, "0,1", None)
    assert ray.get(task.options(resources={"TPU": 4}).remote()) == ({"TPU": ["0", "1", "2", "3"]}, None, "0,1,2,3")
    assert {"neuron_cores", "TPU", "GPU", "HPU", "NPU"} <= set(ray.get_runtime_context().get_accelerator_ids())
    actor = ray.remote(Seeing).options(resources={"neuron_cores": 1}).remote()
    assert ray.get(actor.seen.remote())[0] == {"neuron_cores": ["0"]}
    for amounts, text in (({"neuron_cores": 0.5}, "neuron_cores resource quantity must be whole numbers"), ({"TPU": 3}, "not a supported chip configuration")):
        with pytest.raises(ValueError, match=text):
            task.options(resources=amounts).remote()


def test_num_returns_takes_whatever_can_be_iterated(ray):
    def two(value):
        return ray.get(ray.remote(num_returns=2)(lambda: value).remote())

    assert two({"a": 1, "b": 2}) == ["a", "b"] and two("xy") == ["x", "y"] and sorted(two({1, 2})) == [1, 2] and two(numpy.arange(2)) == [0, 1]
    for wrong in (1, None):
        with pytest.raises(TypeError):
            two(wrong)
    with pytest.raises(ValueError, match="num_returns=2"):
        two((1,))


@pytest.mark.parametrize("wrong", [1, None])
def test_wait_refuses_what_is_no_ref(ray, wrong):
    with pytest.raises(TypeError, match="got list containing"):
        ray.wait([ray.put(1), wrong])


def test_get_refuses_what_is_no_list_of_refs(ray):
    for wrong in (None, 1, (ray.put(1),), {ray.put(1)}):
        with pytest.raises(ValueError, match="'object_refs' must either be an ObjectRef or a list of ObjectRefs"):
            ray.get(wrong)


def test_an_error_of_the_values_own_pickling_is_raised_as_it_is(ray):
    class Bad:
        def __reduce__(self):
            raise ValueError("not I")

    with pytest.raises(ValueError, match="not I"):
        ray.put(Bad())
    with pytest.raises(ValueError, match="not I"):
        ray.remote(lambda x: x).remote(Bad())


def test_placement_group_is_a_function_whatever_was_imported_before(scripts):
    out = scripts.run("""
        import ray
        import ray.util.placement_group
        from ray.util.placement_group import placement_group, PlacementGroup
        import ray.util.placement_group as module
        assert callable(ray.util.placement_group) and ray.util.placement_group is placement_group
        INIT
        group = ray.util.placement_group([{"CPU": 1}])
        assert isinstance(group, PlacementGroup)
        while not group.wait(30):
            pass
        print("done")
    """)
    assert "done" in out


@pytest.mark.filterwarnings("ignore:This API is deprecated:DeprecationWarning")
def test_an_actor_group_calls_its_actors_together(ray):
    from importlib import import_module

    ActorGroup = import_module(f"{ray.__name__}.util.actor_group").ActorGroup

    class Number:
        def __init__(self, number):
            self.number = number

        def get_actor_metadata(self):
            return "number"

        def plus(self, x):
            return self.number + x

    group = ActorGroup(Number, num_actors=2, num_cpus_per_actor=0, init_args=(3,))
    assert len(group) == 2 and group.actor_metadata == ["number", "number"]
    assert ray.get(group.plus.remote(1)) == [4, 4] == [ray.get(one.actor.plus.remote(1)) for one in (group[0], group[1])]
    group.add_actors(1)
    group.remove_actors([0])
    assert len(group) == 2
    with pytest.raises(TypeError, match="ActorGroup methods cannot be called directly"):
        group.plus(1)
    with pytest.raises(RuntimeError, match="already been started"):
        group.start()
    group.shutdown(patience_s=0)
    with pytest.raises(RuntimeError, match="has been shutdown"):
        _ = group.plus
    with pytest.raises(ValueError, match="must be greater than 0"):
        ActorGroup(Number, num_actors=0)
    with pytest.raises(ValueError, match="must not be negative"):
        ActorGroup(Number, num_cpus_per_actor=-1)


def test_internal_kv_keeps_bytes_for_all_processes(ray):
    from importlib import import_module

    name = f"{ray.__name__}.experimental.internal_kv"
    kv = import_module(name)
    assert kv._internal_kv_initialized() and kv._internal_kv_get("nothing", namespace="test") is None
    assert not kv._internal_kv_put("key", "one", namespace="test")
    assert kv._internal_kv_put("key", "two", overwrite=False, namespace="test")
    assert kv._internal_kv_get(b"key", namespace=b"test") == b"one" and kv._internal_kv_exists("key", namespace="test")
    assert ray.get(ray.remote(lambda: import_module(name)._internal_kv_get("key", namespace="test")).remote()) == b"one"
    assert kv._internal_kv_list("k", namespace="test") == [b"key"]
    assert kv._internal_kv_del("key", namespace="test") == 1 and not kv._internal_kv_exists("key", namespace="test")


def test_a_runtime_env_is_a_dict_with_questions(bare_ray):
    from importlib import import_module

    module = import_module(f"{bare_ray.__name__}.runtime_env")
    env = module.RuntimeEnv(env_vars={"A": "1"}, pip=["x"], nsight="default", config={"setup_timeout_seconds": 5})
    assert env["env_vars"] == env.env_vars() == {"A": "1"} and env.nsight() == "default" and env.has_pip() and not env.has_conda()
    again = module.RuntimeEnv.deserialize(env.serialize())
    assert again.env_vars() == {"A": "1"} and env.to_dict()["env_vars"] == {"A": "1"}
    env.set("env_vars", {"B": "2"})
    assert env.env_vars() == {"B": "2"} and env.get("nothing", 3) == 3
    with pytest.raises(TypeError):
        module.RuntimeEnv(env_vars={"A": 1})
    with pytest.raises(ValueError, match="greater than zero"):
        module.RuntimeEnvConfig(setup_timeout_seconds=0)
    with pytest.raises(TypeError, match="eager_install must be a boolean"):
        module.RuntimeEnvConfig(eager_install=1)


def test_a_method_may_be_marked_without_options(ray):
    @ray.remote
    class Marked:
        @ray.method
        def plain(self):
            return 1

    assert ray.get(Marked.remote().plain.remote()) == 1


def test_private_names_that_frameworks_import(ray):
    from importlib import import_module

    def private(name):
        return import_module(f"{ray.__name__}._private.{name}")

    class Async:
        async def work(self): ...

    assert private("services").get_node_ip_address().count(".") == 3
    assert private("async_compat").has_async_methods(Async) and not private("async_compat").has_async_methods(int)
    worker = private("worker").global_worker
    assert worker.connected and worker.current_job_id.hex() == ray.get_runtime_context().get_job_id() and isinstance(worker.gcs_client.address, str)
    assert worker.core_worker.get_actor_id().is_nil() and not worker.core_worker.current_actor_is_asyncio()
    context = ray.get_runtime_context()
    core = worker.core_worker
    assert core.get_current_job_id().hex() == context.get_job_id() and core.get_current_node_id().hex() == context.get_node_id()
    assert ray.get(ray.remote(lambda: private("worker").global_worker.core_worker.get_current_task_id().hex() == ray.get_runtime_context().get_task_id()).remote())
    node = private("worker")._global_node
    names = {"address", "gcs_address", "node_ip_address", "object_store_address", "raylet_socket_name", "redis_address", "session_dir", "webui_url"}
    assert names <= set(node.address_info) and node.address_info["gcs_address"] == node.gcs_address and node.redis_password == ""
    assert hasattr(node, "webui_url") and node.redis_address is None
    # The CPU of the task above is free a moment after its result.
    wait_until(lambda: [free["CPU"] for free in private("state").available_resources_per_node().values()] == [4])
    accelerators = private("accelerators")
    assert accelerators.nvidia_gpu.NvidiaGPUAcceleratorManager.get_resource_name() == "GPU"
    assert accelerators.get_accelerator_manager_for_resource("NPU").get_visible_accelerator_ids_env_var() == "ASCEND_RT_VISIBLE_DEVICES"
    assert {"GPU", "TPU"} <= set(accelerators.get_all_accelerator_resource_names())


def test_the_placement_groups_table_by_private_name(ray):
    from importlib import import_module

    state = import_module(f"{ray.__name__}._private.state").state
    group = ray.util.placement_group([{"CPU": 1}])
    assert group.wait(30)
    assert state.placement_group_table(group.id)["state"] == "CREATED"
    ray.util.remove_placement_group(group)
