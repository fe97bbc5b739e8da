"""`_function_name` of a remote function, which some programs read or set."""


def test_the_name_of_a_remote_function_can_be_set_and_tasks_keep_theirs(ray):
    @ray.remote
    def named():
        return ray.get_runtime_context().get_task_name()

    assert named._function_name.endswith("named")
    before = ray.get(named.remote())
    named._function_name = "mine"
    assert (named._function_name, ray.get(named.remote())) == ("mine", before)


def test_offsets_in_the_files_of_a_workers_output_are_numbers(bare_ray):
    import importlib

    worker = importlib.import_module(f"{bare_ray.__name__}._private.worker")
    assert callable(worker.Worker.get_current_out_offset)
    assert callable(worker.Worker.get_current_err_offset)
