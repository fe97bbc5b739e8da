"""Operators of refs: there are none, and the error says how to get the value."""

from __future__ import annotations

from typing import Any

from reactor import _core

from rayshim.errors.user_code import calling

_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "matmul": "@",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod()",
    "pow": "** or pow()",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "xor": "^",
    "or": "|",
}
_UNARY = {"neg": "unary -", "pos": "unary +", "abs": "abs()", "invert": "unary ~"}


class Operators:
    """Base class of what stands for a value that is not there: each operator raises TypeError, in Python's words and with the remedy. An operand whose
    class defines the reflected operator computes with the ref itself, as always in Python."""

    __slots__ = ()


def _remedy() -> str:
    return f"(at {calling()}: an ObjectRef stands for a value that may not be there yet. Compute with `ray.get(ref)`, or in a task that gets the ref as an argument)"


def _binary_error(symbol, left, right):
    return TypeError(
        f"unsupported operand type(s) for {symbol}: '{type(left).__name__}' and '{type(right).__name__}' {_remedy()}"
    )


def _define_binary(name, symbol):
    def forward(self: Any, other: Any, *modulus: Any) -> Any:
        reflected = None if isinstance(other, _core.Ref) else getattr(type(other), f"__r{name}__", None)
        result = NotImplemented if reflected is None else reflected(other, self)
        if result is NotImplemented:
            raise _binary_error(symbol, self, other)
        return result

    def backward(self: Any, other: Any, *modulus: Any) -> Any:
        raise _binary_error(symbol, other, self)

    setattr(Operators, f"__{name}__", forward)
    setattr(Operators, f"__r{name}__", backward)


def _define_unary(name, symbol):
    def operator(self: Any) -> Any:
        raise TypeError(f"bad operand type for {symbol}: '{type(self).__name__}' {_remedy()}")

    setattr(Operators, f"__{name}__", operator)


for _name, _symbol in _BINARY.items():
    _define_binary(_name, _symbol)
for _name, _symbol in _UNARY.items():
    _define_unary(_name, _symbol)
