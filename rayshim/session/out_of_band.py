"""`RAY_allow_out_of_band_object_ref_serialization=0`: refs are pickled in arguments, results and values of `put` alone.

A ref that is pickled elsewhere keeps its object until the session ends, because nobody knows where copies of the pickle are. In Ray this counts for
refs in the code of functions and classes, too.
"""

import contextlib
import os

_VARIABLE = "RAY_allow_out_of_band_object_ref_serialization"
pickling_code = 0  # how many pickles of code are being made, in any thread, while the variable forbids refs in them


def is_refused() -> bool:
    """Whether the variable forbids it in this process."""
    return os.environ.get(_VARIABLE, "1").lower() not in ("1", "true")


@contextlib.contextmanager
def of_code():
    """A context manager: values that are pickled in the block are code."""
    global pickling_code
    if not is_refused():
        yield
        return
    pickling_code += 1
    try:
        yield
    finally:
        pickling_code -= 1


def refusal(ref_hex, where):
    """The text of the error for a ref with this id, in Ray's words."""
    return (
        f"It is not allowed to serialize ray.ObjectRef {ref_hex}. If you want to allow serialization, set `{_VARIABLE}=1.` "
        "If you set the env var, the object is pinned forever in the lifetime of the worker process and can cause Ray object leaks. "
        f"See the callsite and trace to find where the serialization occurs.\nCallsite: {where} (or pass the ref as an argument of the call)"
    )
