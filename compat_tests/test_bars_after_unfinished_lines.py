"""A progress bar of a worker that has printed text without the end of its line: the bar's state is no output."""

import pytest

pytestmark = pytest.mark.needs_processes


def test_the_state_of_a_bar_is_not_shown_after_text_without_the_end_of_its_line(scripts):
    out = scripts.run("""
        import time
        import ray
        from ray.experimental import tqdm_ray
        INIT

        @ray.remote
        def work():
            print("working: ", end="")
            for i in tqdm_ray.tqdm(range(3), desc="it", flush_interval_s=0):
                pass
            print("over", flush=True)
            return 6

        print(ray.get(work.remote()))
        time.sleep(1)
        """)
    assert "6" in out.splitlines() and "over" in out
    assert "__magic_token__" not in out
