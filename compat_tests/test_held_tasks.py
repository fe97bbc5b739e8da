"""Many tasks of one function that wait inside themselves: what they wait for starts beside them, wherever it was queued."""

import time

import pytest

BLOCKED = 12  # tasks, on two CPUs
ENOUGH = 20  # seconds; where one more of them starts at a time, with growing pauses, it takes longer


pytestmark = pytest.mark.needs_concurrency


@pytest.fixture
def cast(bare_ray, backend):
    ray = bare_ray
    backend.init(num_cpus=2)

    @ray.remote
    def follow(inside, *_):
        return ray.get(inside[0]) + 1

    @ray.remote
    def plain(value):
        return value

    @ray.remote
    def send(gate, value):
        return ray.get(gate.open.remote(value))

    @ray.remote(num_cpus=0)
    class Worker:
        def first(self):
            time.sleep(0.2)

        def nested(self, own):
            return ray.get(follow.remote([ray.put(1)]) if own else plain.remote(2))

    @ray.remote(num_cpus=0, max_concurrency=2)
    class Gate:
        value = None

        def open(self, value):
            self.value = value

        def wait(self):
            while self.value is None:
                time.sleep(0.01)
            return self.value

    return ray, follow, plain, send, Worker.remote(), Gate.remote()


@pytest.mark.parametrize("own", [True, False], ids=["of their own function", "of another function"])
def test_they_wait_for_a_call_of_the_actor_whose_first_result_they_needed(cast, own):
    ray, follow, _, _, worker, _ = cast
    needed, nested = worker.first.remote(), worker.nested.remote(own)
    assert ray.get([follow.remote([nested], needed) for _ in range(BLOCKED)], timeout=ENOUGH) == [3] * BLOCKED


def test_they_wait_for_a_task_of_another_function_that_was_submitted_after_them(cast):
    ray, follow, _, send, _, gate = cast
    opened = gate.wait.remote()
    followers = [follow.remote([opened]) for _ in range(BLOCKED)]
    send.remote(gate, 5)
    assert ray.get(followers, timeout=ENOUGH) == [6] * BLOCKED


def test_others_among_them_are_through_while_they_wait(cast):
    ray, follow, plain, send, _, gate = cast
    opened = gate.wait.remote()
    followers, others = [], []
    for n in range(BLOCKED):
        followers.append(follow.remote([opened]))
        others.append(plain.remote(n))
    assert ray.get(others, timeout=ENOUGH) == list(range(BLOCKED))
    send.remote(gate, 5)
    assert ray.get(followers, timeout=ENOUGH) == [6] * BLOCKED
