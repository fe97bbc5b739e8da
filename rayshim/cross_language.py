"""Calls into other languages: refused."""

from __future__ import annotations

from typing import NoReturn

from rayshim.errors.sites import calling


def java_function(class_name: str, function_name: str) -> NoReturn:
    raise NotImplementedError(
        f"rayshim runs Python only: {class_name}.{function_name} of a Java worker cannot be called (at {calling()}). Use real Ray for this program"
    )


def java_actor_class(class_name: str) -> NoReturn:
    raise NotImplementedError(
        f"rayshim runs Python only: actors of the Java class {class_name} cannot be made (at {calling()}). Use real Ray for this program"
    )
