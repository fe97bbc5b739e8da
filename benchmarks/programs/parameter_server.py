"""Parameter server: workers compute gradients on their data, a server actor applies them.

    python benchmarks/programs/parameter_server.py --mode sync               # on Ray
    python -m rayshim benchmarks/programs/parameter_server.py --mode async   # on rayshim

The two programs of Ray's own example. Synchronous: a round is one gradient of each worker, applied together. Asynchronous:
a round is as many gradients, each applied when `wait` gives it, after which its worker goes on with the newest weights;
whose comes first is a matter of time, so there the trace has only what must hold in every order.
"""

import numpy as np
import plain
import ray
from measured import Measured, options

INPUTS, HIDDEN, CLASSES = 196, 64, 10
EXAMPLES, BATCH = 2_000, 128
RATE = 0.05


def initial_weights():
    random = np.random.default_rng(0)
    return [
        random.standard_normal((INPUTS, HIDDEN)) * 0.07,
        np.zeros(HIDDEN),
        random.standard_normal((HIDDEN, CLASSES)) * 0.1,
    ]


def forward(weights, inputs):
    hidden = np.maximum(inputs @ weights[0] + weights[1], 0.0)
    scores = hidden @ weights[2]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, scores / scores.sum(axis=1, keepdims=True)


class Server:
    def __init__(self):
        self.weights = initial_weights()
        self.applied = 0

    def ready(self):
        return True

    def apply(self, *gradients):
        """Applies the mean of the gradients; returns the new weights."""
        self.applied += len(gradients)
        means = [sum(parts) / len(gradients) for parts in zip(*gradients, strict=True)]
        self.weights = [weight - RATE * mean for weight, mean in zip(self.weights, means, strict=True)]
        return self.weights

    def count(self):
        return self.applied


class Worker:
    """Has examples of its own, which one secret network has labelled for all."""

    def __init__(self, index):
        self.random = np.random.default_rng([2, index])
        self.inputs = self.random.standard_normal((EXAMPLES, INPUTS))
        secret = np.random.default_rng(3).standard_normal((INPUTS, CLASSES))
        self.labels = (self.inputs @ secret).argmax(axis=1)

    def ready(self):
        return True

    def gradient(self, weights):
        """Of the cross-entropy on a minibatch: a list of arrays like the weights."""
        chosen = self.random.integers(EXAMPLES, size=BATCH)
        inputs = self.inputs[chosen]
        hidden, chances = forward(weights, inputs)
        chances[np.arange(BATCH), self.labels[chosen]] -= 1.0
        chances /= BATCH
        back = chances @ weights[2].T * (hidden > 0.0)
        return [inputs.T @ back, back.sum(axis=0), hidden.T @ chances]

    def loss(self, weights):
        chances = forward(weights, self.inputs)[1]
        return float(-np.log(chances[np.arange(EXAMPLES), self.labels]).mean())


def run(measured, options, ray=ray):
    ray.init(include_dashboard=False)
    server, worker_class = ray.remote(Server).remote(), ray.remote(Worker)
    workers = [worker_class.remote(index) for index in range(options.workers)]
    ray.get([actor.ready.remote() for actor in [server, *workers]])
    first = ray.get(workers[0].loss.remote(initial_weights()))
    measured.ready()
    train = compiled if options.style == "compiled" else synchronous if options.mode == "sync" else asynchronous
    last = ray.get(workers[0].loss.remote(train(measured, ray, server, workers)))
    measured.see(last < first, ray.get(server.count.remote()))
    measured.figure(loss=last)


def synchronous(measured, ray, server, workers):
    weights = ray.put(initial_weights())
    for _ in measured.rounds():
        with measured.clock():
            weights = server.apply.remote(*[worker.gradient.remote(weights) for worker in workers])
            newest = ray.get(weights)
        measured.see(newest)
    return weights


def compiled(measured, ray, server, workers):
    from ray.dag import InputNode

    with InputNode() as given:
        graph = server.apply.bind(*[worker.gradient.bind(given) for worker in workers]).experimental_compile()
    newest = initial_weights()
    for _ in measured.rounds():
        with measured.clock():
            # What comes out lies in the graph's buffers, to be let go before it runs again.
            newest = [part.copy() for part in ray.get(graph.execute(newest))]
        measured.see(newest)
    graph.teardown()
    return newest


def asynchronous(measured, ray, server, workers):
    weights = ray.put(initial_weights())
    working = [(worker.gradient.remote(weights), worker) for worker in workers]
    for number in measured.rounds():
        with measured.clock():
            for _ in workers:
                (done,), _ = ray.wait([ref for ref, _ in working])
                place = next(place for place, (ref, _) in enumerate(working) if ref is done)
                _, worker = working.pop(place)
                weights = server.apply.remote(done)
                working.append((worker.gradient.remote(weights), worker))
        measured.see(number)
    ray.get([ref for ref, _ in working])
    return weights


if __name__ == "__main__":
    chosen = options(__doc__, workers=4, mode=("sync", "async"), style=("naive", "compiled", "bare"))
    if chosen.mode == "async" and chosen.style == "compiled":
        raise SystemExit(
            "--style compiled goes with --mode sync: what comes first in --mode async is not known when a graph is compiled"
        )
    with Measured.of(chosen) as measured:
        run(measured, chosen, plain if chosen.style == "bare" else ray)
