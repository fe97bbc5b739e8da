import importlib
import json

import pytest


@pytest.fixture
def bars(ray):
    return importlib.import_module(f"{ray.__name__}.experimental.tqdm_ray")


def test_a_bar_counts(bars):
    bar = bars.tqdm(total=5, desc="steps")
    bar.update(2)
    assert (bar.n, bar.total) == (2, 5)
    bar.set_description("more")
    bar.total, bar.n = 7, 3
    bar.refresh()
    assert (bar.n, bar.total) == (3, 7)
    bar.close()


def test_it_goes_over_an_iterable(bars):
    bar = bars.tqdm([1, 2, 3])
    assert bar.total == 3
    assert list(bar) == [1, 2, 3] and bar.n == 3
    assert bars.tqdm(iter([1])).total is None
    with pytest.raises(ValueError, match="No iterable"):
        next(iter(bars.tqdm(total=1)))


def test_tasks_may_have_bars(ray, bars):
    @ray.remote
    def work():
        return sum(bars.tqdm(range(4), flush_interval_s=0))

    assert ray.get(work.remote()) == 6


def test_print_stays_print(bars, capsys):
    bars.safe_print("hello")
    assert capsys.readouterr().out == "hello\n"


@pytest.mark.rayshim_only
def test_a_workers_bar_is_no_output(ray, bars, capsys):
    state = {"__magic_token__": bars.RAY_TQDM_MAGIC, "x": 1, "pos": 0, "desc": "", "total": 2, "unit": "it", "ip": "", "pid": 1,
             "uuid": "u", "closed": True}
    assert bars.take_line(json.dumps(state))
    assert not bars.take_line("a line")
