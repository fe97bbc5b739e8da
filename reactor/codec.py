"""Pickles and unpickles the values that the core does not encode itself.

It uses pickle protocol 5 with out-of-band buffers, so that arrays and tensors inside any value are copied once into shared memory and read
there without a copy. Classes and functions of `__main__` are pickled by value (cloudpickle), also if the main module has another name.

Where the program asks for it (`let_bytearrays_arrive_as_bytes`), a bytearray that is the whole value, or a part of it on a way through lists and dicts
alone, is read as bytes.
"""

import copyreg
import functools
import importlib
import io
import pickle
import sys
import types
from collections import ChainMap

from reactor import _core

reducers = {}  # class -> function(value) -> what __reduce__ would give; for this process
libraries = {}  # (module, name of a class in it) -> its reducer, registered when the module has been imported
named = {}  # id of a class -> module (str) under whose name other processes get it, where it shows another name in this one
_pickler = None  # made at first use, because importing cloudpickle is slow, and the zygote can start in the meantime


def pickler_class():
    """The Pickler class of this process: cloudpickle's, extended by `reducers`."""
    global _pickler
    if _pickler is None:
        import cloudpickle

        reducers.setdefault(types.CodeType, reduce_code)
        reducers.setdefault(functools._lru_cache_wrapper, reduce_cached)
        reducers.setdefault(functools.partialmethod, _reduce_partial_method)
        plain = cloudpickle.Pickler.reducer_override
        by_cloudpickle = (type, types.FunctionType)

        class Pickler(cloudpickle.Pickler):
            def reducer_override(self, obj):
                if not isinstance(obj, by_cloudpickle):  # first, because it is called for nearly every object
                    return NotImplemented
                if id(obj) in named:
                    return _class_of, (named[id(obj)], obj.__qualname__)
                if isinstance(obj, type) and type(obj) in copyreg.dispatch_table and _is_replaced(obj):
                    return NotImplemented  # the metaclass tells how it is made
                return plain(self, obj)

        Pickler.dispatch_table = ChainMap(reducers, cloudpickle.Pickler.dispatch_table)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
        _pickler = Pickler
    return _pickler


def _reduce_partial_method(method):
    """Its function is an argument of `__new__` from Python 3.14 on, which pickle does not know."""
    return _partial_method, (method.func, method.args, method.keywords)


def _partial_method(function, arguments, keywords):
    return functools.partialmethod(function, *arguments, **keywords)


def module_of(cls):
    """The name (str) of the class's module, whichever it shows."""
    return named.get(id(cls)) or str(getattr(cls, "__module__", ""))


def _class_of(module, name):
    return getattr(importlib.import_module(module), name)


def _is_replaced(cls):
    """Whether the module of the class has another class of its kind under its name by now, as when unpickling has created the class again there."""
    there = getattr(sys.modules.get(cls.__module__), cls.__name__, cls)
    return there is not cls and type(there) is type(cls)


_DEEP = 1500  # so that lists and dicts may be nested about 1000 deep
_REFUSALS = (TypeError, AttributeError, RecursionError, pickle.PicklingError)  # by which pickle says that it cannot


def dumps(value):
    """Pickles `value`; returns (bytes, list of buffers). A TypeError names the part that cannot be pickled; other errors keep their class, because
    programs catch PicklingError and AttributeError, and the part is a note on them."""
    _register_libraries()
    try:
        return _dumped(value)
    except Exception as error:
        if not isinstance(error, _REFUSALS):
            raise  # of the value's own __reduce__, say
        if _is_too_deep(error):
            return _dumped_deep(value)
        from reactor.picklability import explain

        explained = explain(value, error, _dumped)
        if explained is error:
            raise
        raise explained from error


def _dumped(value):
    file = io.BytesIO()
    buffers = []
    pickler_class()(file, protocol=5, buffer_callback=buffers.append).dump(value)
    return file.getvalue(), buffers


def _is_too_deep(error):
    """Whether this is cloudpickle's error for a value nested deeper than the limit of recursion allows."""
    return isinstance(error, pickle.PicklingError) and isinstance(error.__cause__, RecursionError)


