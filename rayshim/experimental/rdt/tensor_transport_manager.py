"""The interface of tensor transports."""

from rayshim.calls.direct.transport import (
    CommunicatorMetadata,
    FetchRequest,
    TensorTransportManager,
    TensorTransportMetadata,
)

__all__ = ["CommunicatorMetadata", "FetchRequest", "TensorTransportManager", "TensorTransportMetadata"]
