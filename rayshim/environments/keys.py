"""Runtime environments as hashable keys, by which the settings of workers are compared."""

from __future__ import annotations

from typing import Any


def frozen(env: dict[str, Any]) -> tuple[Any, ...]:
    """`env` as a hashable key, equal for equal environments."""
    return tuple(
        sorted(
            (k, tuple(sorted(v.items())) if isinstance(v, dict) else tuple(v) if isinstance(v, list) else v)
            for k, v in env.items()
        )
    )


def thawed(key: Any) -> dict[str, Any]:
    """The environment from its key; the inverse of `frozen`."""
    return {k: dict(v) if k == "env_vars" else list(v) if k == "py_modules" else v for k, v in key}
