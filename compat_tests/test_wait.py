import pytest


def test_wait_for_all_keeps_the_order(ray):
    @ray.remote
    def identity(x):
        return x

    refs = [identity.remote(i) for i in range(10)]
    ready, rest = ray.wait(refs, num_returns=10)
    assert ready == refs
    assert rest == []


def test_wait_gives_one_unless_told(ray):
    refs = [ray.put(i) for i in range(3)]
    ready, rest = ray.wait(refs)
    assert len(ready) == 1
    assert sorted(map(str, ready + rest)) == sorted(map(str, refs))


def test_wait_gives_no_more_than_asked_though_all_are_ready(ray):
    refs = [ray.put(i) for i in range(5)]
    ready, rest = ray.wait(refs, num_returns=2)
    assert len(ready) == 2
    assert ready == [ref for ref in refs if ref in ready]
    assert rest == [ref for ref in refs if ref not in ready]


@pytest.mark.rayshim_only
def test_wait_gives_the_first_of_the_list_when_all_are_ready(ray):
    refs = [ray.put(i) for i in range(5)]
    assert ray.wait(refs, num_returns=2) == (refs[:2], refs[2:])


def test_wait_again_and_again_gives_each_ref_once(ray):
    @ray.remote
    def identity(x):
        return x

    pending = [identity.remote(i) for i in range(20)]
    seen = []
    while pending:
        ready, pending = ray.wait(pending)
        seen += ray.get(ready)
    assert sorted(seen) == list(range(20))


@pytest.mark.needs_concurrency
def test_wait_gives_what_is_done_though_an_earlier_one_is_not(ray, gate):
    @ray.remote
    def stay():
        gate.enter()

    @ray.remote
    def leave():
        pass

    staying, left = stay.remote(), leave.remote()
    assert ray.wait([staying, left]) == ([left], [staying])
    gate.open()
    assert ray.wait([staying, left], num_returns=2) == ([staying, left], [])


@pytest.mark.needs_concurrency
def test_wait_with_a_timeout_gives_what_there_is(ray, gate):
    @ray.remote
    def stay():
        gate.enter()

    done, staying = ray.put(1), stay.remote()
    assert ray.wait([done, staying], num_returns=2, timeout=0.1) == ([done], [staying])
    assert ray.wait([staying], timeout=0) == ([], [staying])


def test_a_failed_task_counts_as_ready(ray):
    @ray.remote
    def fail():
        raise ValueError

    ref = fail.remote()
    assert ray.wait([ref]) == ([ref], [])


def test_wait_works_inside_a_task(ray):
    @ray.remote
    def identity(x):
        return x

    @ray.remote
    def collect():
        pending = [identity.remote(i) for i in range(5)]
        seen = []
        while pending:
            ready, pending = ray.wait(pending)
            seen += ray.get(ready)
        return sorted(seen)

    assert ray.get(collect.remote()) == [0, 1, 2, 3, 4]


def test_wait_takes_fetch_local(ray):
    ref = ray.put(1)
    assert ray.wait([ref], fetch_local=False) == ([ref], [])


def test_wait_for_nothing_gives_nothing(ray):
    assert ray.wait([]) == ([], [])


@pytest.mark.parametrize("count", [0, -1, 2])
def test_wait_refuses_a_count_that_the_list_cannot_give(ray, count):
    with pytest.raises(ValueError):
        ray.wait([ray.put(1)], num_returns=count)


def test_wait_refuses_the_same_ref_twice(ray):
    ref = ray.put(1)
    with pytest.raises(ValueError, match="unique"):
        ray.wait([ref, ref])


def test_wait_refuses_a_negative_timeout(ray):
    with pytest.raises(ValueError, match="-1"):
        ray.wait([ray.put(1)], timeout=-1)


def test_wait_refuses_what_is_no_list_of_refs(ray):
    ref = ray.put(1)
    for wrong in (ref, (ref,), [1]):
        with pytest.raises(TypeError):
            ray.wait(wrong)
