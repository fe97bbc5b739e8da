"""The value that `init` returns. Only `init` imports this module: dataclasses would make `import rayshim` slower."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rayshim.session import session
from rayshim.session.version import RAY_COMMIT, RAY_VERSION
from rayshim.worker.context import address_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self


class BaseContext(ABC):
    """The base of what `init` returns, a context manager: `ray._private.worker.BaseContext`, which programs use in annotations."""

    dashboard_url: str
    python_version: str
    ray_version: str

    @abstractmethod
    def disconnect(self) -> None:
        """Leaves the session."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *exc: object) -> None: ...


@dataclass
class RayContext(BaseContext, Mapping[str, Any]):
    """The result of `init`: facts about the session, as attributes; those of its node as keys, too. As a context manager it ends the session at
    the end of the block."""

    dashboard_url: str
    python_version: str
    ray_version: str
    ray_commit: str

    def __init__(self, s: Any) -> None:  # a Session, which is no public class
        self.dashboard_url = s.settings.dashboard
        self.python_version = "{}.{}.{}".format(*sys.version_info[:3])
        self.ray_version = RAY_VERSION
        self.ray_commit = RAY_COMMIT
        self.address_info: dict[str, Any] = {
            **address_info(s.settings),
            "node_id": s.settings.node,
        }

    def __getitem__(self, key: str) -> Any:
        return self.address_info[key]

    def __len__(self) -> int:
        return len(self.address_info)

    def __iter__(self) -> Iterator[str]:
        return iter(self.address_info)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        session.stop()

    def _repr_html_(self) -> str:
        return f"<table><tr><th>Python</th><td>{self.python_version}</td></tr><tr><th>Ray</th><td>{self.ray_version}</td></tr></table>"
