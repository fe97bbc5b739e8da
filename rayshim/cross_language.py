"""Ray's calls into other languages, which are refused here."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from rayshim.errors.user_code import calling


def java_function(class_name: str, function_name: str) -> NoReturn:
    """Raises NotImplementedError: rayshim runs Python only."""
    raise NotImplementedError(
        f"rayshim runs Python only: {class_name}.{function_name} of a Java worker cannot be called (at {calling()}). Use real Ray for this program"
    )


def java_actor_class(class_name: str) -> NoReturn:
    """Raises NotImplementedError: rayshim runs Python only."""
    raise NotImplementedError(
        f"rayshim runs Python only: actors of the Java class {class_name} cannot be created (at {calling()}). Use real Ray for this program"
    )


def cpp_actor_class(create_function_name: str, class_name: str) -> NoReturn:
    raise NotImplementedError(
        f"rayshim runs Python only: actors of the C++ class {class_name} cannot be made (at {calling()}). Use real Ray for this program"
    )


def cpp_function(function_name: str) -> NoReturn:
    raise NotImplementedError(
        f"rayshim runs Python only: {function_name} of a C++ worker cannot be called (at {calling()}). Use real Ray for this program"
    )


class Language:
    """`ray.Language`: the languages of Ray's workers; here all are of PYTHON."""

    PYTHON: ClassVar[Language]
    JAVA: ClassVar[Language]
    CPP: ClassVar[Language]

    def __init__(self, name: str) -> None:
        self._name = name

    def value(self) -> int:
        """Its number."""
        return ("PYTHON", "JAVA", "CPP").index(self._name)

    def __repr__(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Language, (self._name,)


Language.PYTHON, Language.JAVA, Language.CPP = Language("PYTHON"), Language("JAVA"), Language("CPP")
