"""Environment stepping by the libraries made for it: the work of stepping.py, a vector environment each.

    python benchmarks/programs/vector_environments.py --library AsyncVectorEnv --env CartPole-v1

They get the same environments with the same seeds and actions, so the trace is the same as that of stepping.py;
EnvPool's environments are its own. "processes" is no library but what a process per environment costs by itself.
"""

import functools
import multiprocessing
import os

import environments
import numpy as np
from measured import Measured, options

LIBRARIES = ("AsyncVectorEnv", "SyncVectorEnv", "SubprocVecEnv", "PufferLib", "EnvPool", "processes")


def gymnasium_vector(options, kind):
    """From actions to (observations, rewards), with gymnasium's own."""
    import gymnasium

    vector = getattr(gymnasium.vector, kind)([functools.partial(environments.make, options.env)] * options.envs)
    vector.reset(seed=list(range(options.envs)))
    return vector, lambda actions: vector.step(actions)[:2]


def stable_baselines(options):
    from stable_baselines3.common.vec_env import SubprocVecEnv

    vector = SubprocVecEnv([functools.partial(environments.make, options.env)] * options.envs)
    # Environment n gets the seed 0 + n.
    vector.seed(0)
    vector.reset()
    return vector, lambda actions: vector.step(actions)[:2]


def puffer(options):
    """As many workers as divide the environments evenly, at most one per core: all of them and the driver spin."""
    import pufferlib.emulation
    import pufferlib.vector

    cores = len(os.sched_getaffinity(0))
    workers = next(n for n in range(min(cores, options.envs), 0, -1) if options.envs % n == 0)

    def make():
        return pufferlib.emulation.GymnasiumPufferEnv(env_creator=functools.partial(environments.make, options.env))

    vector = pufferlib.vector.make(
        make,
        num_envs=options.envs,
        num_workers=workers,
        backend=pufferlib.vector.Multiprocessing,
        overwork=True,
    )
    vector.async_reset(list(range(options.envs)))
    vector.recv()
    shape = environments.make(options.env).observation_space.shape

    def step(actions):
        vector.send(actions)
        observations, rewards, *_ = vector.recv()
        return observations.reshape(options.envs, *shape), rewards

    return vector, step


def env_pool(options):
    import envpool

    raw = {}
    name = options.env
    if name.startswith("ALE/"):
        name = name.removeprefix("ALE/")
        raw = {"img_height": 210, "img_width": 160, "gray_scale": False, "stack_num": 1, "frame_skip": 4}
    vector = envpool.make(name, env_type="gymnasium", num_envs=options.envs, seed=0, **raw)
    vector.reset()
    return vector, lambda actions: vector.step(actions)[:2]


class Processes:
    """A process per environment, which a byte through a pipe wakes for each step and which answers with a byte.

    Nothing else goes between them while the clock runs: each knows its actions before, and tells what came of them afterwards. So what
    it takes is the environments' own time in processes that take turns on the cores, and the kernel's for waking them.
    """

    def __init__(self, options):
        context = multiprocessing.get_context("fork")
        self.processes, self.connections, self.wakes, self.answers = [], [], [], []
        for seed in range(options.envs):
            ours, theirs = context.Pipe()
            woken, wake = os.pipe()
            answered, answer = os.pipe()
            process = context.Process(target=self._serve, args=(options.env, seed, theirs, woken, answer), daemon=True)
            process.start()
            self.processes.append(process)
            self.connections.append(ours)
            self.wakes.append(wake)
            self.answers.append(answered)
        self._told()

    @staticmethod
    def _serve(name, seed, connection, woken, answer):
        environment = environments.make(name)
        environment.reset(seed=seed)
        connection.send("ready")
        while True:
            chosen, rewards = connection.recv(), []
            connection.send("ready")
            for action in chosen:
                os.read(woken, 1)
                observation, reward, *_ = environment.step(action)
                rewards.append(reward)
                os.write(answer, b".")
            connection.send((rewards, observation))

    def _told(self):
        return [connection.recv() for connection in self.connections]

    def play(self, measured, chosen):
        """(rewards by step and environment, the last observations) of a round with these actions, [steps, envs]."""
        for number, connection in enumerate(self.connections):
            connection.send(list(chosen[:, number]))
        self._told()
        with measured.clock():
            for _ in chosen:
                for wake in self.wakes:
                    os.write(wake, b".")
                for answered in self.answers:
                    os.read(answered, 1)
        rewards, observations = zip(*self._told(), strict=True)
        return zip(*rewards, strict=True), observations

    def close(self):
        for process in self.processes:
            process.terminate()


def stepwise(step):
    """`Processes.play` with a function from the actions of all environments to their (observations, rewards)."""

    def play(measured, chosen):
        rewards = []
        with measured.clock():
            for actions in chosen:
                observations, found = step(actions)
                # Some give a view of what the next step overwrites.
                rewards.append(np.array(found))
        return rewards, observations

    return play


def run(measured, options):
    makers = {"SubprocVecEnv": stable_baselines, "PufferLib": puffer, "EnvPool": env_pool}
    if options.library == "processes":
        vector = Processes(options)
        play = vector.play
    else:
        vector, step = makers.get(options.library, functools.partial(gymnasium_vector, kind=options.library))(options)
        play = stepwise(step)
    measured.ready()
    for number in measured.rounds():
        rewards, observations = play(
            measured, np.array(environments.actions(options.env, options.envs, options.steps, number))
        )
        environments.see(measured, rewards, observations)
    vector.close()


if __name__ == "__main__":
    chosen = options(__doc__, library=LIBRARIES, env="CartPole-v1", envs=15, steps=100)
    with Measured.of(chosen) as measured:
        run(measured, chosen)
