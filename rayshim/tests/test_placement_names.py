"""The names of the placements stand in three places, which must have the same ones."""

from reactor.declared import PLACEMENTS

from rayshim.placement import kinds


def test_a_placement_has_its_name_in_its_class():
    assert [kinds.kind(name).name for name in kinds.NAMES] == list(kinds.NAMES)


def test_reactors_have_the_same_placements():
    assert set(PLACEMENTS) == set(kinds.NAMES)
