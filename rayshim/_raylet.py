"""`ray._raylet`: classes that programs import from there because Ray has no public module for them."""

# ruff: noqa: F401

from rayshim.calls.generators import DynamicObjectRefGenerator, ObjectRefGenerator  # noqa: F401
from rayshim.calls.refs import ObjectRef  # noqa: F401
from rayshim.session.ids import (
    ActorClassID,
    ActorID,
    BaseID,
    ClusterID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
