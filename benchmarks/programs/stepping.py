"""Environment stepping: an actor per environment, one step per call, all waited for after each step.

    python benchmarks/programs/stepping.py --env CartPole-v1              # on Ray
    python -m rayshim benchmarks/programs/stepping.py --env CartPole-v1   # on rayshim

The Gymnasium and Atari experiments of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model".
A round is --steps steps of all environments, with actions drawn before it.
"""

import environments
import ray
from measured import Measured, options

STYLES = ("naive", "compiled", "bare")


class Environment:
    def __init__(self, name, seed):
        self.environment = environments.make(name)
        self.first, _ = self.environment.reset(seed=seed)

    def ready(self):
        return self.first

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.environment.step(action)
        return observation, reward, terminated, truncated


def compiled(actors):
    from ray.dag import InputNode, MultiOutputNode

    with InputNode() as given:
        graph = MultiOutputNode([actor.step.bind(given[n]) for n, actor in enumerate(actors)])
    return graph.experimental_compile()


def stepper(options):
    """A function from the actions of all environments to their (observation, reward, terminated, truncated)."""
    if options.style == "bare":
        plain = [Environment(options.env, seed) for seed in range(options.envs)]
        return lambda actions: [one.step(action) for one, action in zip(plain, actions, strict=True)]
    ray.init(include_dashboard=False)
    actor_class = ray.remote(Environment)
    actors = [actor_class.remote(options.env, seed) for seed in range(options.envs)]
    ray.get([actor.ready.remote() for actor in actors])
    if options.style == "compiled":
        graph = compiled(actors)
        return lambda actions: ray.get(graph.execute(*actions))
    return lambda actions: ray.get([actor.step.remote(action) for actor, action in zip(actors, actions, strict=True)])


def run(measured, options):
    step = stepper(options)
    measured.ready()
    results = None
    for number in measured.rounds():
        chosen, rewards = environments.actions(options.env, options.envs, options.steps, number), []
        with measured.clock():
            for actions in chosen:
                # A Compiled Graph's results are views of its buffers, to be let go before it runs again.
                results = None
                results = step(actions)
                rewards.append([result[1] for result in results])
        environments.see(measured, rewards, [result[0] for result in results])


if __name__ == "__main__":
    chosen = options(__doc__, env="CartPole-v1", envs=15, steps=100, style=STYLES)
    with Measured.of(chosen) as measured:
        run(measured, chosen)
