"""`ray.dashboard.modules.dashboard_sdk`: what Ray Serve's command line takes from it."""

import json
import sys


def parse_runtime_env_args(runtime_env=None, runtime_env_json=None, working_dir=None):
    """The runtime environment (dict) of a file in YAML or of a text in JSON; `working_dir` goes before theirs. Raises ValueError if both are given."""
    if runtime_env is not None and runtime_env_json is not None:
        raise ValueError("Only one of --runtime_env and --runtime-env-json can be provided.")
    found = {}
    if runtime_env is not None:
        import yaml

        with open(runtime_env) as file:
            found = yaml.safe_load(file)
    elif runtime_env_json is not None:
        found = json.loads(runtime_env_json)
    if working_dir is not None:
        if "working_dir" in found:
            print("Overriding runtime_env working_dir with --working-dir option", file=sys.stderr)
        found["working_dir"] = working_dir
    return found
