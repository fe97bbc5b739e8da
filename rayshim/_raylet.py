"""The classes that programs import from `ray._raylet` for want of a public place."""

from rayshim.generators import DynamicObjectRefGenerator, ObjectRefGenerator  # noqa: F401
from rayshim.ids import (  # noqa: F401
    ActorClassID,
    ActorID,
    BaseID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from rayshim.refs import ObjectRef  # noqa: F401
