import asyncio
import importlib
import pickle

import numpy as np
import pytest

def test_get_of_a_list_keeps_its_order_and_repetitions(ray):
    refs = [ray.put(i) for i in range(5)]
    assert ray.get([refs[3], refs[0], refs[3]]) == [3, 0, 3]
    assert ray.get([]) == []


@pytest.mark.parametrize("wrong", [3, None, "ref", (), {}])
def test_get_refuses_what_is_neither_a_ref_nor_a_list(ray, wrong):
    with pytest.raises(ValueError, match=type(wrong).__name__):
        ray.get(wrong)


def test_get_refuses_a_list_with_something_else_in_it(ray):
    with pytest.raises(TypeError, match="3"):
        ray.get([ray.put(1), 3])


def test_put_refuses_a_ref(ray):
    with pytest.raises(TypeError, match="ObjectRef"):
        ray.put(ray.put(1))


def test_a_put_value_is_a_copy(ray):
    items = [1]
    ref = ray.put(items)
    items.append(2)
    assert ray.get(ref) == [1]


def test_each_get_gives_a_copy_of_its_own(ray):
    ref = ray.put({"items": []})
    ray.get(ref)["items"].append(1)
    assert ray.get(ref) == {"items": []}
    first, second = ray.get([ref, ref])
    assert first is not second


def test_each_task_gets_a_copy_of_its_own(ray):
    @ray.remote
    def append(items):
        items.append(1)
        return items

    ref = ray.put([])
    assert ray.get([append.remote(ref) for _ in range(3)]) == [[1]] * 3


def test_one_value_met_twice_in_a_message_is_one_object_after_it(ray):
    shared = [1]
    first, second = ray.get(ray.put((shared, shared)))
    assert first is second


def test_a_value_may_contain_itself(ray):
    loop = []
    loop.append(loop)
    arrived = ray.get(ray.put(loop))
    assert arrived[0] is arrived


@pytest.mark.parametrize("length", [3, 300_000])
def test_arrays_from_get_are_read_only(ray, length):
    array = ray.get(ray.put(np.arange(length)))
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    mine = array.copy()
    mine[0] = 1
    assert array[0] == 0


@pytest.mark.parametrize("length", [3, 300_000])
def test_arrays_in_arguments_are_read_only(ray, length):
    @ray.remote
    def writeable(direct, nested):
        return direct.flags.writeable, nested["array"].flags.writeable

    array = np.arange(length)
    assert ray.get(writeable.remote(array, {"array": array})) == (False, False)
    assert ray.get(writeable.remote(ray.put(array), {"array": array})) == (False, False)
    assert array.flags.writeable


def test_a_ref_as_an_argument_is_resolved(ray):
    @ray.remote
    def show(a, *, b):
        return a, b

    assert ray.get(show.remote(ray.put(1), b=ray.put(2))) == (1, 2)


def test_a_ref_inside_a_container_is_left_alone(ray):
    @ray.remote
    def kinds(items, mapping):
        return type(items[0]).__name__, ray.get(items[0]), ray.get(mapping["ref"])

    assert ray.get(kinds.remote([ray.put(1)], {"ref": ray.put(2)})) == ("ObjectRef", 1, 2)


def test_a_ref_inside_a_put_value_is_left_alone(ray):
    inner = ray.put("inner")
    outer = ray.get(ray.put({"refs": [inner]}))
    assert outer["refs"] == [inner]
    assert ray.get(outer["refs"]) == ["inner"]


def test_a_ref_inside_an_object_is_left_alone(ray):
    class Holder:
        def __init__(self, ref):
            self.ref = ref

    @ray.remote
    def read(holder):
        return ray.get(holder.ref)

    assert ray.get(read.remote(Holder(ray.put(5)))) == 5


def test_a_ref_in_a_closure_stays_valid(ray):
    ref = ray.put(5)

    @ray.remote
    def read():
        return ray.get(ref)

    assert ray.get([read.remote(), read.remote()]) == [5, 5]


def test_many_refs_travel_together(ray):
    @ray.remote
    def total(refs):
        return sum(ray.get(refs))

    refs = [ray.put(i) for i in range(2000)]
    assert ray.get(total.remote(refs)) == sum(range(2000))
    assert ray.get(refs) == list(range(2000))


def test_a_ref_passed_from_hand_to_hand_stays_valid(ray):
    @ray.remote
    def hand_on(refs):
        return refs

    refs = [ray.put(np.arange(100_000))]
    for _ in range(5):
        refs = ray.get(hand_on.remote(refs))
    assert ray.get(refs[0])[-1] == 99_999


def test_a_ref_given_twice_is_resolved_twice(ray):
    @ray.remote
    def pair(a, b, *, c):
        return a, b, c

    ref = ray.put([1])
    assert ray.get(pair.remote(ref, ref, c=ref)) == ([1], [1], [1])


