"""Tuner with PPO, two trials of two iterations: python tuned_ppo.py. Prints a line of JSON."""

import json
import tempfile
import time

import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPOConfig


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=1).debugging(seed=1)
    config.training(lr=tune.grid_search([3e-4, 1e-3]))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        run_config = tune.RunConfig(stop={"training_iteration": 2}, storage_path=folder, verbose=0)
        results = tune.Tuner("PPO", param_space=config, run_config=run_config).fit()
        seconds = time.monotonic() - begun
    returns = sorted((r.config["lr"], r.metrics["env_runners"]["episode_return_mean"]) for r in results)
    print(json.dumps({"seconds": seconds, "returns": returns}))


if __name__ == "__main__":
    main()
