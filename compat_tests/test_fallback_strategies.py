"""What `fallback_strategy` refuses."""

import re

import pytest


@pytest.mark.parametrize(("strategy", "text"), [
    ([1], "Each element in fallback_strategy must be a dictionary."),
    ([{}], "Empty dictionary found in `fallback_strategy`."),
    ([{"num_cpus": 1}], "Unsupported option found: 'num_cpus'. Only ['label_selector'] is currently supported."),
    ([{"label_selector": "a"}], 'The value of "label_selector" must be a dictionary.'),
])
def test_wrong_fallbacks_are_refused(bare_ray, strategy, text):
    def function():
        pass

    class Actor:
        pass

    for what in (function, Actor):
        with pytest.raises(ValueError, match=re.escape(text)):
            bare_ray.remote(fallback_strategy=strategy)(what)
        with pytest.raises(ValueError, match=re.escape(text)):
            bare_ray.remote(what).options(fallback_strategy=strategy)
