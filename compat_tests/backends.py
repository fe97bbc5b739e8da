"""What the suite runs against, and how each is started."""

import importlib
import importlib.util
from dataclasses import dataclass, field

# Small, so that a test can fill it; two of everything that a test gates on.
RESOURCES = {"num_cpus": 4, "num_gpus": 2, "resources": {"lamp": 2}, "object_store_memory": 128 << 20}
QUIET = {"log_to_driver": False}


@dataclass(frozen=True)
class Backend:
    """One side of the comparison: a module with Ray's API, and the arguments of `init` that choose it."""

    name: str
    package: str
    choice: dict = field(default_factory=dict)

    @property
    def module(self):
        return importlib.import_module(self.package)

    @property
    def installed(self):
        spec = importlib.util.find_spec(self.package)
        return spec is not None and spec.origin is not None

    @property
    def is_ray(self):
        return self.package == "ray"

    @property
    def is_serial(self):
        return self.name == "inline"

    @property
    def shares_processes(self):
        return self.name == "packed"

    def init(self, **arguments):
        """`init` with nothing but what chooses this backend and `arguments`."""
        return self.module.init(**self.choice, **arguments)

    def init_full(self):
        """`init` as most tests want it: 4 CPUs, 2 GPUs, 2 lamps, a small object store, no output."""
        return self.init(**RESOURCES, **QUIET)

    def init_source(self, **arguments):
        """The text of an `init` call, for a script that says `import ray`."""
        arguments = {"num_cpus": 2, **self.choice, **arguments}
        return f"ray.init({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"

    def command(self, *arguments):
        """The command line, after the interpreter, that runs a script that says `import ray` on this backend."""
        return list(arguments) if self.is_ray else ["-m", "rayshim", *arguments]


BACKENDS = {backend.name: backend for backend in [
    Backend("isolated", "rayshim", {"placement": "isolated"}),
    Backend("packed", "rayshim", {"placement": "packed"}),
    Backend("inline", "rayshim", {"placement": "inline"}),
    # Last: it imports torch on some of its ways, and rayshim's zygotes import what their driver has.
    Backend("ray", "ray", {"include_dashboard": False}),
]}