def test_a_ref_that_resolves_to_a_ref_is_resolved_once(ray):
    @ray.remote
    def make():
        return ray.put("deep")

    @ray.remote
    def resolve(once):
        assert isinstance(once, ray.ObjectRef)
        return ray.get(once)

    assert ray.get(resolve.remote(make.remote())) == "deep"


def test_refs_nest_to_any_depth(ray):
    ref = ray.put("bottom")
    for _ in range(10):
        ref = ray.put([ref])
    for _ in range(10):
        [ref] = ray.get(ref)
    assert ray.get(ref) == "bottom"


def test_a_ref_stored_in_an_actor_stays_valid(ray):
    @ray.remote
    class Shelf:
        def store(self, refs):
            self.refs = refs

        def hand_out(self):
            return self.refs

        def read(self):
            return ray.get(self.refs)

    shelf = Shelf.remote()
    ray.get(shelf.store.remote([ray.put(1), ray.put(2)]))
    assert ray.get(shelf.read.remote()) == [1, 2]
    assert ray.get(ray.get(shelf.hand_out.remote())) == [1, 2]


def test_a_put_in_a_task_is_read_by_the_driver(ray):
    @ray.remote
    def make():
        return [ray.put(np.full(100_000, i)) for i in range(3)]

    arrays = ray.get(ray.get(make.remote()))
    assert [array.sum() for array in arrays] == [0, 100_000, 200_000]


def test_refs_are_values_that_hash_and_compare(ray):
    one, other = ray.put(1), ray.put(1)
    [same] = ray.get(ray.put([one]))
    assert same == one and hash(same) == hash(one)
    assert one != other
    assert {one: "one", other: "other"}[same] == "one"
    assert same.hex() == one.hex() and same.binary() == one.binary()
    assert one.hex() in repr(one)


def test_a_ref_is_no_value(ray):
    ref = ray.put([1])
    for misuse in (list, len, lambda ref: ref + 1):
        with pytest.raises(TypeError):
            misuse(ref)


def test_a_value_with_its_own_pickling_uses_it(ray):
    class Pickled:
        def __init__(self, value):
            self.value = value
            self.trail = ["init"]

        def __reduce__(self):
            return type(self), (self.value + 1,)

    assert ray.get(ray.put(Pickled(1))).value == 2


def test_what_an_actor_returned_can_be_pickled_again_by_the_driver(ray):
    @ray.remote
    def make():
        return {"array": np.arange(10), "items": (1, 2)}

    again = pickle.loads(pickle.dumps(ray.get(make.remote())))
    assert again["items"] == (1, 2) and again["array"].sum() == 45


def test_a_driver_inside_an_event_loop_may_get(ray):
    async def notebook_cell():
        return ray.get(ray.put(1))

    assert asyncio.run(notebook_cell()) == 1


@pytest.mark.needs_concurrency
def test_get_with_a_timeout_gives_up_and_may_be_repeated(ray, gate):
    @ray.remote
    def stay():
        gate.enter()
        return "left"

    ref = stay.remote()
    with pytest.raises(ray.exceptions.GetTimeoutError) as caught:
        ray.get(ref, timeout=0.1)
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get([ref], timeout=0)
    gate.open()
    assert ray.get(ref) == "left"


def test_get_with_a_timeout_gives_what_is_there(ray):
    assert ray.get(ray.put(1), timeout=0) == 1
    assert ray.get([ray.put(1), ray.put(2)], timeout=10) == [1, 2]


@pytest.mark.needs_concurrency
def test_get_of_a_list_with_a_timeout_wants_all_of_it(ray, gate):
    @ray.remote
    def stay():
        gate.enter()

    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get([ray.put(1), stay.remote()], timeout=0.1)


def test_a_ref_made_from_an_id_is_a_name(ray):
    made = ray.ObjectRef(b"0123456789" * 2 + b"01234567")
    assert made.binary() == b"0123456789012345678901234567" and made == ray.ObjectRef.from_binary(made.binary())
    assert not made.is_nil() and ray.ObjectRef.nil().is_nil() and ray.ObjectRef.from_random() != ray.ObjectRef.from_random()
    assert pickle.loads(pickle.dumps(made)) == made
    assert ray.put(1) != made


@pytest.mark.parametrize("wrong", [b"short", b"x" * 29])
def test_an_id_of_another_length_is_refused(ray, wrong):
    with pytest.raises(ValueError, match="needs to have length"):
        ray.ObjectRef(wrong)


def test_the_nil_ref_has_no_value(ray):
    with pytest.raises(ValueError, match="owner is unknown"):
        ray.get(ray.ObjectRef.nil())


def test_where_an_object_lies(ray):
    experimental = importlib.import_module(f"{ray.__name__}.experimental")
    array = np.zeros(1000, dtype=np.uint8)
    ref = ray.put(array)
    place = experimental.get_object_locations([ref])[ref]
    assert place["node_ids"] == [ray.get_runtime_context().get_node_id()] and place["object_size"] > 1000
    assert experimental.get_object_locations([]) == {}
