"""Serializers that the program registers for its own classes. They hold in this process, for values that are sent and for `ray.cloudpickle`."""


def register_serializer(cls, serializer, deserializer):
    """Values of class `cls` are pickled as `serializer(value)`; the receiver applies `deserializer` to that."""
    register_reducer(cls, lambda value: (deserializer, (serializer(value),)))


def register_reducer(cls, reducer):
    """Values of class `cls` are pickled by `reducer(value)`, which returns what `__reduce__` returns."""
    import cloudpickle
    from reactor import codec

    cloudpickle.CloudPickler.dispatch_table[cls] = reducer  # pyright: ignore[reportIndexIssue]
    codec.reducers[cls] = reducer


def deregister_serializer(cls):
    """Removes what was registered for class `cls`."""
    import cloudpickle
    from reactor import codec

    cloudpickle.CloudPickler.dispatch_table.pop(cls, None)  # pyright: ignore[reportAttributeAccessIssue]
    codec.reducers.pop(cls, None)


class Context:
    """The same as methods, under Ray's names: what its libraries register with."""

    def _register_cloudpickle_reducer(self, cls, reducer):
        register_reducer(cls, reducer)

    def _unregister_cloudpickle_reducer(self, cls):
        deregister_serializer(cls)

    def _register_cloudpickle_serializer(self, cls, custom_serializer, custom_deserializer):
        register_serializer(cls, custom_serializer, custom_deserializer)
