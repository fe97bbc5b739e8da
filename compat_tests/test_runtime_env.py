"""Runtime environments: what is given to tasks, actors and what they start."""

import os

import pytest

VARIABLE = "COMPAT_RUNTIME_ENV"


def env(**variables):
    return {"env_vars": variables}


@pytest.fixture
def reader(ray):
    @ray.remote
    def read(name):
        return os.environ.get(name)

    return read


def test_a_task_has_its_variables_and_the_next_one_does_not(ray, reader):
    assert ray.get(reader.options(runtime_env=env(COMPAT_RUNTIME_ENV="1")).remote(VARIABLE)) == "1"
    assert ray.get(reader.remote(VARIABLE)) is None
    assert ray.get(reader.options(runtime_env=env(COMPAT_RUNTIME_ENV="2")).remote(VARIABLE)) == "2"
    assert VARIABLE not in os.environ


def test_an_actor_has_its_variables_in_constructor_and_methods(ray):
    @ray.remote
    class Reader:
        def __init__(self):
            self.first = os.environ.get(VARIABLE)

        def read(self):
            return self.first, os.environ.get(VARIABLE)

    assert ray.get(Reader.options(runtime_env=env(COMPAT_RUNTIME_ENV="1")).remote().read.remote()) == ("1", "1")
    assert ray.get(Reader.remote().read.remote()) == (None, None)


def test_what_a_task_starts_inherits_its_variables_and_may_add_to_them(ray, reader):
    @ray.remote
    def outer():
        both = reader.options(runtime_env=env(COMPAT_INNER="2"))
        return ray.get([reader.remote(VARIABLE), both.remote(VARIABLE), both.remote("COMPAT_INNER")])

    assert ray.get(outer.options(runtime_env=env(COMPAT_RUNTIME_ENV="1")).remote()) == ["1", "1", "2"]


def test_the_sessions_variables_are_overridden_one_by_one(bare_ray, backend):
    backend.init(num_cpus=1, runtime_env=env(COMPAT_A="session", COMPAT_B="session"))

    @bare_ray.remote
    def read():
        return os.environ.get("COMPAT_A"), os.environ.get("COMPAT_B")

    assert bare_ray.get(read.remote()) == ("session", "session")
    assert bare_ray.get(read.options(runtime_env=env(COMPAT_B="task")).remote()) == ("session", "task")
    for nothing in ({}, env()):
        assert bare_ray.get(read.options(runtime_env=nothing).remote()) == ("session", "session")


def test_a_variable_may_refer_to_what_was_there(ray, reader):
    extended = ray.get(reader.options(runtime_env=env(PATH="${PATH}:/compat/bin")).remote("PATH"))
    assert extended.endswith(":/compat/bin") and extended.startswith(os.environ["PATH"].split(":")[0])


@pytest.mark.needs_processes
def test_tasks_of_one_environment_share_their_workers_and_with_no_other(ray):
    @ray.remote
    def pid():
        return os.getpid()

    # No other test has these: of two idle workers of one environment either may run the next task.
    one, other = (pid.options(runtime_env=env(COMPAT_RUNTIME_ENV=f"shared {value}")) for value in "12")
    first = ray.get(one.remote())
    assert ray.get(other.remote()) != first and ray.get(pid.remote()) != first
    assert ray.get(one.remote()) == first


@pytest.mark.needs_processes
def test_a_task_with_a_gpu_shares_no_worker_with_one_without(ray):
    @ray.remote
    def pid():
        return os.getpid()

    assert ray.get(pid.options(num_gpus=1).remote()) != ray.get(pid.remote())


def test_the_setup_hook_runs_in_each_worker(bare_ray, backend):
    def hook():
        os.environ["COMPAT_HOOK"] = "was here"

    backend.init(num_cpus=1, runtime_env={"worker_process_setup_hook": hook})
    try:
        @bare_ray.remote
        class Reader:
            def read(self):
                return os.environ.get("COMPAT_HOOK")

        assert bare_ray.get(bare_ray.remote(lambda: os.environ.get("COMPAT_HOOK")).remote()) == "was here"
        assert bare_ray.get(Reader.remote().read.remote()) == "was here"
    finally:
        os.environ.pop("COMPAT_HOOK", None)  # inline has no worker of its own


