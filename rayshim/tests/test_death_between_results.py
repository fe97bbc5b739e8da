"""A worker that is killed after the first result of a call can be seen and before the last: all results come, or the call is run again."""

import os
import signal

import pytest

import rayshim as ray

RESULTS = 5000  # to show them takes long enough for the first one's reader to kill the worker meanwhile
KILLS = 10


@ray.remote
class Plain:
    def pid(self):
        return os.getpid()

    def many(self):
        return [0] * RESULTS


@ray.remote
class Async:
    async def pid(self):
        return os.getpid()

    async def many(self):
        return [0] * RESULTS


@pytest.mark.parametrize("retries", [0, -1])
@pytest.mark.parametrize("kind", ["plain", "threaded", "async"])
@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_the_results_of_a_call_come_all_or_none(placement, kind, retries):
    ray.init(num_cpus=2, placement=placement, log_to_driver=False)
    try:
        options = {
            "max_restarts": -1,
            "max_task_retries": retries,
            **({"max_concurrency": 2} if kind == "threaded" else {}),
        }
        actor = (Async if kind == "async" else Plain).options(**options).remote()
        killed = 0
        while killed < KILLS:
            try:
                pid = ray.get(actor.pid.remote())
            except ray.exceptions.ActorUnavailableError:
                continue
            refs = actor.many.options(num_returns=RESULTS).remote()
            ray.wait(refs[:1])
            os.kill(pid, signal.SIGKILL)
            killed += 1
            failed = sum(isinstance(_result(ref), ray.exceptions.ActorUnavailableError) for ref in refs)
            assert failed in ((0,) if retries else (0, RESULTS))
    finally:
        ray.shutdown()


def _result(ref):
    try:
        return ray.get(ref)
    except ray.exceptions.ActorUnavailableError as error:
        return error
