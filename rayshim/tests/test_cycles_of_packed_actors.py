"""What the actors of a packed worker leave in cycles ends soon after them, also where a collection takes long and actors leave all the time."""

import time

import pytest
from reactor.tests.calling import wait_until

import rayshim as ray


@pytest.fixture(autouse=True)
def one_worker():
    ray.init(num_cpus=4, placement=ray.packed(1), log_to_driver=False)
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
class Burden:
    """Makes a collection in its worker take long."""

    def __init__(self):
        self.kept = [[k] for k in range(400_000)]


@ray.remote(num_cpus=0)
class InCycles:
    def __init__(self, directory, number):
        class Noted:
            def __del__(self):
                (directory / str(number)).touch()

        noted = Noted()
        self.noted = noted.itself = noted

    def there(self):
        return True


def test_cycles_of_actors_that_leave_one_after_the_other_are_collected(tmp_path):
    burden = Burden.remote()
    for number in range(30):
        actor = InCycles.remote(tmp_path, number)
        assert ray.get(actor.there.remote())
        del actor
        time.sleep(0.002)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 30)
    del burden
