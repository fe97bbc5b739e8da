"""The fragments `gradient` and `update`: runs an algorithm's `learn`, and makes the steps that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rayshim.fragments.algorithm import Mean, Step

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from rayshim.fragments.algorithm import Algorithm, Batch, Request

#: What a learner asks for: (the name of the optimiser or "" for a mean, the flat gradient or value).
Part = tuple[str, np.ndarray]


class Learner:
    """A network and what trains it.

    Attributes:
        network: of `Algorithm.make_network`.
        memory: of `Algorithm.make_memory`.
        generator: on the CPU; all learners draw the same numbers. For rows of time.
        environments: the range of the indices of the environments whose batches this learner gets.
        device: "cpu" or "cuda"; that of the network and of the batches.
    """

    def __init__(self, algorithm: Algorithm, environments: range, device: str = "cpu") -> None:
        self.environments: range = environments
        self.device: str = device
        self.network: Any = new_network(algorithm, device)
        self.generator: torch.Generator = torch.Generator().manual_seed(algorithm.seed)
        self.memory: Any = algorithm.make_memory(self)
        self._algorithm = algorithm
        self._optimisers = algorithm.make_optimisers(self.network)
        self._parameters = {
            name: [p for group in optimiser.param_groups for p in group["params"]]
            for name, optimiser in self._optimisers.items()
        }
        self._learning: Generator[Request, Any, None]
        self._asked: tuple[str, torch.Size]

    def normal(self, rows: int, *shape: int) -> torch.Tensor:
        """float32 (rows, n, *shape), mean 0, variance 1: this learner's environments' part of the numbers for all environments."""
        numbers = torch.randn((rows, self._algorithm.environments, *shape), generator=self.generator)
        return numbers[:, self.environments.start : self.environments.stop].to(self.device)

    def begin(self, batch: Batch) -> Part | None:
        """Learns until the first request of `learn`. None: it has ended."""
        self._learning = self._algorithm.learn(self, batch)
        return self._advance(None)

    def resume(self, answer: np.ndarray | None) -> Part | None:
        """Goes on with the answer to a request: a mean, or the weights after a step (None: `combine` has made the step here)."""
        name, shape = self._asked
        if name == "":
            assert answer is not None
            return self._advance(torch.tensor(answer).reshape(shape).to(self.device))
        if answer is not None:
            self.load(answer)
        return self._advance(None)

    def combine(self, parts: Sequence[Part]) -> np.ndarray | None:
        """The mean of the requests of several learners, added in their order. If they are gradients, makes a step along it and gives None."""
        name = parts[0][0]
        total = parts[0][1]
        for _, part in parts[1:]:
            total = total + part
        mean = total / np.float32(len(parts)) if len(parts) > 1 else total
        if name == "":
            return mean
        gradients = _parts(self._parameters[name], torch.tensor(mean, device=self.device))
        self._step(name, [gradient for _, gradient in gradients])
        return None

    def learn(self, batch: Batch) -> int:
        """Learns alone: `begin`, `combine` and `resume` without the vectors that cross between processes. Returns how many requests `learn` made."""
        learning, answer, requests = self._algorithm.learn(self, batch), None, 0
        while True:
            try:
                request = learning.send(answer)
            except StopIteration:
                return requests
            requests += 1
            answer = request.value.detach() if isinstance(request, Mean) else self._step(*self._gradients(request))

    def weights(self) -> np.ndarray:
        """The parameters that are trained, one after the other, float32."""
        return weights_of(self.network)

    def load(self, weights: np.ndarray) -> None:
        """Sets the parameters that are trained."""
        load_into(self.network, weights)

    def _advance(self, answer: torch.Tensor | None) -> Part | None:
        try:
            request = self._learning.send(answer)
        except StopIteration:
            return None
        if isinstance(request, Mean):
            self._asked = "", request.value.shape
            return "", request.value.detach().reshape(-1).cpu().numpy()
        name, gradients = self._gradients(request)
        self._asked = name, torch.Size()
        return name, torch.cat([gradient.reshape(-1) for gradient in gradients]).cpu().numpy()

    def _gradients(self, request: object) -> tuple[str, Sequence[torch.Tensor]]:
        """(the name of the optimiser, the gradients of its parameters) that `learn` asks for."""
        if not isinstance(request, Step):
            raise TypeError(
                f"{type(self._algorithm).__name__}.learn yielded {request!r}, a {type(request).__name__}. It may yield Step(loss) and Mean(value)."
            )
        name = next(iter(self._optimisers)) if request.optimiser is None else request.optimiser
        if name not in self._optimisers:
            raise ValueError(
                f"{type(self._algorithm).__name__}.learn asked for a step of the optimiser {name!r}; make_optimisers gave "
                f"{', '.join(map(repr, self._optimisers))}."
            )
        return name, torch.autograd.grad(request.loss, self._parameters[name])

    def _step(self, name: str, gradients: Sequence[torch.Tensor]) -> None:
        parameters = self._parameters[name]
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        if self._algorithm.max_gradient_norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, self._algorithm.max_gradient_norm)
        self._optimisers[name].step()


def new_network(algorithm: Algorithm, device: str) -> torch.nn.Module:
    """The algorithm's network with its first weights: those of its seed, whatever this process has drawn before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(algorithm.seed)
        return algorithm.make_network().to(device)


def weights_of(network: torch.nn.Module) -> np.ndarray:
    with torch.no_grad():
        return torch.cat([p.reshape(-1) for p in network.parameters() if p.requires_grad]).cpu().numpy()


def load_into(network: torch.nn.Module, weights: np.ndarray) -> None:
    with torch.no_grad():
        for parameter, part in _parts((p for p in network.parameters() if p.requires_grad), torch.tensor(weights)):
            parameter.copy_(part)


def _parts(parameters: Iterable[torch.Tensor], flat: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Each parameter with its part of a vector, in which they lie one after the other, in its shape."""
    at = 0
    for parameter in parameters:
        yield parameter, flat[at : at + parameter.numel()].view_as(parameter)
        at += parameter.numel()
