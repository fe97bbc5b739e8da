"""Population-based training: members train side by side; now and then the worst continue from the best.

    python benchmarks/programs/population.py              # on Ray
    python -m rayshim benchmarks/programs/population.py   # on rayshim

After "Population Based Training of Neural Networks": exploit by truncation (the worst quarter takes the state of a member of the
best), explore by changing the hyperparameters by a fifth. The members train a small network in numpy; a round is one generation:
all train, report, and exchange.
"""

import numpy as np
import plain
import ray
from measured import Measured, options

INPUTS, HIDDEN = 16, 32
EXAMPLES, BATCH, STEPS = 512, 32, 40


class Member:
    """A regression by stochastic gradient descent with momentum; its hyperparameters are both."""

    def __init__(self, index):
        data = np.random.default_rng(0)
        self.inputs = data.standard_normal((EXAMPLES, INPUTS))
        self.wanted = np.sin(self.inputs @ data.standard_normal(INPUTS))
        self.random = np.random.default_rng([1, index])
        self.weights = [self.random.standard_normal((INPUTS, HIDDEN)) * 0.25, self.random.standard_normal(HIDDEN) * 0.2]
        self.speed = [np.zeros_like(weight) for weight in self.weights]
        self.rate, self.momentum = 10.0 ** self.random.uniform(-4, -1), self.random.uniform(0.1, 0.95)

    def ready(self):
        return True

    def train(self):
        """Takes STEPS steps; returns the loss on all examples."""
        for _ in range(STEPS):
            chosen = self.random.integers(EXAMPLES, size=BATCH)
            inputs, (first, second) = self.inputs[chosen], self.weights
            hidden = np.tanh(inputs @ first)
            error = (hidden @ second - self.wanted[chosen]) / BATCH
            back = np.outer(error, second) * (1.0 - hidden**2)
            for weight, speed, gradient in zip(
                self.weights, self.speed, (inputs.T @ back, hidden.T @ error), strict=True
            ):
                speed *= self.momentum
                speed -= self.rate * gradient
                weight += speed
        found = np.tanh(self.inputs @ self.weights[0]) @ self.weights[1]
        return float(((found - self.wanted) ** 2).mean())

    def state(self):
        return self.weights, self.speed, self.rate, self.momentum

    def take(self, state):
        """Goes on from another's state, with hyperparameters a fifth up or down."""
        weights, speed, rate, momentum = state
        self.weights, self.speed = [weight.copy() for weight in weights], [part.copy() for part in speed]
        self.rate = rate * self.random.choice([0.8, 1.2])
        self.momentum = min(momentum * self.random.choice([0.8, 1.2]), 0.99)


def run(measured, options, ray=ray):
    ray.init(include_dashboard=False)
    member_class = ray.remote(Member)
    members = [member_class.remote(index) for index in range(options.members)]
    ray.get([member.ready.remote() for member in members])
    chance = np.random.default_rng(4)
    quarter = max(options.members // 4, 1)
    measured.ready()
    for _ in measured.rounds():
        with measured.clock():
            losses = ray.get([member.train.remote() for member in members])
            order = np.argsort(losses, kind="stable")
            for worst, best in zip(order[-quarter:], chance.permutation(order[:quarter]), strict=True):
                members[worst].take.remote(members[best].state.remote())
        measured.see(losses)
    measured.see(ray.get([member.state.remote() for member in members]))
    measured.figure(loss=min(losses))


if __name__ == "__main__":
    chosen = options(__doc__, members=8, style=("naive", "bare"))
    with Measured.of(chosen) as measured:
        run(measured, chosen, plain if chosen.style == "bare" else ray)
