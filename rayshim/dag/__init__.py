"""Ray's graphs of bound calls: `f.bind(...)`, `InputNode`, `dag.execute(...)`, and `dag.experimental_compile()`.

A program builds a graph before it runs. `execute` runs the graph once, call by call. `experimental_compile` checks the graph and returns a
CompiledDAG, whose `execute` makes the same few actor calls each time.
"""

from rayshim.dag.class_node import ClassMethodNode, ClassNode
from rayshim.dag.collective_node import CollectiveOutputNode
from rayshim.dag.compiled_dag_node import CompiledDAG
from rayshim.dag.constants import (
    BIND_INDEX_KEY,
    COLLECTIVE_OPERATION_KEY,
    DAGNODE_TYPE_KEY,
    IS_CLASS_METHOD_OUTPUT_KEY,
    PARENT_CLASS_NODE_KEY,
    PREV_CLASS_METHOD_CALL_KEY,
)
from rayshim.dag.context import DAGContext
from rayshim.dag.dag_node import DAGNode
from rayshim.dag.function_node import FunctionNode
from rayshim.dag.input_node import DAGInputData, InputAttributeNode, InputNode
from rayshim.dag.output_node import MultiOutputNode
from rayshim.dag.vis_utils import plot

__all__ = [
    "BIND_INDEX_KEY",
    "COLLECTIVE_OPERATION_KEY",
    "DAGNODE_TYPE_KEY",
    "IS_CLASS_METHOD_OUTPUT_KEY",
    "PARENT_CLASS_NODE_KEY",
    "PREV_CLASS_METHOD_CALL_KEY",
    "ClassMethodNode",
    "ClassNode",
    "CollectiveOutputNode",
    "CompiledDAG",
    "DAGContext",
    "DAGInputData",
    "DAGNode",
    "FunctionNode",
    "InputAttributeNode",
    "InputNode",
    "MultiOutputNode",
    "plot",
]
