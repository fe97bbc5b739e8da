"""The state API's argument `address`, and what it tells of an actor's environment.

Real Ray answers from its dashboard, which the tests start without: these tests run on rayshim only. The texts and classes are Ray's.
"""

import importlib
import json

import pytest

pytestmark = pytest.mark.rayshim_only


@pytest.fixture
def state(ray):
    return importlib.import_module(f"{ray.__name__}.util.state")


@pytest.fixture
def actor(ray):
    @ray.remote(num_cpus=0)
    class Named:
        def ready(self):
            pass

    def make(**options):
        made = Named.options(**options).remote()
        if options.get("num_cpus", 0) < 100:
            ray.get(made.ready.remote())
        return made

    return make


def test_the_own_address_is_accepted(ray, state):
    for address in (None, "auto", ray.get_runtime_context().gcs_address):
        assert len(state.list_nodes(address=address)) == 1


def test_an_address_without_a_session_is_refused(ray, state):
    for ask in (state.list_nodes, state.list_actors, state.summarize_tasks):
        with pytest.raises(state.exception.ServerUnavailable, match="Failed to make request to http://127.0.0.1:1/api/v0/"):
            ask(address="http://127.0.0.1:1")
        with pytest.raises(ray.exceptions.RpcError, match="Timed out while waiting for GCS"):
            ask(address="127.0.0.1:1")
        with pytest.raises(ValueError, match="Invalid address format: there"):
            ask(address="there")
    with pytest.raises(ValueError, match="Invalid address format"):
        state.list_logs(address="http://127.0.0.1:1", node_id="x")


def test_an_actor_tells_its_environment(state, actor):
    plain, own = actor(), actor(runtime_env={"env_vars": {"A": "1"}})
    of = {one: state.get_actor(one._actor_id.hex()).serialized_runtime_env for one in (plain, own)}
    assert of[plain] == "{}" and json.loads(of[own])["env_vars"]["A"] == "1"
    assert state.get_actor(plain._actor_id.hex()).repr_name == ""


def test_an_actor_that_waits_for_a_place_is_on_no_node(ray, backend, state, actor):
    if backend.is_serial:
        pytest.skip("there, an actor that cannot run is refused")
    assert state.get_actor(actor(num_cpus=1000)._actor_id.hex()).node_id is None
    assert state.get_actor(actor()._actor_id.hex()).node_id == ray.get_runtime_context().get_node_id()


def test_explain_tells_how_many_more_there_are(state, actor):
    _actors = [actor(), actor()]
    with pytest.warns(UserWarning, match=r"Limit last 1 entries \(Total 2\)"):
        assert len(state.list_actors(limit=1, _explain=True)) == 1
