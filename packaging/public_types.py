"""Whether a type checker knows the type of every public name of the installed packages (`make lint`).

The script copies the packages into an environment of its own, as a wheel installs them, and asks basedpyright there. It fails if the type of
a public name is not known, and says why. It also fails if the checker takes a name of the top level for a private one. A name is public if
a public module hands it on; so are the public members of a public class.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHECKER = Path(sys.executable).parent / "basedpyright"
BESIDE = ("numpy", "cloudpickle", "torch", "gymnasium", "rich", "joblib")  # the packages take types from these
# The public modules. "rayshim.util.*" stands for rayshim.util and all modules in it.
MODULES = {
    "rayshim": (
        "rayshim",
        "rayshim.actor",
        "rayshim.alias",
        "rayshim.as_ray.path.*",
        "rayshim.client_builder",
        "rayshim.cross_language",
        "rayshim.dag.*",
        "rayshim.exceptions",
        "rayshim.fragments.*",
        "rayshim.experimental.*",
        "rayshim.job_config",
        "rayshim.job_submission",
        "rayshim.remote_function",
        "rayshim.runtime_context",
        "rayshim.runtime_env.*",
        "rayshim.types",
        "rayshim.util.*",
    ),
    "reactor": (
        "reactor",
        "reactor.model.graph",
        "reactor.placement",
        "reactor.program",
        "reactor.recording.patterns",
        "reactor.recording.graph",
    ),
}
# The base class of this one is joblib's, which has no types.
UNKNOWABLE = {"rayshim.util.joblib.ray_backend.RayBackend"}


def install(root: Path) -> Path:
    """Makes an environment with copies of the packages; gives its Python."""
    venv.create(root, symlinks=True)
    packages = next(root.glob("lib/python*/site-packages"))
    left_out = shutil.ignore_patterns("tests", "__pycache__", "*.so", "*.cpp", "*.c", "*.h")
    for name in MODULES:
        shutil.copytree(ROOT / name, packages / name, ignore=left_out)
    for name in BESIDE:
        if (there := Path(sysconfig.get_path("purelib"), name)).exists():
            (packages / name).symlink_to(there)
    (root / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    return root / "bin" / "python3"


def asked(python: Path, *arguments: str | Path) -> dict[str, Any]:
    """The checker's report, as it gives it with `--outputjson`."""
    root = python.parents[1]
    environment = os.environ | {"VIRTUAL_ENV": str(root), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    command = [CHECKER, "--pythonpath", python, "--outputjson", *arguments]
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    try:
        return json.loads(ran.stdout)
    except ValueError:
        sys.exit(f"basedpyright gave no report:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


def public(report: dict[str, Any], package: str) -> dict[str, dict[str, Any]]:
    """{public name: what the report says of it}."""
    modules = {module["name"] for module in report["modules"]}
    known = {symbol["name"]: symbol for symbol in report["symbols"]}

    def is_public(module: str) -> bool:
        return any(
            module == shown or (shown.endswith(".*") and f"{module}.".startswith(shown[:-1]))
            for shown in MODULES[package]
        )

    def is_shown(name: str) -> bool:
        for one in (name, *known[name].get("alternateNames", ())):
            owner, _, last = one.rpartition(".")
            if owner in modules and is_public(owner) and not last.startswith("_"):
                return True
        owner = name.rpartition(".")[0]  # of a member the class
        return owner not in modules and owner in known and is_shown(owner)

    return {name: symbol for name, symbol in known.items() if symbol["isExported"] and is_shown(name)}


def unknown(python: Path, package: str) -> list[str]:
    """A line for each public name whose type the checker does not know."""
    symbols = public(asked(python, "--verifytypes", package, "--ignoreexternal")["typeCompleteness"], package)
    if not symbols:
        sys.exit(f"basedpyright found no public name in {package}.")
    lines = []
    for name, symbol in sorted(symbols.items()):
        if (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"]) and name not in UNKNOWABLE:
            told = (" ".join(found["message"].split()) for found in symbol["diagnostics"])
            reasons = dict.fromkeys(line for line in told if not line.startswith("No docstring"))
            lines.append(f"{name}: {'; '.join(reasons) or 'it contains something of unknown type'}")
    print(f"{package}: the checker knows the types of {len(symbols) - len(lines)} of {len(symbols)} public names.")
    return lines


def hidden(python: Path) -> list[str]:
    """A line for each name of the top level that the checker does not let a program use."""
    sys.path.insert(0, str(ROOT))
    import rayshim

    names = {
        name for name in dir(rayshim) if not name.startswith("_") and not isinstance(getattr(rayshim, name), ModuleType)
    } | {"actor", "exceptions", "runtime_env", *rayshim._MODULES, *rayshim._MODULE_OF}
    program = python.parents[1] / "program.py"
    program.write_text("import rayshim as ray\n" + "".join(f"print(ray.{name})\n" for name in sorted(names)))
    return [found["message"] for found in asked(python, "--level", "error", program)["generalDiagnostics"]]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        python = install(Path(folder).resolve())
        lines = [line for package in MODULES for line in unknown(python, package)] + hidden(python)
    if lines:
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
