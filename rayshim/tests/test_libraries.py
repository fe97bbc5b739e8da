"""RLlib, Tune, Train, Data and Serve of the installed Ray package run on rayshim, and nothing of Ray's own core is loaded for them."""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

import pytest

from rayshim.as_ray import libraries
from rayshim.session.version import RAY_VERSION

try:
    installed = distribution("ray").version == RAY_VERSION
except PackageNotFoundError:
    installed = False
pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(not installed or find_spec("tree") is None, reason="Ray's libraries are not installed"),
]


def run(program, tmp_path, *arguments, first=(), **environment):
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "rayshim", "program.py", *arguments],
        cwd=tmp_path,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join([*map(str, first), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=380,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


IMPORT_ALL = """
import importlib, json, os, sys
import ray
from rayshim.as_ray import libraries

root, missing = libraries._root(), {}
for library in libraries._LIBRARIES:
    for folder, _, files in os.walk(os.path.join(root, library)):
        inside = os.path.relpath(folder, root).split(os.sep)
        if not {"tests", "examples", "tuned_examples", "thirdparty", "benchmarks", "benchmark"} & set(inside):
            for file in files:
                if file.endswith(".py"):
                    name = ".".join(["ray", *inside, file[:-3]]).removesuffix(".__init__")
                    try:
                        importlib.import_module(name)
                    except ImportError as error:
                        missing[name] = error.name or ""
                    except (ValueError, DeprecationWarning):
                        pass  # the module says that it is deprecated
with open("/proc/self/maps") as maps:
    core = "_raylet.so" in maps.read()
files = {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None) or "").startswith(root + os.sep)}
taken = [os.path.relpath(file, root)[:-3].replace(os.sep, ".").removesuffix(".__init__") for file in files]
print(json.dumps([missing, taken, core, ray.__file__, ray.__name__]))
"""


def test_every_module_is_imported_and_none_of_the_packages_core(tmp_path):
    missing, taken, core, file, name = json.loads(run(IMPORT_ALL, tmp_path).splitlines()[-1])
    assert len(taken) > 700
    assert not [
        module for module in taken if not libraries.allowed(module) and not module.startswith("thirdparty_files.")
    ]
    assert not core and name == "rayshim" and "rayshim" in file
    of_ray = {module for module, what in missing.items() if what.split(".")[0] in ("ray", "rayshim", "")}
    assert of_ray <= {
        "ray.rllib.conftest",
        "ray.tune.utils.release_test_util",
        "ray.tune.utils.mock",
        "ray.rllib.env.wrappers.open_spiel",
        "ray.data.llm",
    } | {
        module
        for module in of_ray
        if module.startswith(("ray.serve.llm", "ray.llm."))
        or "lightning" in module
        or "horovod" in module
        or "keras" in module
        or "tensorflow" in module
    }


def test_another_release_of_the_package_is_refused_by_name(tmp_path):
    other = tmp_path / "site"
    (other / "ray").mkdir(parents=True)
    (other / "ray-2.9.0.dist-info").mkdir()
    (other / "ray-2.9.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ray\nVersion: 2.9.0\n")
    told = run("try:\n    import ray.tune\nexcept ImportError as error:\n    print(error)\n", tmp_path, first=[other])
    assert f"Ray {RAY_VERSION}" in told and "Ray 2.9.0 is installed" in told and "pip install" in told


def test_a_folder_named_ray_beside_the_script_is_not_taken(tmp_path):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    assert run("from ray import tune\nimport ray.train\nprint(tune.__name__)", tmp_path) == "ray.tune\n"


NAMED = """
import sys
from ray import air
import ray.air.util.node
from rayshim.air.util import data_batch_conversion
print(ray.air.util.node.__name__, data_batch_conversion.__name__)
print(data_batch_conversion is sys.modules["ray.air.util.data_batch_conversion"], air is ray.air)
"""


def test_modules_of_the_libraries_have_rays_names_and_are_loaded_once(tmp_path):
    assert run(NAMED, tmp_path) == "ray.air.util.node ray.air.util.data_batch_conversion\nTrue True\n"


USED = """
import ray
import ray.air.util.node

def name():
    return ray.air.util.node.__name__

if __name__ == "__main__":
    ray.init(num_cpus=1)
    print(ray.get(ray.remote(name).remote()))
"""


def test_a_function_takes_along_the_modules_of_the_libraries_that_it_uses(tmp_path):
    assert run(USED, tmp_path) == "ray.air.util.node\n"


PRELOADED = """
import sys
import ray
import ray._common.retry

@ray.remote
class Worker:
    def has(self, names):
        assert sys.modules.get("rayshim._common.retry") is sys.modules.get("ray._common.retry")  # no second copy
        return [name in sys.modules for name in names]

if __name__ == "__main__":
    ray.init(num_cpus=1)
    names = ["ray._common.retry", "ray._common.ray_option_utils", "ray._common.formatters"]
    first = Worker.remote()
    print(ray.get(first.has.remote(names)))
    del first
    import ray._common.ray_option_utils
    print(ray.get(Worker.remote().has.remote(names)))
    ray.shutdown()
    ray.init(num_cpus=1)
    print(ray.get(Worker.remote().has.remote(names)))
"""


def test_workers_begin_with_the_modules_of_the_libraries_that_the_driver_has_imported(tmp_path):
    assert run(PRELOADED, tmp_path) == "[True, False, False]\n[True, True, False]\n[True, True, False]\n"


AT_ONCE = """
import sys
import ray

@ray.remote
def has(name):
    return name in sys.modules

if __name__ == "__main__":
    ray.init(num_cpus=1)
    import ray.air
    print(ray.get(has.remote("ray.air")))
"""


def test_the_zygote_imports_a_library_as_soon_as_the_driver_does(tmp_path):
    assert run(AT_ONCE, tmp_path) == "True\n"


PPO = """
import sys
import ray
from ray.rllib.algorithms.ppo import PPOConfig

if __name__ == "__main__":
    ray.init(num_cpus=4, placement=sys.argv[1])
    algorithm = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=2)
        .debugging(seed=1)
        .training(train_batch_size_per_learner=400, minibatch_size=128, num_epochs=2)
        .build_algo()
    )
    for _ in range(2):
        result = algorithm.train()
        print("return", result["env_runners"]["episode_return_mean"], result["env_runners"]["num_env_steps_sampled_lifetime"])
    algorithm.stop()
"""


def test_ppo_learns_the_same_in_processes_of_its_own_and_packed(tmp_path):
    isolated, packed = (
        [line for line in run(PPO, tmp_path, placement).splitlines() if line.startswith("return")]
        for placement in ("isolated", "packed")
    )
    assert len(isolated) == 2 and isolated == packed


@pytest.mark.parametrize(
    "name", ["envs/env_w_protobuf_observations", "connectors/single_agent_observation_preprocessor"]
)
def test_an_example_of_rllib_runs_unmodified(name, tmp_path):
    pytest.importorskip("torch")
    file = distribution("ray").locate_file(f"ray/rllib/examples/{name}.py")
    program = f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')"
    told = run(program, tmp_path, "--stop-iters", "1", "--num-env-runners", "1", "--num-cpus", "2", HOME=str(tmp_path))
    assert "1 TERMINATED" in told and "ERROR" not in told


TUNER = """
import ray
from ray import tune

def objective(config):
    for step in range(3):
        tune.report({"score": config["x"] * step})

if __name__ == "__main__":
    ray.init(num_cpus=2)
    results = tune.Tuner(objective, param_space={"x": tune.grid_search([1, 5, 3])}).fit()
    print("best", results.get_best_result("score", "max").config, len(results), not results.errors)
"""


def test_tuner_runs_its_trials(tmp_path):
    assert run(TUNER, tmp_path).splitlines()[-1] == "best {'x': 5} 3 True"


STOPPED_EARLY = """
import os, time, ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler

def trial(config):
    for step in range(6):
        time.sleep(int.from_bytes(os.urandom(1), "little") / 10000)
        tune.report({"score": (config["x"] * 7 % 5) * step})

if __name__ == "__main__":
    ray.init(num_cpus=3)
    scheduler = ASHAScheduler(max_t=6, grace_period=1, reduction_factor=2)
    tuner = tune.Tuner(
        trial,
        param_space={"x": tune.grid_search(list(range(8)))},
        tune_config=tune.TuneConfig(metric="score", mode="max", scheduler=scheduler),
        run_config=tune.RunConfig(storage_path=os.path.abspath("out"), verbose=0),
    )
    print([(r.metrics["trial_id"], r.metrics["training_iteration"]) for r in tuner.fit()])
"""


def test_a_replay_of_a_tuner_that_stops_trials_by_arrival_stops_the_same_ones(tmp_path):
    (tmp_path / "program.py").write_text(STOPPED_EARLY)
    printed = []
    for option in ("--record", "--replay"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "rayshim", option, "journal", "program.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=190,
        )
        assert done.returncode in (0, 3) and "ReplayError" not in done.stderr, (
            done.stdout + done.stderr
        )  # 3: the values have times
        printed.append(done.stdout.splitlines()[-1])
    assert len(set(printed)) == 1, printed


TRAINER = """
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

def loop(config):
    import torch

    torch.manual_seed(0)
    model = ray.train.torch.prepare_model(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.arange(8.0).reshape(4, 2) + ray.train.get_context().get_world_rank()
    loss = ((model(x) - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
    weights = [float(w) for w in next(model.parameters()).flatten()]
    with open(f"{config['folder']}/{ray.train.get_context().get_world_rank()}", "w") as file:
        file.write(f"{weights} {ray.train.get_context().get_world_size()}")
    ray.train.report({"loss": loss.item()})

if __name__ == "__main__":
    import os

    folder = os.getcwd()
    TorchTrainer(
        loop, train_loop_config={"folder": folder}, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=folder)
    ).fit()
    print("same", open("0").read() == open("1").read(), open("0").read().split()[-1])
"""


def test_torch_trainer_averages_over_its_workers(tmp_path):
    pytest.importorskip("torch")
    assert run(TRAINER, tmp_path).splitlines()[-1] == "same True 2"


DATA = """
import ray

class Add:
    def __init__(self, k):
        self.k = k

    def __call__(self, batch):
        batch["sum"] = batch["square"] + self.k
        return batch

if __name__ == "__main__":
    ray.init(num_cpus=6)
    dataset = (
        ray.data.range(1000)
        .map_batches(lambda batch: {"id": batch["id"], "square": batch["id"] ** 2})
        .map_batches(Add, fn_constructor_args=(3,), compute=ray.data.ActorPoolStrategy(size=2), batch_size=100)
        .random_shuffle(seed=1)
        .materialize()
    )
    print("data", dataset.count(), dataset.sum("sum"), sum(len(b["sum"]) for b in dataset.iter_batches(batch_size=300)))
"""


def test_data_goes_through_tasks_actors_and_a_shuffle(tmp_path):
    expected = sum(i * i + 3 for i in range(1000))
    assert f"data 1000 {expected} 1000" in run(DATA, tmp_path).splitlines()


REQUESTS = """
import json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ray
from ray.data.llm import HttpRequestProcessorConfig, build_processor


class Echo(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"text": asked["prompt"].upper()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


service = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
threading.Thread(target=service.serve_forever, daemon=True).start()
processor = build_processor(
    HttpRequestProcessorConfig(url=f"http://127.0.0.1:{service.server_port}/", concurrency=1),
    preprocess=lambda row: {"payload": {"prompt": row["item"]}},
    postprocess=lambda row: {"text": row["http_response"]["text"]},
)
print(sorted(row["text"] for row in processor(ray.data.from_items(["a", "b", "c"])).take_all()))
"""


def test_datas_llm_processor_asks_a_service(tmp_path):
    assert run(REQUESTS, tmp_path).splitlines()[-1] == "['A', 'B', 'C']"


def test_a_module_that_the_package_lacks_is_missing_as_on_ray(tmp_path):
    program = "try:\n    import ray.rllib.algorithm\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    assert run(program, tmp_path) == "No module named 'ray.rllib.algorithm'\n"


MICROBENCHMARK = """
import numpy
import ray
from ray._private import ray_client_microbenchmark, ray_microbenchmark_helpers

zeros = numpy.zeros
numpy.zeros = lambda shape, dtype: zeros(min(shape, 1000), dtype)  # of 800 MB


def once(name, function, *rest, **options):
    function()
    print(name)
    return [None]


ray_microbenchmark_helpers.timeit = ray_client_microbenchmark.timeit = once
from ray._private import ray_perf

ray_perf.main()
"""


def test_the_rows_of_rays_microbenchmark_run(tmp_path):
    rows = run(MICROBENCHMARK, tmp_path).splitlines()[1:]
    assert len(rows) > 30 and "1:1 actor calls sync" in rows and "placement group create/removal" in rows
    assert [row for row in rows if row.startswith("client: ")][-1] == "client: tasks and get batch"


def test_a_module_that_another_distribution_has_put_beside_those_of_ray_is_found(tmp_path, monkeypatch):
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream" / "__init__.py").write_text("from ray.stream.inner import answer\n")
    (tmp_path / "stream" / "inner.py").write_text("answer = 42\n")
    (tmp_path / "cluster_utils.py").touch()  # Ray has a module of this name, which is a part of its core
    monkeypatch.setattr(libraries, "_root", lambda: str(tmp_path))
    monkeypatch.setattr(libraries, "_is_foreign", libraries._is_foreign.__wrapped__)
    assert libraries.spec("stream").origin == str(tmp_path / "stream" / "__init__.py")
    assert libraries.spec("stream.inner").origin == str(tmp_path / "stream" / "inner.py")
    for name in ("cluster_utils", "stream.missing", "missing", "_private.node"):
        assert libraries.spec(name) is None
