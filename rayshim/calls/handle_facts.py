"""Facts of an actor that programs read from private fields of Ray's handles."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayshim.calls.class_info import ClassInfo


def facts(info: ClassInfo, name: str) -> Any:
    """The value of that private field. Raises KeyError for another name."""
    return _FACTS[name](info)


def _methods(info):
    return {name: method for name, method in info.methods.items() if name != "__dag_stage__"}


def _signatures(info):
    return {
        name: [Parameter(*parameter[:2]) for parameter in method.signature.parameters] if method.signature else []
        for name, method in _methods(info).items()
    }


_FACTS = {
    "_ray_is_cross_language": lambda info: False,
    "_ray_max_task_retries": lambda info: info.max_task_retries,
    "_ray_method_is_generator": lambda info: {name: name in info.generators for name in _methods(info)},
    "_ray_method_num_returns": lambda info: {
        name: method.options.get("num_returns") for name, method in _methods(info).items()
    },
    "_ray_method_signatures": _signatures,
}
