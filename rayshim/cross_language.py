"""Ray's calls into other languages, which are refused here."""

from rayshim.errors.sites import calling


def java_function(class_name, function_name):
    """Raises NotImplementedError: rayshim runs Python only."""
    raise NotImplementedError(
        f"rayshim runs Python only: {class_name}.{function_name} of a Java worker cannot be called (at {calling()}). Use real Ray for this program"
    )


def java_actor_class(class_name):
    """Raises NotImplementedError: rayshim runs Python only."""
    raise NotImplementedError(
        f"rayshim runs Python only: actors of the Java class {class_name} cannot be created (at {calling()}). Use real Ray for this program"
    )
