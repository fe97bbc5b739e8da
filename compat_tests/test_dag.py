"""Graphs of bound calls, run call by call."""

import pytest

from compat_tests.dags import dag  # noqa: F401  a fixture

pytestmark = pytest.mark.filterwarnings("ignore:DAGNode.execute:DeprecationWarning")


def counter(ray):
    @ray.remote
    class Counter:
        def __init__(self, start=0):
            self.count = start

        def add(self, n):
            self.count += n
            return self.count

        def pair(self, n):
            return n, n + 1

        def get(self):
            return self.count

    return Counter


def functions(ray):
    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote
    def add(x, y=0):
        return x + y

    return double, add


def test_a_graph_of_functions_runs_each_call_once(ray, gate):
    double, add = functions(ray)

    @ray.remote
    def first():
        gate.touch(f"here-{id(object())}")
        return 3

    root = first.bind()
    graph = add.bind(double.bind(root), add.bind(root, y=root))
    assert ray.get(graph.execute()) == 12
    assert gate.inside() == 1


def test_execute_warns_that_it_is_deprecated(ray):
    @ray.remote
    def three():
        return 3

    with pytest.warns(DeprecationWarning, match=r"DAGNode\.execute\(\) is deprecated"):
        assert ray.get(three.bind().execute()) == 3


def test_nodes_inside_containers_become_refs(ray):
    double, _ = functions(ray)

    @ray.remote
    def total(parts):
        return sum(ray.get(list(parts.values())))

    graph = total.bind({"a": double.bind(1), "b": double.bind(2)})
    assert ray.get(graph.execute()) == 6


def test_the_input_is_the_argument_of_execute(ray):
    double, add = functions(ray)
    with ray.dag.InputNode() as inp:
        graph = add.bind(double.bind(inp), inp)
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [3, 6]


def test_parts_of_the_input(ray):
    _, add = functions(ray)

    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    with ray.dag.InputNode() as inp:
        by_index = add.bind(inp[0], inp[1])
    with ray.dag.InputNode() as inp:
        by_name = add.bind(inp.x, y=inp.y)
    with ray.dag.InputNode() as inp:
        by_key = add.bind(inp["x"], inp["y"])
    assert ray.get(by_index.execute(1, 2)) == ray.get(by_index.execute([1, 2])) == 3
    assert ray.get(by_name.execute(x=1, y=2)) == ray.get(by_name.execute(Point(1, 2))) == 3
    assert ray.get(by_key.execute(x=1, y=2)) == ray.get(by_key.execute({"x": 1, "y": 2})) == 3


def test_an_input_outside_of_with_cannot_run(ray):
    double, _ = functions(ray)
    with pytest.raises(AssertionError, match="context manager"):
        double.bind(ray.dag.InputNode()).execute(1)


def test_two_inputs_in_one_graph_are_refused(ray):
    double, add = functions(ray)
    with ray.dag.InputNode() as one:
        a = double.bind(one)
    with ray.dag.InputNode() as other:
        b = double.bind(other)
    with pytest.raises(AssertionError, match="one unique InputNode"):
        add.bind(a, b).execute(1)


def test_wrong_uses_of_an_input_are_refused(ray):
    with pytest.raises(ValueError, match="should not take any args or kwargs"):
        ray.dag.InputNode(1)
    with ray.dag.InputNode() as inp:
        with pytest.raises(AssertionError, match="int index or str"):
            inp[1, 2]
        with pytest.raises(ValueError, match="cannot be used as args, kwargs"):
            counter(ray).bind(inp)


def test_a_bound_class_is_an_actor_of_each_execution(ray):
    Counter = counter(ray)
    with ray.dag.InputNode() as inp:
        actor = Counter.bind(10)
        actor.add.bind(inp)
        graph = actor.add.bind(inp)
    # Calls of one bound actor run in the order of binding, those included whose results nobody takes.
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [12, 14]
    with pytest.raises(AttributeError):
        actor.missing


