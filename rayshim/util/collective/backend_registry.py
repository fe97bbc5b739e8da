"""The backends of collective groups: GLOO, and those that the program registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rayshim.errors.user_code import calling
from rayshim.util.collective import types
from rayshim.util.collective.collective_group.base_collective_group import BaseGroup

if TYPE_CHECKING:
    from typing_extensions import Self


class BackendRegistry:
    """The classes of this process's backends, by name. Each call gives the same object."""

    _instance: BackendRegistry | None = None
    _map: dict[str, type[BaseGroup]]

    def __new__(cls) -> Self:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance._map = {}
        return cls._instance  # pyright: ignore[reportReturnType]

    def put(self, name: str, group_cls: type[BaseGroup]) -> None:
        """Adds a backend. TypeError if its class is not derived from BaseGroup, ValueError if the name is taken."""
        if not issubclass(group_cls, BaseGroup):
            raise TypeError(
                f"{group_cls} is not a subclass of BaseGroup (at {calling()}: derive it from "
                "ray.util.collective.collective_group.base_collective_group.BaseGroup)"
            )
        if name.upper() in self._map:
            raise ValueError(
                f"Backend {name.upper()} already registered (at {calling()}: give {group_cls.__name__} another name)"
            )
        self._map[name.upper()] = group_cls

    def get(self, name: str) -> type[BaseGroup]:
        """The class of a backend. ValueError if there is none of this name."""
        if not self.is_registered(name):
            raise ValueError(
                f"Backend {name.upper()} not registered (at {calling()}: registered are {', '.join(self._map)}, and "
                "register_collective_backend adds others)"
            )
        return self._map[name.upper()]

    def is_registered(self, name: str) -> bool:
        """Whether there is a backend of this name, available or not."""
        return name.upper() in self._map

    def check(self, name: str) -> bool:
        """Whether there is a backend of this name, and groups with it can be created here."""
        try:
            return bool(self._map[name.upper()].check_backend_availability())
        except (KeyError, AttributeError):
            return False


_global_registry: BackendRegistry = BackendRegistry()


def register_collective_backend(name: str, group_cls: type[BaseGroup]) -> None:
    """Registers a class derived from BaseGroup as the backend `name` of this process, which `types.Backend` then knows, too.

    Raises TypeError for another class, ValueError if the name is already registered."""
    _global_registry.put(name, group_cls)
    if not hasattr(types.Backend, name.upper()):
        setattr(types.Backend, name.upper(), name.upper())
