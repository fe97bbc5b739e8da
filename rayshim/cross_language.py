"""Calls into other languages: refused."""

from rayshim.errors.sites import calling


def java_function(class_name, function_name):
    raise NotImplementedError(
        f"rayshim runs Python only: {class_name}.{function_name} of a Java worker cannot be called (at {calling()}). Use real Ray for this program"
    )


def java_actor_class(class_name):
    raise NotImplementedError(
        f"rayshim runs Python only: actors of the Java class {class_name} cannot be made (at {calling()}). Use real Ray for this program"
    )
