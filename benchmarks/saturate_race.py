"""One contestant of the race of `python -m benchmarks saturate`: SAC on one task, until a return is reached, in a process of its own.

    python -m benchmarks.saturate_race NAME --task Pendulum --seed 1 --goal -250 --limit 120

Prints a line of JSON: sampled and updated frames a second from the first update on, and the seconds of training until the mean return of 10 episodes was
the goal (null: not within the limit). The start of processes does not count.
"""

import argparse
import json
import time
from collections import deque

EPISODES = 10
BATCH, STARTS = 256, 400


class Clock:
    """Counts, and says when the race is over."""

    def __init__(self, goal, limit):
        self.goal, self.limit = goal, limit
        self.returns = deque(maxlen=EPISODES)
        self.began, self.reached, self.first, self.last = time.perf_counter(), None, None, None

    def over(self, steps, updated, returns=()):
        """steps, updated: frames so far. returns: of the episodes that have ended since the last call."""
        now = time.perf_counter() - self.began
        if updated:
            self.last = now, steps, updated
            self.first = self.first or self.last
        self.returns.extend(returns)
        if len(self.returns) == EPISODES and sum(self.returns) / EPISODES >= self.goal:
            self.reached = now
        return self.reached is not None or now > self.limit

    def line(self, **more):
        nothing = (0.0, 0, 0)  # no update within the limit
        (begin, steps, updated), (end, all_steps, all_updated) = self.first or nothing, self.last or nothing
        span = max(end - begin, 1e-9)
        return {
            "sampled": (all_steps - steps) / span,
            "updated": (all_updated - updated) / span,
            "seconds_to_return": self.reached,
            "steps": all_steps,
            **more,
        }


def sac(arguments):
    from benchmarks.saturate_tasks import TASKS

    algorithm = TASKS[arguments.task]()
    algorithm.seed, algorithm.learning_starts = arguments.seed, STARTS
    return algorithm


def saturate(arguments, ray):
    from rayshim.fragments import deploy, saturating

    ratio = tuple(map(float, arguments.ratio.split(",")))
    policy = saturating(ratio if len(ratio) > 1 else ratio[0], evaluate_every=0)
    with deploy(sac(arguments), policy, ray=ray) as deployment:
        clock, updated = Clock(arguments.goal, arguments.limit), 0
        for progress in deployment.train(steps=2**62):
            updated += progress.updated
            if clock.over(progress.steps, updated, progress.returns):
                break
        return clock.line(
            setting=str(deployment.decisions[-1].setting),
            machine_idle=sorted(window.machine_idle for window in deployment.windows)[len(deployment.windows) // 2]
            if deployment.windows
            else None,
        )


def synchronous(arguments, ray):
    """The quickest synchronous policy, by `policy="auto"`."""
    from rayshim.fragments import deploy

    algorithm = sac(arguments)
    with deploy(algorithm, "auto", ray=ray) as deployment:
        deployment.weights()
        clock, updated = Clock(arguments.goal, arguments.limit), 0
        for progress in deployment.train(steps=2**62):
            updated += algorithm.updates * algorithm.batch if progress.steps > algorithm.learning_starts else 0
            if clock.over(progress.steps, updated, progress.returns):
                deployment.weights()
                break
        return clock.line(policy=deployment.policy.name)


def sb3(arguments):
    import torch
    from stable_baselines3 import SAC
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    algorithm = sac(arguments)

    class Watch(BaseCallback):
        def _on_training_start(self):
            self.clock = Clock(arguments.goal, arguments.limit)

        def _on_step(self):
            ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            return not self.clock.over(self.num_timesteps, self.model._n_updates * BATCH, ended)

    torch.manual_seed(arguments.seed)
    model = SAC(
        "MlpPolicy",
        make_vec_env(algorithm.make_environment, algorithm.environments, seed=arguments.seed),
        learning_rate=algorithm.learning_rate,
        batch_size=BATCH,
        learning_starts=STARTS,
        gradient_steps=-1,  # as many updates as steps
        policy_kwargs={"net_arch": [algorithm.hidden] * 2},
        seed=arguments.seed,
        device="cpu",
    )
    watch = Watch()
    model.learn(2**40, callback=watch)
    return watch.clock.line()


def rllib(arguments):
    import ray
    from ray.rllib.algorithms.sac import SACConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    algorithm = sac(arguments)
    ray.init(num_cpus=4, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    config = SACConfig().environment(algorithm.environment).debugging(seed=arguments.seed)
    config.env_runners(num_env_runners=1, num_envs_per_env_runner=algorithm.environments)
    rate = algorithm.learning_rate
    config.training(
        train_batch_size_per_learner=BATCH,
        training_intensity=BATCH,  # an update for each step
        num_steps_sampled_before_learning_starts=STARTS,
        actor_lr=rate,
        critic_lr=rate,
        alpha_lr=rate,
    )
    config.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[algorithm.hidden] * 2, fcnet_activation="relu"))
    config.reporting(min_time_s_per_iteration=0.5, metrics_num_episodes_for_smoothing=EPISODES)
    built = config.build_algo()
    clock, episodes = Clock(arguments.goal, arguments.limit), 0
    while True:
        result = built.train()
        runners = result["env_runners"]
        learners = result.get("learners", {}).get("default_policy", {})
        updated = learners.get("num_module_steps_trained_lifetime") or 0
        ended = runners.get("num_episodes_lifetime", 0)
        # RLlib gives the mean of the last episodes alone.
        mean = [runners["episode_return_mean"]] * min(ended - episodes, EPISODES) if ended else []
        episodes = ended
        if clock.over(runners["num_env_steps_sampled_lifetime"], updated, mean if ended >= EPISODES else ()):
            break
    line = clock.line()
    built.stop()
    ray.shutdown()
    return line


def on_ray(contestant):
    def run(arguments):
        import ray

        ray.init(num_cpus=8, include_dashboard=False, logging_level="ERROR")
        return contestant(arguments, ray)

    return run


CONTESTANTS = {
    "saturate": on_ray(saturate),
    "synchronous": on_ray(synchronous),
    "sb3": sb3,
    "rllib": rllib,
}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("name", choices=CONTESTANTS)
    parser.add_argument("--task", default="Pendulum")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--goal", type=float, default=-250.0)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--ratio", default="256")
    arguments = parser.parse_args(argv)
    print(json.dumps(CONTESTANTS[arguments.name](arguments)), flush=True)


if __name__ == "__main__":
    main()
