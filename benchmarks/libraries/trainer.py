"""TorchTrainer with two workers and a small model: python trainer.py. Prints a line of JSON."""

import json
import tempfile
import time

import ray
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    import torch

    torch.manual_seed(ray.train.get_context().get_world_rank())
    model = ray.train.torch.prepare_model(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(config["steps"]):
        x = torch.randn(32, 2)
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ray.train.report({"loss": loss.item(), "step": step})


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        trainer = TorchTrainer(
            loop,
            train_loop_config={"steps": 3},
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=folder),
        )
        result = trainer.fit()
        seconds = time.monotonic() - begun
    print(json.dumps({"seconds": seconds, "returns": [str(result.error)]}))


if __name__ == "__main__":
    main()
