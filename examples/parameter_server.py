"""A synchronous parameter server: workers compute gradients on their own data, the server applies them.

    python examples/parameter_server.py

The program passes refs to calls without `get`. So a result goes directly from the actor that computed it to the actor that needs it, and not
through the driver.
"""

import numpy as np

import rayshim as ray

TRUE_WEIGHTS = np.array([2.0, -1.0, 0.5])


@ray.remote
class Server:
    def __init__(self):
        self.weights = np.zeros(3)

    def apply(self, *gradients, rate=0.1):
        """Applies the mean of the gradients; returns the new weights."""
        self.weights = self.weights - rate * np.mean(gradients, axis=0)
        return self.weights


@ray.remote
class Worker:
    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.inputs = random.standard_normal((200, 3))
        self.targets = self.inputs @ TRUE_WEIGHTS + 0.1 * random.standard_normal(200)

    def gradient(self, weights):
        """Returns the gradient of the mean squared error on this worker's data."""
        return 2 * self.inputs.T @ (self.inputs @ weights - self.targets) / len(self.targets)

    def loss(self, weights):
        return float(((self.inputs @ weights - self.targets) ** 2).mean())


def main():
    ray.init(logging_level="WARNING")
    server = Server.remote()
    workers = [Worker.remote(seed) for seed in range(4)]
    weights = ray.put(np.zeros(3))
    for step in range(25):
        weights = server.apply.remote(*[worker.gradient.remote(weights) for worker in workers])
        if step % 5 == 4:
            losses = ray.get([worker.loss.remote(weights) for worker in workers])
            print(f"step {step + 1:2}: loss {np.mean(losses):.6f}")
    print("weights", np.round(ray.get(weights), 2))
    ray.shutdown()


if __name__ == "__main__":
    main()
