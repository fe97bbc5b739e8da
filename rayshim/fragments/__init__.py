"""Algorithms of reinforcement learning that say nothing of processes, and distribution policies that decide about them at deployment.

The fragments of a training loop, and the policies over them, follow MSRL (Zhu et al., "MSRL: Distributed Reinforcement Learning with Dataflow
Fragments", USENIX ATC 2023). Written on Ray's public API alone: the same file runs on rayshim and on real Ray.
"""

from rayshim.fragments.algorithm import Algorithm, Batch, Mean, OffPolicy, Request, Step
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
from rayshim.fragments.saturation.climbing import Setting
from rayshim.fragments.saturation.decisions import Decision
from rayshim.fragments.saturation.meter import Window
from rayshim.fragments.saturation.policy import Saturating, saturating

__all__ = [
    "POLICIES",
    "Algorithm",
    "Batch",
    "Decision",
    "Deployment",
    "Learner",
    "Mean",
    "OffPolicy",
    "Policy",
    "Progress",
    "RandomRows",
    "Replay",
    "Request",
    "Role",
    "Saturating",
    "Setting",
    "Step",
    "Window",
    "central",
    "deploy",
    "environment_workers",
    "hybrid",
    "multiple_learners",
    "one_device",
    "saturating",
    "single_learner_coarse",
    "single_learner_fine",
]
