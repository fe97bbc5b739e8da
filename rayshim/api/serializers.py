"""Serializers that the program registers for its own classes."""


def register_serializer(cls, serializer, deserializer):
    """Values of class `cls` that this process sends are pickled as `serializer(value)`; the receiver applies `deserializer` to that."""
    from reactor import codec

    codec.reducers[cls] = lambda value: (deserializer, (serializer(value),))


def deregister_serializer(cls):
    """Removes the serializer registered for class `cls`."""
    from reactor import codec

    codec.reducers.pop(cls, None)
