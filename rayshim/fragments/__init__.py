"""Algorithms of reinforcement learning that say nothing of processes, and distribution policies that decide about them at deployment.

The fragments of a training loop, and the policies over them, follow MSRL (Zhu et al., "MSRL: Distributed Reinforcement Learning with Dataflow
Fragments", USENIX ATC 2023). Written on Ray's public API alone: the same file runs on rayshim and on real Ray.
"""

from rayshim.fragments.algorithm import Algorithm, Batch, Mean, Request, Step
from rayshim.fragments.deployment import Deployment, Progress, deploy
from rayshim.fragments.learner import Learner
from rayshim.fragments.policies import (
    POLICIES,
    Policy,
    Role,
    central,
    environment_workers,
    hybrid,
    multiple_learners,
    one_device,
    single_learner_coarse,
    single_learner_fine,
)
from rayshim.fragments.random_rows import RandomRows
from rayshim.fragments.replay import Replay

__all__ = [
    "POLICIES",
    "Algorithm",
    "Batch",
    "Deployment",
    "Learner",
    "Mean",
    "Policy",
    "Progress",
    "RandomRows",
    "Replay",
    "Request",
    "Role",
    "Step",
    "central",
    "deploy",
    "environment_workers",
    "hybrid",
    "multiple_learners",
    "one_device",
    "single_learner_coarse",
    "single_learner_fine",
]
