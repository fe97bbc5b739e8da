"""A driver that is not connected by Ray Client: what programs and libraries ask of `ray.util.client`."""

import pytest


def test_the_context_of_ray_client_is_not_connected(ray):
    stub = ray.util.client.ray
    context = stub.get_context()
    assert not context.is_connected() and not stub.is_connected() and stub.is_default()
    assert stub.get_context() is context and context.client_worker is None
    assert ray.util.client.num_connected_contexts() == 0


def test_without_ray_client_its_functions_are_not_available(ray):
    stub = ray.util.client.ray
    assert stub.is_initialized() is False and stub._internal_kv_initialized() is False
    for ask in (lambda: stub.get, lambda: stub.nodes, lambda: stub.get_context().put):
        with pytest.raises(Exception, match="Ray Client is not connected. Please connect by calling `ray.init`."):
            ask()


def test_to_disconnect_ray_client_has_no_effect_on_a_driver(ray):
    ray.util.client.ray.disconnect()
    ray.util.client.ray.get_context().disconnect()
    assert ray.is_initialized() and ray.get(ray.put(1)) == 1


def test_another_context_of_ray_client_can_be_set(ray):
    stub = ray.util.client.ray
    before = stub.set_context(None)
    assert not stub.is_default() and stub.get_context() is not before and not stub.is_connected()
    assert stub.set_context(before) is not before and stub.is_default()


def test_a_task_is_not_connected_by_ray_client(ray):
    @ray.remote
    def connected():
        return ray.util.client.ray.is_connected(), ray.util.client.ray.get_context().is_connected()

    assert ray.get(connected.remote()) == (False, False)


CLIENT = """
    from ray.util.client import ray

    @ray.remote
    def total(refs):
        return sum(ray.get(refs))

    @ray.remote(num_cpus=1)
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self, k):
            self.n += k
            return self.n

    if __name__ == "__main__":
        ray.shutdown()
        assert not ray.is_initialized()
        INIT
        assert ray.is_initialized()
        print(ray.get(total.remote([ray.put(n) for n in range(4)])))
        counter = Counter.options(name="counter").remote()
        ready, rest = ray.wait([counter.add.remote(2)], num_returns=1)
        print(ray.get(ready), rest, ray.get(ray.get_actor("counter").add.remote(3)))
        print(int(ray.cluster_resources()["CPU"]), len(ray.nodes()))
        ray.kill(counter)
        try:
            ray.init()
        except Exception as error:
            print(error)
        import ray as module
        print(module.get(module.put(5)))
        ray.shutdown()
        print(ray.is_initialized(), module.is_initialized())
        try:
            ray.get
        except Exception as error:
            print(error)
"""


def test_a_program_that_has_taken_ray_from_ray_client_runs(scripts):
    assert scripts.run(CLIENT).splitlines() == [
        "6", "[2] [] 5", "2 1", "Trying to start two instances of ray via client", "5", "False False",
        "Ray Client is not connected. Please connect by calling `ray.init`."]
