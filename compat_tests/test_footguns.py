"""Ways in which a recorder of call patterns goes wrong silently, one test each. On Ray they are plain programs."""

import numpy as np
import pytest

ROUNDS = 6


@pytest.fixture
def box(ray):
    """An actor class that shows what it is given and keeps what it is told to."""

    @ray.remote
    class Box:
        def __init__(self, name=None):
            self.name, self.kept = name, []

        def echo(self, value):
            return value

        def named(self, value):
            return self.name, value

        def keep(self, value):
            self.kept.append(value)
            return len(self.kept)

        def all(self):
            return self.kept

        def total(self, array):
            return float(np.sum(array))

        def zeros(self, n):
            return np.zeros(n)

        def fail(self, when):
            if when:
                raise ValueError(when)
            return "well"

    return Box


def test_a_plain_value_is_read_anew_in_each_round(ray, box):
    actor = box.remote()
    assert [ray.get(actor.echo.remote(i * i)) for i in range(ROUNDS)] == [i * i for i in range(ROUNDS)]


def test_a_closure_is_not_frozen_with_the_first_loop_variable(ray, box):
    actor = box.remote()
    found = []
    for i in range(ROUNDS):
        found.append(ray.get(actor.echo.remote((lambda k=i: k)()) ))
    assert found == list(range(ROUNDS))


def test_an_argument_buffer_changed_after_the_call_is_not_seen(ray, box):
    actor, array = box.remote(), np.zeros(5000)
    for i in range(ROUNDS):
        array[:] = i
        ref = actor.total.remote(array)
        array[:] = -1
        assert ray.get(ref) == 5000 * i


def test_a_put_of_a_buffer_that_changes_is_a_copy_each_time(ray):
    array, refs = np.zeros(5000), []
    for i in range(ROUNDS):
        array[:] = i
        refs.append(ray.put(array))
    assert [ray.get(ref)[0] for ref in refs] == list(range(ROUNDS))


def test_two_views_of_one_buffer_arrive_as_they_are(ray, box):
    actor, base = box.remote(), np.arange(10_000)
    for i in range(ROUNDS):
        first, second = ray.get([actor.echo.remote(base[i:]), actor.echo.remote(base[::2])])
        assert first[0] == i and second[1] == 2 and len(second) == 5000


def test_a_result_kept_for_many_rounds_does_not_change(ray, box):
    actor = box.remote()
    small = [ray.get(actor.echo.remote(np.full(4, i))) for i in range(50)]
    large = [ray.get(actor.echo.remote(np.full(20_000, i))) for i in range(20)]
    assert [a[0] for a in small] == list(range(50)) and [a[-1] for a in large] == list(range(20))


def test_a_ref_kept_for_many_rounds_keeps_its_value(ray, box):
    actor = box.remote()
    refs = [actor.echo.remote(np.full(20_000, i)) for i in range(3)]
    for i in range(20):
        ray.get(actor.echo.remote(np.full(20_000, -i)))
    assert [ray.get(ref)[0] for ref in refs] == [0, 1, 2]


def test_a_result_nobody_reads_does_no_harm(ray, box):
    actor = box.remote()
    for i in range(ROUNDS):
        actor.echo.remote(np.full(20_000, 7))
        assert ray.get(actor.echo.remote(i)) == i


def test_one_call_site_serves_one_actor_after_the_other(ray, box):
    actors = [box.remote(k) for k in range(3)]
    assert [ray.get(actors[i % 3].named.remote(i)) for i in range(9)] == [(i % 3, i) for i in range(9)]


def test_an_actor_replaced_by_one_of_the_same_name_is_another(ray, box):
    for i in range(3):
        actor = box.options(name="again").remote(i)
        assert ray.get(actor.named.remote("x")) == (i, "x")
        pid_gone = ray.get_actor("again")
        ray.kill(actor)
        with pytest.raises(ray.exceptions.RayActorError):
            while True:  # a kill may take a moment
                ray.get(pid_gone.echo.remote(1))


