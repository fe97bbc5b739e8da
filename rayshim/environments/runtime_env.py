"""`RuntimeEnv`: a runtime environment as an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rayshim.environments.checking import checked
from rayshim.environments.config import RuntimeEnvConfig
from rayshim.errors.user_code import calling
from rayshim.session.version import RAY_COMMIT

if TYPE_CHECKING:
    from collections.abc import Callable


class RuntimeEnv(dict[str, Any]):
    """A runtime environment as a dict of its fields, in Ray's form; those that are None or empty are left out. Raises what `checked` raises."""

    __module__ = "rayshim.runtime_env"
    known_fields: ClassVar[set[str]] = {  # Ray's
        "py_modules",
        "py_executable",
        "java_jars",
        "working_dir",
        "conda",
        "pip",
        "uv",
        "container",
        "excludes",
        "env_vars",
        "_ray_release",
        "_ray_commit",
        "_inject_current_ray",
        "config",
        "worker_process_setup_hook",
        "_nsight",
        "_rocprof_sys",
        "image_uri",
    }
    extensions_fields: ClassVar[set[str]] = {"_ray_release", "_ray_commit", "_inject_current_ray"}  # Ray's

    def __init__(
        self,
        *,
        py_modules: list[Any] | None = None,
        py_executable: str | None = None,
        working_dir: str | None = None,
        pip: list[str] | dict[str, Any] | str | None = None,
        conda: dict[str, Any] | str | None = None,
        container: dict[str, str] | None = None,
        env_vars: dict[str, str] | None = None,
        worker_process_setup_hook: Callable[[], Any] | str | None = None,
        nsight: dict[str, str] | str | None = None,
        rocprof_sys: dict[str, Any] | str | None = None,
        config: dict[str, Any] | RuntimeEnvConfig | None = None,
        _validate: bool = True,
        image_uri: str | None = None,
        uv: list[str] | dict[str, Any] | str | None = None,
        **kwargs: Any,
    ) -> None:
        fields = {
            "py_modules": py_modules,
            "py_executable": py_executable,
            "working_dir": working_dir,
            "pip": pip,
            "conda": conda,
            "container": container,
            "env_vars": env_vars,
            "worker_process_setup_hook": worker_process_setup_hook,
            "_nsight": nsight,
            "_rocprof_sys": rocprof_sys,
            "config": config,
            "image_uri": image_uri,
            "uv": uv,
        }
        fields = {**kwargs, **{name: value for name, value in fields.items() if value is not None}}
        super().__init__({} if _validate else fields)
        if not _validate:
            return
        for name, value in {**fields, **checked(fields, "RuntimeEnv", in_use=False)}.items():
            value = _rays_form(name, value)
            if value is not None:
                super().__setitem__(name, value)
        if self.get("pip") or self.get("conda"):
            self.setdefault("_ray_commit", RAY_COMMIT)

    def __setitem__(self, key: str, value: Any) -> None:
        if value is None:
            return super().__setitem__(key, None)
        value = _rays_form(key, checked({key: value}, "RuntimeEnv", in_use=False).get(key, value))
        if value is not None:
            super().__setitem__(key, value)

    def set(self, name: str, value: Any) -> None:
        """Sets the field; raises what the constructor raises."""
        self[name] = value

    def get(self, name: str, default: Any = None, data_class: Any = None) -> Any:
        """The field, or `default`; with `data_class` as an object of it."""
        found = super().get(name, default)
        return data_class(**found) if data_class is not None and isinstance(found, dict) else found

    def to_dict(self) -> dict[str, Any]:
        return dict(self)

    def serialize(self) -> str:
        """As JSON text."""
        import json

        return json.dumps(self, sort_keys=True)

    @classmethod
    def deserialize(cls, serialized_runtime_env: str) -> RuntimeEnv:
        """The RuntimeEnv of such a text."""
        import json

        fields = json.loads(serialized_runtime_env)
        for name in ("nsight", "rocprof_sys"):
            if f"_{name}" in fields:
                fields[name] = fields.pop(f"_{name}")
        return cls(_validate=False, **fields)

    def env_vars(self) -> dict[str, str]:
        return self.get("env_vars", {})

    def working_dir(self) -> str:
        return self.get("working_dir", "")

    def has_working_dir(self) -> bool:
        return "working_dir" in self

    def working_dir_uri(self) -> str | None:
        return self.get("working_dir")

    def py_modules(self) -> list[Any]:
        return list(self.get("py_modules") or ())

    def py_modules_uris(self) -> list[Any]:
        return self.py_modules()

    def py_executable(self) -> str | None:
        return self.get("py_executable")

    def nsight(self) -> dict[str, str] | str | None:
        return self.get("_nsight")

    def rocprof_sys(self) -> dict[str, Any] | str | None:
        return self.get("_rocprof_sys")

    def java_jars(self) -> list[str]:
        return list(self.get("java_jars") or ())

    def image_uri(self) -> str | None:
        return self.get("image_uri")

    def get_extension(self, key: str) -> str | None:
        """An extension's value. ValueError for what is none."""
        if key not in self.extensions_fields:
            raise ValueError(f"Extension key must be one of {self.extensions_fields}, got: {key} (at {calling()})")
        return self.get(key)

    def plugins(self) -> list[tuple[str, Any]]:
        """The fields that Ray does not know: those of plugins."""
        return [(name, value) for name, value in self.items() if name not in self.known_fields]

    def plugin_uris(self) -> list[str]:
        return []

    def has_pip(self) -> bool:
        return bool(self.get("pip"))

    def has_uv(self) -> bool:
        return bool(self.get("uv"))

    def has_conda(self) -> bool:
        return bool(self.get("conda"))

    def conda_env_name(self) -> str | None:
        """The environment's name; None if there is none, or it is given by its contents."""
        found = self.get("conda")
        return found if isinstance(found, str) else None

    def conda_config(self) -> str | None:
        """The environment's contents as JSON text; None if there is none, or it is given by its name."""
        import json

        found = self.get("conda")
        return json.dumps(found, sort_keys=True) if found and isinstance(found, dict) else None

    def virtualenv_name(self) -> str | None:
        """The path of the virtual environment, if `pip` is one."""
        found = self.get("pip")
        return found if found and isinstance(found, str) else None

    def pip_config(self) -> dict[str, Any]:
        found = self.get("pip")
        return _rays_form("pip", found) or {} if found and not isinstance(found, str) else {}

    def uv_config(self) -> dict[str, Any]:
        found = self.get("uv")
        return _rays_form("uv", found) or {} if found and not isinstance(found, str) else {}

    def has_py_container(self) -> bool:
        return bool(self.get("container"))

    def py_container_image(self) -> str | None:
        return self.get("container", {}).get("image")

    def py_container_run_options(self) -> list[str] | None:
        return self["container"].get("run_options", []) if self.has_py_container() else None

    def py_container_worker_path(self) -> str | None:
        return self["container"].get("worker_path", "") if self.has_py_container() else None


def _rays_form(name, value):
    """The value of a checked field as Ray keeps it; None: the field is left out."""
    if name in ("env_vars", "excludes") and not value:
        return None
    if name == "config":
        return RuntimeEnvConfig.parse_and_validate_runtime_env_config(value)
    return _packages(name, value) if name in ("pip", "uv") else value


def _packages(name, given):
    """A field `pip` or `uv` as a dict: each package once, and no field if there is none."""
    fields = dict(given) if isinstance(given, dict) else {"packages": given}
    packages = fields["packages"]
    if isinstance(packages, str):
        with open(packages) as file:
            packages = [line.strip() for line in file if line.strip()]
    fields["packages"] = list(dict.fromkeys(packages))
    fields.setdefault(f"{name}_check", False)
    if name == "uv" and isinstance(given, dict):
        fields.setdefault("uv_pip_install_options", ["--no-cache"])
    return fields if packages else None
