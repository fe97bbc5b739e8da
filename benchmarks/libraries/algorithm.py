"""One of RLlib's algorithms with two env runners: python algorithm.py PPO [--iterations N] [--seed N]

Prints a line of JSON at the end. The first iteration, in which processes load what they need, counts for `first_result` only.
"""

import argparse
import importlib
import json
import os
import time

import ray

ENVIRONMENTS = {"SAC": "Pendulum-v1"}
# Those that train without end have a shortest time of an iteration, 10 s by default, so their figure is steps per second.
SHORTEST = {"IMPALA": 4, "APPO": 4, "SAC": 2}
# By default SAC samples 1,500 steps before it learns: the faster side would have more of its iterations after that, which take longer.
LEARNS_FROM = {"SAC": 100}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("algorithm", choices=["PPO", "DQN", "SAC", "IMPALA", "APPO"])
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    name = arguments.algorithm
    ray.init(num_cpus=4, include_dashboard=False)
    module = importlib.import_module(f"ray.rllib.algorithms.{name.lower()}")
    config = getattr(module, f"{name}Config")()
    config.environment(ENVIRONMENTS.get(name, "CartPole-v1")).env_runners(num_env_runners=2)
    config.debugging(seed=arguments.seed)
    if name in LEARNS_FROM:
        config.training(num_steps_sampled_before_learning_starts=LEARNS_FROM[name])
    if name in SHORTEST:
        config.reporting(min_time_s_per_iteration=SHORTEST[name])
    algorithm = config.build_algo()
    returns, steps, ends = [], [], []
    for _ in range(arguments.iterations):
        result = algorithm.train()
        returns.append(result["env_runners"].get("episode_return_mean"))
        steps.append(result["env_runners"]["num_env_steps_sampled_lifetime"])
        ends.append(time.monotonic())
    algorithm.stop()
    ray.shutdown()
    seconds = (ends[-1] - ends[0]) / max(len(ends) - 1, 1)
    told = {
        "first_result": ends[0] - float(os.environ["RAYSHIM_BENCHMARK_STARTED"]),
        "iteration": seconds,
        "steps_per_second": (steps[-1] - steps[0]) / (ends[-1] - ends[0]) if len(ends) > 1 else None,
        "steps": steps,
        "returns": returns,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