def test_an_argument_of_another_layout_is_right_in_the_same_place(ray, box):
    actor = box.remote()
    values = [1, 1.5, "one", b"1", None, [1], {"one": 1}, (1, "x"), 2**80, {1, 2}, True]
    assert [ray.get(actor.echo.remote(value)) for value in values] == values
    shapes = [np.zeros(3), np.zeros((3, 2)), np.zeros(3, np.int8), np.zeros(0), np.zeros(10_000)]
    for array in shapes:
        got = ray.get(actor.echo.remote(array))
        assert got.shape == array.shape and got.dtype == array.dtype


def test_a_value_where_a_ref_was_and_a_ref_where_a_value_was(ray, box):
    actor = box.remote()
    for i in range(ROUNDS):
        argument = i if i % 2 else ray.put(i)
        assert ray.get(actor.echo.remote(argument)) == i


def test_a_ref_of_an_older_round_is_that_rounds_value(ray, box):
    actor, previous, found = box.remote(), None, []
    for i in range(ROUNDS):
        ref = actor.echo.remote(i)
        if previous is not None:
            found.append(ray.get(actor.echo.remote(previous)))
        previous = ref if i % 2 == 0 else previous
    assert found == [0, 0, 2, 2, 4]


def test_the_pattern_may_change_in_the_middle_of_a_round(ray, box):
    one, two = box.remote("one"), box.remote("two")
    seen = []
    for i in range(12):
        refs = [one.named.remote(i)]
        if i % 3 == 0:
            refs.append(two.named.remote(-i))
        if i % 4 == 1:
            refs.insert(0, two.echo.remote("between"))
        seen.append(ray.get(refs))
    assert seen == [
        (["between"] if i % 4 == 1 else []) + [("one", i)] + ([("two", -i)] if i % 3 == 0 else []) for i in range(12)
    ]


def test_rounds_of_another_length_are_right(ray, box):
    actor = box.remote()
    for n in (3, 3, 5, 1, 3, 0, 4, 3):
        assert ray.get([actor.echo.remote(i) for i in range(n)]) == list(range(n))


def test_an_error_in_some_rounds_leaves_the_others_alone(ray, box):
    actor = box.remote()
    for i in range(ROUNDS):
        wrong = "bad" if i % 3 == 2 else ""
        ref = actor.fail.remote(wrong)
        if wrong:
            with pytest.raises(ValueError, match="bad"):
                ray.get(ref)
        else:
            assert ray.get(ref) == "well"


def test_keywords_and_positions_of_the_same_call_are_not_mixed_up(ray):
    @ray.remote
    class Pair:
        def pair(self, a=1, b=2):
            return a, b

    actor = Pair.remote()
    calls = [{"a": 5}, {"b": 5}, {}, {"a": 3, "b": 4}, {"b": 4, "a": 3}]
    assert [ray.get(actor.pair.remote(**call)) for call in calls] == [(5, 2), (1, 5), (1, 2), (3, 4), (3, 4)]


def test_order_at_one_actor_is_the_order_of_the_calls_in_every_round(ray, box):
    actor = box.remote()
    for i in range(40):
        actor.keep.remote(i)
        if i % 7 == 0:
            ray.get(actor.echo.remote(None))
    assert ray.get(actor.all.remote()) == list(range(40))


def test_a_mutable_result_belongs_to_who_got_it(ray, box):
    actor = box.remote()
    for _ in range(ROUNDS):
        got = ray.get(actor.echo.remote([1, 2]))
        assert got == [1, 2]
        got.append(3)


def test_a_method_and_a_task_of_one_name_are_two_things(ray, box):
    @ray.remote
    def echo(value):
        return ("task", value)

    actor = box.remote()
    for i in range(ROUNDS):
        assert ray.get([actor.echo.remote(i), echo.remote(i)]) == [i, ("task", i)]
