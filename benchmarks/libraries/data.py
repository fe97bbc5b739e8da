"""Ray Data on made arrays: python data.py [--megabytes N]. Reads files, maps batches with a class, shuffles and iterates; prints a line of JSON."""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import ray
import ray.data

FILES, WIDTH = 16, 256
POOL = ray.data.ActorPoolStrategy(size=2)


class Scale:
    def __init__(self, factor):
        self.factor = np.float32(factor)

    def __call__(self, batch):
        return {"data": batch["data"] * self.factor}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    rows = parser.parse_args().megabytes * 2**20 // (FILES * WIDTH * 4)
    ray.init(num_cpus=4, include_dashboard=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            np.save(Path(folder, f"{number:02}.npy"), np.full((rows, WIDTH), number + 1, np.float32))
        begun = time.monotonic()
        data = ray.data.read_numpy(folder).map_batches(Scale, fn_constructor_args=(2,), compute=POOL, batch_size=1024)
        total = count = 0
        for batch in data.random_shuffle(seed=1).iter_batches(batch_size=1024):
            total += float(batch["data"][:, 0].sum())
            count += len(batch["data"])
        seconds = time.monotonic() - begun
    print(json.dumps({"seconds": seconds, "returns": [count, total]}))


if __name__ == "__main__":
    main()