def _dumped_deep(value):
    """`_dumped` with room for `_DEEP` more levels of recursion. In Python 3.10 and 3.11 the limit counts C frames, too: two for each list or dict."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _DEEP)
    try:
        return _dumped(value)
    finally:
        sys.setrecursionlimit(limit)


def pickled(value):
    """`value` as one pickle, by the same rules as `dumps`. Exceptions of pickling pass through."""
    _register_libraries()
    file = io.BytesIO()
    pickler_class()(file, protocol=5).dump(value)
    return file.getvalue()


def loads(data, buffers):
    """The value from the result of `dumps`; `buffers` are bytes or views of shared memory."""
    return pickle.loads(data, buffers=buffers)


def _register_libraries():
    """Registers reducers for classes of imported libraries whose own pickling is not sufficient."""
    for (module, name), reduce in libraries.items():
        loaded = sys.modules.get(module)
        cls = loaded and getattr(loaded, name, None)  # None: its import has not ended
        if cls is not None and cls not in reducers:
            reducers[cls] = reduce
    if _MAIN_OF_SPAWNED in sys.modules:
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[_MAIN_OF_SPAWNED])  # a worker cannot import it


def reduce_code(code):
    """As cloudpickle, but with the name of the file, which its newer versions leave out: a traceback is of no use without."""
    import cloudpickle

    make, arguments = cloudpickle.CloudPickler.dispatch_table[types.CodeType](code)  # pyright: ignore[reportIndexIssue, reportAssignmentType]
    name = "".join(code.co_filename)  # a string of its own, because pickle's memo must not depend on interned ones
    return make, tuple(name if value == "<dynamic-code>" else value for value in arguments)


def reduce_cached(cached):
    """A function with functools.lru_cache pickles itself by its name alone. Where other processes do not find it under that, as in the main script, it goes
    by value, as cloudpickle does with functions, with an empty cache. (One in a function or class cannot be pickled, which is Python's rule.)"""
    if "." in cached.__qualname__ or _is_found_by_name(cached):
        return cached.__reduce__()
    parameters = cached.cache_parameters()
    return _new_cached, (parameters["maxsize"], parameters["typed"]), dict(vars(cached)), None, None, _fill_cached


def _is_found_by_name(function):
    import cloudpickle

    name = getattr(function, "__module__", None)
    module = sys.modules.get(name) if name else None
    if module is None or name in ("__main__", _MAIN_OF_SPAWNED) or name in cloudpickle.list_registry_pickle_by_value():
        return False
    return getattr(module, function.__qualname__, None) is function


def _new_cached(maxsize, typed):
    """A cached function that `_fill_cached` completes: its code may refer to itself. In between, a partial object stands for the function."""
    return functools.lru_cache(maxsize, typed)(functools.partial(_new_cached))


def _fill_cached(cached, attributes):
    cached.__wrapped__.__setstate__((attributes["__wrapped__"], (), {}, None))
    vars(cached).update(attributes)


def _reduce_tensor(tensor):
    """The part of its storage that the tensor covers; torch's own pickling sends the whole storage, as bytes of the pickle."""
    torch = sys.modules["torch"]
    plain = (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor._backward_hooks
        and not tensor.__dict__
    )
    if not plain:
        return tensor.__reduce_ex__(2)
    described = tensor.dtype, tuple(tensor.shape), tensor.requires_grad
    if tensor.is_contiguous():
        data, strides = tensor.detach().reshape(-1), ()
    else:
        strides = tensor.stride()
        covered = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, strides))
        data, strides = tensor.detach().as_strided((covered,), (1,)), (strides,)
    return _rebuild_tensor, (pickle.PickleBuffer(data.view(torch.uint8).numpy()), *described, *strides)


def _reduce_arrow_column(column):
    """A slice refers to whole buffers, and pickle sends those; Arrow's own format has the rows of the slice alone."""
    pa = sys.modules["pyarrow"]
    if column.get_total_buffer_size() > column.nbytes + column.nbytes // 8 + 4096:
        sink = pa.BufferOutputStream()
        try:
            with pa.ipc.new_stream(sink, pa.schema([("", column.type)])) as stream:
                stream.write_table(pa.table([column], [""]))
            rows = pa.ipc.open_stream(sink.getvalue()).read_all().column(0)
            if rows.type == column.type:
                column = rows
        except pa.ArrowException:
            pass  # a type that the format has not
    return column.__reduce_ex__(5)


libraries["torch", "Tensor"] = _reduce_tensor
libraries["pyarrow.lib", "ChunkedArray"] = _reduce_arrow_column


_MAIN_OF_SPAWNED = "__mp_main__"  # multiprocessing runs the script under this name in the interpreters that it starts


def _rebuild_tensor(data, dtype, shape, requires_grad, strides=None):
    """A tensor over the shared memory `data`, of which a page is copied only when it is written. Without `strides` it is contiguous."""
    import torch

    if isinstance(data, _core.View):
        data = data.private()
    elif not isinstance(data, bytearray):
        data = bytearray(data)
    tensor = torch.frombuffer(data, dtype=dtype) if len(memoryview(data)) else torch.empty(0, dtype=dtype)
    shaped = tensor.reshape(shape) if strides is None else tensor.as_strided(shape, strides)
    # `data`: torch refuses detach_ of a view of another tensor, and words other errors for it.
    return shaped.data.requires_grad_(requires_grad)


def import_ref(index):
    """The ref or actor link with this index among those that were sent with the value that is being unpickled."""
    return _core.import_ref(index)


def install():
    """Sets the core's hooks for pickling in this process."""
    _core.set_hook("dumps", dumps)
    _core.set_hook("loads", loads)
