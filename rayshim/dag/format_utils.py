"""The text form of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rayshim.dag.dag_node import DAGNode

_INDENT = " " * 4


def get_dag_node_str(node: DAGNode, body: str) -> str:
    """Text of a node and of the nodes in its arguments: class and id, `body`, arguments, keywords, options."""
    return (
        f"({type(node).__name__}, {node._stable_uuid})(\n"
        f"{_INDENT}body={body}\n"
        f"{_INDENT}args={_block('[', [_node_text(arg) for arg in node._bound_args], ']')}\n"
        f"{_INDENT}kwargs={_block('{', _pairs(node._bound_kwargs), '}')}\n"
        f"{_INDENT}options={_block('{', _pairs({k: v for k, v in node._bound_options.items() if v}), '}')}\n"
        f"{_INDENT}other_args_to_resolve={_block('{', _pairs(node._bound_other_args_to_resolve), '}')}\n"
        f")"
    )


def _node_text(value):
    from rayshim.dag.base import DAGNodeBase

    return str(value) if isinstance(value, DAGNodeBase) else f"{value}, "


def _pairs(mapping):
    return [f"{key}: {value}" for key, value in mapping.items()]


def _block(begin, entries, end):
    if not entries:
        return begin + end
    lines = [f"{_INDENT}{_INDENT}{line}" for entry in entries for line in entry.split("\n")]
    return "\n".join([begin, *lines, _INDENT + end])
