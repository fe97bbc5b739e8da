"""Environment stepping by the libraries made for it: the work of stepping.py, a vector environment each.

    python benchmarks/programs/vector_environments.py --library AsyncVectorEnv --env CartPole-v1

They get the same environments with the same seeds and actions, so the trace is the same as that of stepping.py;
EnvPool's environments are its own.
"""

import functools
import os

import environments
import numpy as np
from measured import Measured, options

LIBRARIES = ("AsyncVectorEnv", "SyncVectorEnv", "SubprocVecEnv", "PufferLib", "EnvPool")


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


def run(measured, options):
    makers = {"SubprocVecEnv": stable_baselines, "PufferLib": puffer, "EnvPool": env_pool}
    if options.library in makers:
        vector, step = makers[options.library](options)
    else:
        vector, step = gymnasium_vector(options, options.library)
    measured.ready()
    observations = None
    for number in measured.rounds():
        chosen = np.array(environments.actions(options.env, options.envs, options.steps, number))
        rewards = []
        with measured.clock():
            for actions in chosen:
                observations, found = step(actions)
                # Some give a view of what the next step overwrites.
                rewards.append(np.array(found))
        # As stepping.py has them: a list per step, an array per environment.
        rewards = [[float(np.float32(reward)) for reward in step] for step in rewards]
        measured.see(rewards, [np.array(observation) for observation in observations])
    vector.close()


if __name__ == "__main__":
    chosen = options(__doc__, library=LIBRARIES, env="CartPole-v1", envs=15, steps=100)
    with Measured.of(chosen) as measured:
        run(measured, chosen)
