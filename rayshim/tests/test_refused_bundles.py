"""Bundles that `placement_group` refuses, and on which Ray's driver crashes."""

import pytest

import rayshim as ray


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_a_resource_without_a_name_is_refused_and_harms_no_other_group(placement):
    ray.init(placement=placement, num_cpus=2, log_to_driver=False)
    try:
        with pytest.raises(ValueError, match="name of a resource must not be empty"):
            ray.util.placement_group([{"CPU": 1, "": 1}])
        assert ray.util.placement_group([{"CPU": 1, "": 0}]).wait(20)
    finally:
        ray.shutdown()
