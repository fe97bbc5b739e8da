"""Tune with trials that do nothing: python tuner.py [--trials N]. Prints a line of JSON."""

import argparse
import json
import time

import ray
from ray import tune


def objective(config):
    tune.report({"score": config["x"]})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    trials = parser.parse_args().trials
    ray.init(num_cpus=2, include_dashboard=False)
    begun = time.monotonic()
    results = tune.Tuner(objective, param_space={"x": tune.grid_search(list(range(trials)))}).fit()
    seconds = time.monotonic() - begun
    best = results.get_best_result("score", "max").config["x"]
    print(json.dumps({"seconds": seconds, "returns": [best, len(results), len(results.errors)]}))


if __name__ == "__main__":
    main()
