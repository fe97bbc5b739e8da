import pytest


def test_num_returns_splits_a_tuple_into_refs(ray):
    @ray.remote(num_returns=3)
    def three():
        return 1, 2, 3

    refs = three.remote()
    assert len(refs) == 3
    assert ray.get(list(refs)) == [1, 2, 3]
    assert ray.get(refs[1]) == 2


def test_num_returns_of_one_keeps_a_tuple_whole(ray):
    @ray.remote
    def pair():
        return 1, 2

    assert ray.get(pair.remote()) == (1, 2)


def test_num_returns_of_none_gives_no_ref_and_still_runs(ray, tmp_path):
    @ray.remote
    class Log:
        def write(self):
            (tmp_path / "ran").touch()

        def written(self):
            return (tmp_path / "ran").exists()

    log = Log.remote()
    assert log.write.options(num_returns=0).remote() is None
    assert ray.get(log.written.remote())


@pytest.mark.parametrize("returned", [(1, 2, 3), (), 1])
def test_another_number_of_results_than_num_returns_is_an_error_of_each(ray, returned):
    @ray.remote(num_returns=2)
    def wrong():
        return returned

    for ref in wrong.remote():
        with pytest.raises((ValueError, TypeError)) as caught:
            ray.get(ref)
        assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_num_returns_of_a_method(ray):
    @ray.remote
    class Splitter:
        @ray.method(num_returns=2)
        def split(self, pair):
            return pair

    splitter = Splitter.remote()
    assert ray.get(splitter.split.remote((1, 2))) == [1, 2]
    assert ray.get(splitter.split.options(num_returns=1).remote((1, 2))) == (1, 2)


def test_an_exception_is_the_result_of_every_ref(ray):
    @ray.remote(num_returns=2)
    def fail():
        raise ValueError("both")

    for ref in fail.remote():
        with pytest.raises(ValueError, match="both"):
            ray.get(ref)


def test_options_hold_for_what_they_return_only(ray):
    @ray.remote
    def pair():
        return 1, 2

    split = pair.options(num_returns=2)
    assert ray.get(split.remote()) == [1, 2]
    assert ray.get(pair.remote()) == (1, 2)


def test_options_of_a_class_keep_its_constructor(ray):
    @ray.remote(num_cpus=0)
    class Keep:
        def __init__(self, value):
            self.value = value

        def read(self):
            return self.value

    kept = Keep.options(num_cpus=1, name="kept").remote(3)
    assert ray.get(kept.read.remote()) == 3
    assert ray.get_actor("kept") == kept


def test_a_task_is_shown_by_its_name(ray):
    @ray.remote
    def fail():
        raise ValueError

    with pytest.raises(ValueError, match="renamed"):
        ray.get(fail.options(name="renamed").remote())


def test_remote_takes_rays_other_options(ray):
    @ray.remote(max_retries=1, memory=1 << 20, scheduling_strategy="SPREAD", runtime_env={"env_vars": {}})
    def one():
        return 1

    @ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=1, lifetime=None)
    class Two:
        def two(self):
            return 2

    assert ray.get(one.remote()) == 1
    assert ray.get(Two.remote().two.remote()) == 2


def test_an_unknown_option_is_refused_by_name(ray):
    @ray.remote
    def function():
        pass

    @ray.remote
    class Actor:
        pass

    for misuse in (function.options, Actor.options, lambda **wrong: ray.remote(**wrong)(int)):
        with pytest.raises(ValueError, match="colour"):
            misuse(colour=1)


def test_an_option_of_the_other_kind_is_refused(ray):
    @ray.remote
    def function():
        pass

    @ray.remote
    class Actor:
        pass

    with pytest.raises(ValueError, match="max_restarts"):
        function.options(max_restarts=1)
    with pytest.raises(ValueError, match="max_retries"):
        Actor.options(max_retries=1)


@pytest.mark.parametrize(
    "options",
    [{"num_cpus": -1}, {"num_gpus": -1}, {"num_returns": -1}, {"resources": {"lamp": -1}}, {"resources": {"CPU": 1}}],
)
def test_an_impossible_amount_is_refused(ray, options):
    @ray.remote
    def function():
        pass

    with pytest.raises(ValueError):
        function.options(**options).remote()


def test_an_amount_of_the_wrong_type_is_refused(ray):
    @ray.remote
    def function():
        pass

    with pytest.raises(TypeError, match="num_cpus"):
        function.options(num_cpus="two")


def test_remote_with_neither_a_function_nor_options_is_refused(ray):
    for misuse in (lambda: ray.remote(), lambda: ray.remote(3)):
        with pytest.raises(Exception, match="remote"):
            misuse()


def test_the_older_way_to_give_options(ray):
    @ray.remote
    def pair(n, k=0):
        return n, k

    @ray.remote
    class Holder:
        def __init__(self, x, y=0):
            self.held = x, y

        def pair(self, n):
            return self.held, n

    assert ray.get(pair._remote([1], {"k": 2}, num_returns=2)) == [1, 2]
    holder = Holder._remote(args=[1], kwargs={"y": 2}, num_cpus=0)
    assert ray.get(holder.pair._remote(args=["n"], num_returns=2)) == [(1, 2), "n"]


def test_a_function_may_have_its_invocation_decorated(ray):
    def pair(a, b):
        return a, b

    pair.__ray_invocation_decorator__ = lambda call: lambda args, kwargs: (call(args[::-1], kwargs), "more")
    ref, more = ray.remote(pair).remote(1, 2)
    assert ray.get(ref) == (2, 1) and more == "more"


def test_a_method_may_have_its_invocation_decorated(ray):
    def pair(self, a, b=0):
        return a, b

    pair.__ray_invocation_decorator__ = lambda call: lambda args, kwargs: (call(args[::-1], kwargs), "more")

    Holder = ray.remote(type("Holder", (), {"pair": pair, "plain": lambda self, a: a}))
    holder = Holder.remote()
    ref, more = holder.pair.remote(1, 2)
    assert ray.get(ref) == (2, 1) and more == "more"
    refs, more = holder.pair.options(num_returns=2).remote(1, 2)
    assert ray.get(refs) == [2, 1] and more == "more"
    assert ray.get(holder.plain.remote(3)) == 3

    @ray.remote
    def elsewhere(holder):
        ref, more = holder.pair.remote(3, b=4)
        return ray.get(ref), more

    assert ray.get(elsewhere.remote(holder)) == ((3, 4), "more")
