"""Programs with many kinds of resources, long names, many placement groups and many different demands."""


def test_long_names_of_resources(bare_ray):
    ray = bare_ray
    names = ["pool-" + "x" * 200, "pool-" + "x" * 199 + "y", "p" * 300]
    ray.init(num_cpus=1, resources=dict.fromkeys(names, 2), log_to_driver=False)

    @ray.remote(num_cpus=0)
    def held():
        return ray.get_runtime_context().get_assigned_resources()

    for name in names:
        assert ray.cluster_resources()[name] == 2
        assert ray.get(held.options(resources={name: 1}).remote())[name] == 1
    group = ray.util.placement_group([{names[0]: 1}] * 2)
    assert group.wait(60)
    assert ray.available_resources().get(names[0], 0) == 0


def test_tasks_with_many_different_demands(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=1, resources={"unit": 10000}, log_to_driver=False)

    @ray.remote(num_cpus=0)
    def double(x):
        return 2 * x

    refs = [double.options(resources={"unit": 1 + i}).remote(i) for i in range(300)]
    assert ray.get(refs) == [2 * i for i in range(300)]
    more = [
        double.options(resources={"unit": 7}).remote(i) for i in range(100)
    ]  # more tasks of one demand than its first queue holds
    assert ray.get(more) == [2 * i for i in range(100)]


def test_a_name_is_free_again_when_its_group_has_been_removed(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=1, resources={"unit": 3}, log_to_driver=False)
    for _ in range(20):
        group = ray.util.placement_group([{"unit": 1}] * 3)
        assert group.wait(60)
        ray.util.remove_placement_group(group)