def test_a_setup_hook_that_fails_shows_at_the_actors_calls(bare_ray, backend):
    def hook():
        raise ValueError("not this way")

    backend.init(num_cpus=1, log_to_driver=False, runtime_env={"worker_process_setup_hook": hook})

    @bare_ray.remote
    class Plain:
        def ping(self):
            return "pong"

    with pytest.raises(bare_ray.exceptions.RayActorError, match="(?s)Failed to execute the setup hook.*not this way"):
        bare_ray.get(Plain.remote().ping.remote())


def test_a_hook_that_cannot_be_pickled_is_refused_by_init(bare_ray, backend):
    import threading

    lock = threading.Lock()
    with pytest.raises(bare_ray.exceptions.RuntimeEnvSetupError, match="Failed to export the setup function"):
        backend.init(num_cpus=1, runtime_env={"worker_process_setup_hook": lambda: lock})
    bare_ray.shutdown()


@pytest.mark.parametrize("wrong", [{"env_vars": {"A": 1}}, {"env_vars": ["A"]}, {"env_vars": {1: "A"}}])
def test_variables_must_be_strings(bare_ray, backend, wrong):
    with pytest.raises(TypeError):
        backend.init(num_cpus=1, runtime_env=wrong)
    bare_ray.shutdown()


def test_the_working_directory_is_where_workers_are_and_import_from(bare_ray, backend, tmp_path):
    (tmp_path / "compat_beside.py").write_text("answer = 42\n")
    (tmp_path / "data.txt").write_text("here")
    backend.init(num_cpus=1, runtime_env={"working_dir": str(tmp_path)})

    @bare_ray.remote
    def read():
        import compat_beside

        with open("data.txt") as file:
            return compat_beside.answer, file.read()

    assert bare_ray.get(read.remote()) == (42, "here")


def test_a_module_directory_is_a_package_for_workers(bare_ray, backend, tmp_path):
    package = tmp_path / "compat_given_package"
    package.mkdir()
    (package / "__init__.py").write_text("answer = 42\n")
    backend.init(num_cpus=1, runtime_env={"py_modules": [str(package)]})

    @bare_ray.remote
    def read():
        import compat_given_package

        return compat_given_package.answer

    assert bare_ray.get(read.remote()) == 42


def test_the_class_runtime_env_is_a_dict_of_what_was_given(ray, reader):
    from importlib import import_module

    made = import_module(f"{ray.__name__}.runtime_env").RuntimeEnv(env_vars={VARIABLE: "1"})
    assert made["env_vars"] == {VARIABLE: "1"} and dict(made) == {"env_vars": {VARIABLE: "1"}}
    assert ray.get(reader.options(runtime_env=made).remote(VARIABLE)) == "1"


def test_the_context_tells_the_environment(ray):
    @ray.remote
    def told():
        return ray.get_runtime_context().runtime_env["env_vars"]

    assert ray.get(told.options(runtime_env=env(COMPAT_RUNTIME_ENV="1")).remote()) == {VARIABLE: "1"}


@pytest.mark.rayshim_only
def test_what_would_be_installed_is_refused_unless_it_is_there(bare_ray, backend):
    with pytest.raises(bare_ray.exceptions.RuntimeEnvSetupError, match="installs nothing"):
        backend.init(num_cpus=1, runtime_env={"pip": ["no-such-package-anywhere"]})
    backend.init(num_cpus=1, runtime_env={"pip": ["numpy"]})


def test_resources_and_labels_may_be_overridden_from_outside(bare_ray, backend, monkeypatch):
    monkeypatch.setenv("RAY_OVERRIDE_RESOURCES", '{"lamp": 1, "CPU": 3}')
    monkeypatch.setenv("RAY_OVERRIDE_LABELS", '{"floor": "2"}')
    backend.init(resources={"lamp": 5, "door": 2}, labels={"floor": "1", "wing": "east"})
    offered = bare_ray.cluster_resources()
    assert (offered["lamp"], offered["door"], offered["CPU"]) == (1, 2, 3)
    labels = bare_ray.nodes()[0]["Labels"]
    assert labels["floor"] == "2" and labels["wing"] == "east"
