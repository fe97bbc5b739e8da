"""What PublicAPI, DeveloperAPI and Deprecated of ray.util.annotations do to a function and its docstring."""

import importlib

import pytest

BETA = "**PublicAPI (beta):** This API is in beta and may change before becoming stable."
DEVELOPER = "**DeveloperAPI:** This API may change across minor Ray releases."
DEPRECATED = "**DEPRECATED**: This API is deprecated and may be removed in future Ray releases."


@pytest.fixture
def marks(bare_ray):
    return importlib.import_module(f"{bare_ray.__name__}.util.annotations")


def plain():
    def short():
        "Only."

    return short


def documented():
    def long():
        pass

    long.__doc__ = "One.\n\n        More.\n        "  # Python 3.13 removes the indentation of a docstring
    return long


def test_a_stable_interface_keeps_its_docstring(marks):
    assert marks.PublicAPI(plain()).__doc__ == marks.PublicAPI(stability="stable")(plain()).__doc__ == "Only."


def test_a_note_is_added_in_the_indentation_of_the_docstring(marks):
    assert marks.PublicAPI(stability="beta")(plain()).__doc__ == f"Only.\n\n{BETA}\n"
    assert marks.DeveloperAPI(plain()).__doc__ == marks.DeveloperAPI()(plain()).__doc__ == f"Only.\n\n{DEVELOPER}\n"
    assert marks.DeveloperAPI(documented()).__doc__ == f"One.\n\n        More.\n\n        {DEVELOPER}\n        "


def test_a_function_without_docstring_gets_one(marks):
    assert marks.DeveloperAPI(lambda: 1).__doc__ == f"\n\n{DEVELOPER}\n"


def test_a_deprecated_function_is_marked_by_a_directive(marks):
    assert marks.Deprecated(plain()).__doc__ == f"Only.\n\n.. warning::\n\n    {DEPRECATED}\n"
    noted = marks.Deprecated(message="Use\nit.")(documented()).__doc__
    within = " " * 12
    assert noted == f"One.\n\n        More.\n\n        .. warning::\n\n{within}{DEPRECATED}\n{within}Use\n{within}it.\n        "


def test_a_class_is_marked_like_a_function(marks):
    class Kind:
        "Only."

    assert marks.Deprecated(warning=True)(Kind) is Kind and DEPRECATED in Kind.__doc__
    with pytest.warns(marks.RayDeprecationWarning):
        Kind()


def test_the_group_of_an_interface_is_kept(marks):
    assert marks.PublicAPI(stability="alpha", api_group="Mine")(plain())._annotated_api_group == "Mine"


def test_other_arguments_are_refused(marks):
    with pytest.raises(ValueError, match=r"Unknown kwargs: dict_keys\(\['why'\]\)"):
        marks.Deprecated(why=1)
    with pytest.raises(AssertionError, match="new"):
        marks.PublicAPI(stability="new")
