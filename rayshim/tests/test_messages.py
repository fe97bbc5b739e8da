"""What an error says: what was being done and where in the program, what was found, what to do."""

import io
import re

import pytest
from reactor.tests.calling import wait_until

import rayshim


@pytest.fixture
def ray():
    rayshim.init(num_cpus=2, placement="inline", logging_level="ERROR")
    yield rayshim
    rayshim.shutdown()


@rayshim.remote
class Env:
    def __init__(self, size):
        pass

    def step(self, action, *, seed=1):
        return 1


@rayshim.remote
def render(a, b=2):
    return 1


WRONG = {
    "class": (
        lambda ray: Env.remote(),
        TypeError,
        "missing a required argument: 'size': {module}.Env.remote() at {here} was given 0 positional arguments, but {module}.Env takes (size)",
    ),
    "method": (
        lambda ray: Env.remote(1).step.remote(1, 2),
        TypeError,
        "too many positional arguments: {module}.Env.step.remote() at {here} was given 2 positional arguments, but {module}.Env.step takes (action, seed=…)",
    ),
    "keyword": (
        lambda ray: render.remote(1, c=3),
        TypeError,
        "got an unexpected keyword argument 'c': {module}.render.remote() at {here} was given 1 positional argument and c=, but {module}.render takes (a, b=…)",
    ),
    "no method": (
        lambda ray: Env.remote(1).stop.remote(),
        AttributeError,
        "'ActorHandle' object has no attribute 'stop' (at {here}; the methods of Env are: step)",
    ),
    "method called": (
        lambda ray: Env.remote(1).step(1),
        TypeError,
        "Actor methods cannot be called directly. Instead of running 'object.step()', try 'object.step.remote()'. (at {here})",
    ),
    "function called": (
        lambda ray: render(1),
        TypeError,
        "Remote functions cannot be called directly. Instead of running '{module}.render()', try '{module}.render.remote()'. (at {here})",
    ),
    "class called": (
        lambda ray: Env(1),
        TypeError,
        "Actors cannot be instantiated directly. Instead of 'Env()', use 'Env.remote()'. (at {here})",
    ),
    "get": (
        lambda ray: ray.get([3]),
        TypeError,
        "Attempting to call `get` on the value 3, which is not an ray.ObjectRef. (get() at {here}: pass refs from `.remote()` or `put`)",
    ),
    "wait": (
        lambda ray: ray.wait([ray.put(1)], num_returns=3),
        ValueError,
        "num_returns cannot be greater than the number of ray_waitables provided to ray.wait. (wait() at {here}: num_returns=3, of 1 refs)",
    ),
    "kill": (
        lambda ray: ray.kill(3),
        ValueError,
        "ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: <class 'int'>. (kill() at {here})",
    ),
    "option": (
        lambda ray: render.options(num_cpus=-1),
        ValueError,
        "The quantity of resource num_cpus cannot be negative (num_cpus=-1 for remote functions at {here})",
    ),
    "context": (
        lambda ray: ray.get_runtime_context().current_actor,
        RuntimeError,
        "This method is only available in an actor. (at {here})",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_place_what_was_found_and_what_to_do(ray, name):
    call, kind, text = WRONG[name]
    with pytest.raises(kind) as caught:
        call(ray)
    here = f"{__file__}:{call.__code__.co_firstlineno}"
    assert str(caught.value) == text.format(module=__name__, here=here)


def test_an_argument_that_cannot_be_pickled(ray):
    import threading

    for call in (render.remote, Env.remote(1).step.remote):
        with pytest.raises(
            TypeError, match=rf"(?s)Could not serialize the argument .* \(at {re.escape(__file__)}:\d+\)"
        ):
            call(threading.Lock())


def test_what_is_of_an_earlier_session():
    rayshim.init(num_cpus=1, placement="inline", logging_level="ERROR")
    env, ref = Env.remote(1), rayshim.put(1)
    rayshim.shutdown()
    rayshim.init(num_cpus=1, placement="inline", logging_level="ERROR")
    try:
        with pytest.raises(
            rayshim.exceptions.ActorHandleNotFoundError,
            match=rf"Create the actor again after the new init\(\) \(used at {re.escape(__file__)}:\d+\)",
        ):
            env.step.remote(1)
        with pytest.raises(
            ValueError, match=rf"\(get\(\) at {re.escape(__file__)}:\d+\) Create them again after the new init"
        ):
            rayshim.get(ref)
    finally:
        rayshim.shutdown()


def test_what_asks_for_more_than_there_is_is_named(monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr("sys.stderr", stderr)
    rayshim.init(num_cpus=2, logging_level="ERROR")
    try:
        render.options(num_cpus=1000).remote(1)
        Env.options(num_cpus=999).remote(1)
        wait_until(lambda: stderr.getvalue().count("it will wait for ever") == 2)
    finally:
        rayshim.shutdown()
    told = stderr.getvalue()
    assert re.search(
        rf"the task render \(called at {re.escape(__file__)}:\d+\) asks for 1000 of CPU, of which there are 2: it will wait for ever\. Ask for less",
        told,
    )
    assert re.search(
        rf"the actor Env \(created at {re.escape(__file__)}:\d+\) asks for 999 of CPU, of which there are 2", told
    )


def _graph(ray):
    from rayshim.dag import InputNode

    with InputNode() as given:
        return render.bind(given)


def _pool(ray, *calls):
    from rayshim.util import ActorPool

    pool = ActorPool([Env.remote(1)])
    for call in calls:
        call(pool)


def _metric(kind, *arguments, **named):
    from rayshim.util import metrics

    return getattr(metrics, kind)(*arguments, **named)


def _iterator(ray):
    from rayshim.util import iter as iterators

    return iterators.from_range(4, num_shards=2)


def _strategy(name, *arguments, **named):
    from rayshim.util import scheduling_strategies

    return getattr(scheduling_strategies, name)(*arguments, **named)


def _collective(name, *arguments):
    from rayshim.util import collective

    return getattr(collective, name)(*arguments)


def _generator():
    return rayshim.remote(lambda: (yield 1)).remote()


async def _waits():
    pass


# Of what is around the core: Ray's words, and what is added to them.
AROUND = {
    "pool, order": (
        lambda ray: _pool(
            ray,
            *2 * [lambda p: p.submit(lambda a, x: a.step.remote(x), 1)],
            lambda p: p.get_next_unordered(),
            lambda p: (p._index_to_future.pop(p._next_return_index, None), p.get_next()),
        ),
        ValueError,
        "It is not allowed to call get_next() after get_next_unordered().",
        "go on with get_next_unordered()",
    ),
    "queue, timeout": (
        lambda ray: ray.util.queue.Queue().get(timeout=-1),
        ValueError,
        "'timeout' must be a non-negative number",
        "timeout=-1",
    ),
    "queue, items": (
        lambda ray: ray.util.queue.Queue().put_nowait_batch(3),
        TypeError,
        "Argument 'items' must be an Iterable",
        "<class 'int'>",
    ),
    "iterator": (
        lambda ray: list(_iterator(ray)),
        TypeError,
        "You must use it.gather_sync() or it.gather_async()",
        "from_range",
    ),
    "shards": (lambda ray: _iterator(ray).get_shard(2), ValueError, "Shard index out of range", "2, of 2 shards"),
    "metric, tags": (
        lambda ray: _metric("Gauge", "size", tag_keys=("who",)).set(1),
        ValueError,
        "Missing value for tag key(s): who.",
        "metric size",
    ),
    "metric, growth": (
        lambda ray: _metric("Counter", "steps").inc(-1),
        ValueError,
        "value must be >0, got -1",
        "use a Gauge",
    ),
    "group, bundles": (
        lambda ray: ray.util.placement_group([]),
        ValueError,
        "Bundles must be a non-empty list of resource dictionaries.",
        "placement_group() at",
    ),
    "group, strategy": (
        lambda ray: ray.util.placement_group([{"CPU": 1}], strategy="NEAR"),
        ValueError,
        "Invalid placement group strategy NEAR.",
        "placement_group() at",
    ),
    "group, name": (
        lambda ray: ray.util.get_placement_group("none"),
        ValueError,
        "Failed to look up placement group with name: none",
        "namespace",
    ),
    "strategy, node": (
        lambda ray: _strategy("NodeAffinitySchedulingStrategy", "zz", soft=False),
        ValueError,
        "Invalid node_id 'zz'.",
        "ray.nodes()",
    ),
    "strategy, labels": (
        lambda ray: _strategy("NodeLabelSchedulingStrategy", {}),
        ValueError,
        "cannot both be empty.",
        "give one a map",
    ),
    "collective, outside": (
        lambda ray: _collective("init_collective_group", 2, 0),
        RuntimeError,
        "The collective APIs shall be only used inside a Ray actor or task.",
        "create_collective_group",
    ),
    "collective, ranks": (
        lambda ray: _collective("create_collective_group", [Env.remote(1)], 1, [0, 1]),
        RuntimeError,
        "Each actor should correspond to one rank. Got '2' ranks but '1' actors",
        "create_collective_group() at",
    ),
    "dag, bind": (lambda ray: _graph(ray).bind(), AttributeError, ".bind() cannot be used again on", "FunctionNode"),
    "dag, tasks": (
        lambda ray: _graph(ray).experimental_compile(),
        NotImplementedError,
        "Compiled DAGs currently only support actor method nodes",
        "make it a method of an actor",
    ),
    "dag, outputs": (
        lambda ray: ray.dag.MultiOutputNode(3),
        ValueError,
        "Invalid input type for `args`, <class 'int'>.",
        "a list of nodes",
    ),
    "environment, variables": (
        lambda ray: render.options(runtime_env={"env_vars": {"A": 1}}).remote(1),
        TypeError,
        "runtime_env['env_vars'] must be of type Dict[str, str], but the value 1 is of type <class 'int'>",
        "at",
    ),
    "environment, directory": (
        lambda ray: render.options(runtime_env={"working_dir": "/no/such"}).remote(1),
        ValueError,
        "/no/such is not a valid path.",
        "the current directory is",
    ),
    "environment, packages": (
        lambda ray: ray.get(render.options(runtime_env={"conda": "other"}).remote(1)),
        rayshim.exceptions.RuntimeEnvSetupError,
        "needs an installation or another service",
        "Install it yourself and remove this field",
    ),
    "init, address": (
        lambda ray: (ray.shutdown(), ray.init(address="there")),
        ValueError,
        "Invalid address format: there",
        "host:port, ray://host:port, 'auto' or 'local'",
    ),
    "init, cluster": (
        lambda ray: (ray.shutdown(), ray.init(address="auto")),
        ConnectionError,
        "Could not find any running Ray instance",
        "`rayshim start --head` starts one",
    ),
    "init, argument": (
        lambda ray: (ray.shutdown(), ray.init(num_cpu=1)),
        RuntimeError,
        "Unknown keyword argument(s): num_cpu",
        "help(rayshim.init)",
    ),
    "logging, encoding": (
        lambda ray: ray.LoggingConfig(encoding="XML"),
        ValueError,
        "Invalid encoding type: XML. Valid encoding types are: ['TEXT', 'JSON']",
        "LoggingConfig() at",
    ),
    "logging, attribute": (
        lambda ray: ray.LoggingConfig(additional_log_standard_attrs=["size"]),
        ValueError,
        "Unknown python logging standard attribute: size. The valid attributes are: ",
        "LoggingConfig() at",
    ),
    "logging, level": (
        lambda ray: (ray.shutdown(), ray.init(logging_config=ray.LoggingConfig(log_level="LOUD"))),
        ValueError,
        "Unknown level: 'LOUD'",
        "in capitals",
    ),
    "dag, settings": (
        lambda ray: ray.dag.context.DAGContext(get_timeout=0),
        ValueError,
        "must be less than or equal to RAY_CGRAPH_get_timeout (0)",
        "another number of seconds",
    ),
    "dag, collective": (
        lambda ray: ray.experimental.collective.allreduce.bind([3]),
        ValueError,
        "Expected all input nodes to be DAGNode, but got [3]",
        "the bind() of actor methods",
    ),
    "option, of a method": (
        lambda ray: Env.remote(1).step.options(num_returns=1.5),
        TypeError,
        "The type of keyword 'num_returns' must be ",
        "num_returns=1.5 for actor methods",
    ),
    "option, placement": (
        lambda ray: render.options(max_calls=1),
        ValueError,
        "Setting 'max_calls' is not supported in '.options()'.",
        "give it to @ray.remote",
    ),
    "generator, passed": (
        lambda ray: _generator().send(1),
        NotImplementedError,
        "`gen.send` is not supported.",
        "with next() or a for loop",
    ),
    "id": (lambda ray: rayshim.ActorID(b"1"), ValueError, "ID string needs to have length 16, got 1", "ActorID at"),
    "async task": (
        lambda ray: ray.remote(_waits),
        ValueError,
        "'async def' should not be used for remote tasks.",
        "_waits",
    ),
    "multiprocessing": (
        lambda ray: ray.util.multiprocessing.Pool(1).join(),
        ValueError,
        "Pool is still running",
        "call close() or terminate() first",
    ),
    "init, ordering": (
        lambda ray: (ray.shutdown(), ray.init(ordering="none")),
        ValueError,
        "init(ordering='none'): must be one of",
        "'logical'",
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_is_around_the_core_keeps_rays_words_and_names_the_place(ray, name, tmp_path, monkeypatch):
    import rayshim.dag
    import rayshim.dag.context
    import rayshim.experimental.collective
    import rayshim.util.multiprocessing
    import rayshim.util.queue  # noqa: F401

    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))  # no other program's session is found there
    call, kind, words, told = AROUND[name]
    with pytest.raises(kind) as caught:
        call(ray)
    text = str(caught.value)
    assert words in text and told in text
    assert re.search(rf"at {re.escape(__file__)}:\d+", text), text


def test_a_task_whose_worker_died_is_named():
    import os

    rayshim.init(num_cpus=1, logging_level="ERROR")
    try:

        @rayshim.remote(max_retries=0)
        def leave():
            os._exit(3)

        @rayshim.remote
        def stay():
            return 1

        for text in (r"leave\(\) in pid=\d+: it exited with code 3", r"a name\(\) in pid=\d+: it exited with code 3"):
            assert rayshim.get(stay.remote()) == 1
            with pytest.raises(rayshim.exceptions.WorkerCrashedError, match=text):
                rayshim.get((leave if "leave" in text else leave.options(name="a name")).remote())
    finally:
        rayshim.shutdown()


def test_what_ends_a_worker_before_its_task_begins_names_no_other_task():
    import os

    class Ends:
        def __reduce__(self):
            return os._exit, (4,)

    rayshim.init(num_cpus=1, logging_level="ERROR")
    try:
        assert rayshim.get(render.remote(1)) == 1
        with pytest.raises(rayshim.exceptions.WorkerCrashedError, match=r"this task\. pid=\d+: it exited with code 4"):
            rayshim.get(render.options(max_retries=0).remote(Ends()))
    finally:
        rayshim.shutdown()


def test_too_few_results_in_a_compiled_graph_name_the_method():
    @rayshim.remote
    class Splits:
        @rayshim.method(num_returns=2)
        def split(self, x):
            return (x,)

        def step(self, x):
            return x

    from rayshim.dag import InputNode, MultiOutputNode

    rayshim.init(num_cpus=2, logging_level="ERROR")
    try:
        with InputNode() as given:
            actor = Splits.remote()
            graph = MultiOutputNode(list(actor.split.bind(actor.step.bind(given)))).experimental_compile()
        with pytest.raises(
            ValueError,
            match=r"Expected 2 outputs, but got 1 outputs \(from .*split: return a tuple with a value for each",
        ):
            rayshim.get(graph.execute(1))
    finally:
        rayshim.shutdown()