def test_methods_of_an_actor_that_is_there_already(ray):
    actor = counter(ray).remote()
    with ray.dag.InputNode() as inp:
        graph = actor.add.bind(actor.add.bind(inp))
    assert [ray.get(graph.execute(n)) for n in (1, 2)] == [2, 8]
    assert ray.get(actor.get.remote()) == 8


def test_the_results_of_a_method_are_nodes_of_their_own(ray):
    double, _ = functions(ray)
    actor = counter(ray).remote()
    with ray.dag.InputNode() as inp:
        low, high = actor.pair.options(num_returns=2).bind(inp)
        graph = ray.dag.MultiOutputNode([double.bind(high), low])
    assert ray.get(graph.execute(1)) == [4, 1]


def test_several_outputs_need_a_list(ray):
    double, _ = functions(ray)
    with pytest.raises(ValueError, match="Invalid input type"):
        ray.dag.MultiOutputNode(double.bind(1))
    assert ray.get(ray.dag.MultiOutputNode((double.bind(1), double.bind(2))).execute()) == [2, 4]


def test_an_error_of_a_call_is_that_of_what_depends_on_it(ray):
    double, _ = functions(ray)

    @ray.remote
    def fail(x):
        raise ValueError(f"no {x}")

    with pytest.raises(ValueError, match="no 7"):
        ray.get(double.bind(fail.bind(7)).execute())


def test_nodes_tell_what_was_bound(ray):
    double, add = functions(ray)
    a, b = double.bind(1), double.bind(2)
    node = add.options(num_cpus=0, name="sum").bind(a, y=[b])
    assert node.get_args() == (a,)
    assert node.get_kwargs() == {"y": [b]}
    assert node.get_options()["name"] == "sum"
    assert node._get_toplevel_child_nodes() == [a]
    assert node._get_all_child_nodes() == [a, b]
    assert node.get_stable_uuid() in str(node)


def test_options_of_a_bound_function_on_a_gpu(ray):
    @ray.remote(num_gpus=1)
    def on_gpu():
        pass

    assert on_gpu.bind().get_options() == {"max_calls": 1, "num_gpus": 1}
    assert on_gpu.options(num_cpus=2).bind().get_options() == {"num_gpus": 1, "num_cpus": 2}


def test_a_node_is_neither_called_nor_bound_again(ray):
    double, _ = functions(ray)
    node = double.bind(1)
    with pytest.raises(AttributeError, match="use .execute()"):
        node.remote()
    with pytest.raises(AttributeError, match="cannot be used again"):
        node.bind()


def test_binding_wrong_arguments_to_a_method_fails_there(ray):
    actor = counter(ray).remote()
    text = r"too many positional arguments\. The function `add` has a signature `\(n\)`, but the given arguments to `bind` doesn't match\. "
    with pytest.raises(TypeError, match=text + r"args: \(1, 2, 3\)\. kwargs: {}\."):
        actor.add.bind(1, 2, 3)


def test_a_method_of_a_bound_class_is_only_bound(ray):
    node = counter(ray).bind()
    with pytest.raises(TypeError, match="'_UnboundClassMethodNode' object is not callable"):
        node.add(1)
    with pytest.raises(AttributeError, match=r"\.remote\(\) cannot be used on ClassMethodNodes\. Use \.bind\(\) instead"):
        node.add.remote(1)


def test_a_function_of_each_node_children_first(ray):
    double, add = functions(ray)
    root = double.bind(1)
    graph = add.bind(double.bind(root), root)
    order = []
    graph.apply_recursive(lambda node: order.append(node.get_stable_uuid()))
    assert order[0] == root.get_stable_uuid() and order[-1] == graph.get_stable_uuid()
    assert len(order) == 3


def test_what_each_node_gave_is_kept_on_request(ray):
    double, _ = functions(ray)
    node = double.bind(1)
    graph = double.bind(node)
    graph.execute(_ray_cache_refs=True)
    kept = graph.cache_from_last_execute
    assert ray.get(kept[node.get_stable_uuid()]) == 2
