"""The user's own serializers."""


def register_serializer(cls, serializer, deserializer):
    """From now on values of class `cls` travel as `serializer(value)` and arrive as `deserializer(that)`, in this process's sends."""
    from reactor import codec

    codec.reducers[cls] = lambda value: (deserializer, (serializer(value),))


def deregister_serializer(cls):
    from reactor import codec

    codec.reducers.pop(cls, None)
