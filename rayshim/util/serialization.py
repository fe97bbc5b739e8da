"""The user's own serializers."""


def register_serializer(cls, *, serializer, deserializer):
    """From now on instances of `cls` travel as `serializer(instance)`, and `deserializer` of that gives them back.

    `deserializer` must itself be picklable.
    """
    from rayshim.api import serializers

    serializers.register_serializer(cls, serializer, deserializer)


def deregister_serializer(cls):
    """Undoes `register_serializer(cls)`; nothing if there was none."""
    from rayshim.api import serializers

    serializers.deregister_serializer(cls)


class StandaloneSerializationContext:
    """The same for libraries: what Ray hands to functions such as `ray.util.serialization_addons.apply`."""

    def _register_cloudpickle_serializer(self, cls, custom_serializer, custom_deserializer):
        register_serializer(cls, serializer=custom_serializer, deserializer=custom_deserializer)

    def _unregister_cloudpickle_reducer(self, cls):
        deregister_serializer(cls)
