"""`ray.util.ActorGroup`: actors of one class that are called together."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from rayshim import api
from rayshim.errors.user_code import at
from rayshim.session.version import RAY_VERSION
from rayshim.util.annotations import Deprecated

if TYPE_CHECKING:
    from rayshim.calls.refs import ObjectRef

T = TypeVar("T")
ActorMetadata = TypeVar("ActorMetadata")


@dataclass
class ActorWrapper:
    """An actor of a group, and the result of its `get_actor_metadata`; None without that method."""

    actor: Any
    metadata: Any


@dataclass
class ActorConfig:
    """Settings for the creation of a group's actors."""

    num_cpus: float
    num_gpus: float
    resources: dict[str, float] | None
    init_args: tuple[Any, ...]
    init_kwargs: dict[str, Any]


class ActorGroupMethod:
    """A method of all actors of a group: `group.method.remote(...)` gives the list of their refs."""

    def __init__(self, actor_group: ActorGroup, method_name: str) -> None:
        self.actor_group: weakref.ref[ActorGroup] = weakref.ref(actor_group)
        self._method_name = method_name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"ActorGroup methods cannot be called directly. Instead of running 'object.{self._method_name}()', try "
            f"'object.{self._method_name}.remote()'. ({at(self._method_name)})"
        )

    def remote(self, *args: Any, **kwargs: Any) -> list[ObjectRef[Any]]:
        group = self.actor_group()
        if group is None:
            raise RuntimeError(
                f"the ActorGroup of `{self._method_name}` no longer exists. Keep a reference to it ({at(self._method_name)})"
            )
        return [getattr(one.actor, self._method_name).remote(*args, **kwargs) for one in group.actors]


@Deprecated(
    message=f"For stateless/task processing, use ray.util.multiprocessing, see details in https://docs.ray.io/en/releases-{RAY_VERSION}/"
    "ray-more-libs/multiprocessing.html. For stateful/actor processing such as batch prediction, use "
    f"Datasets.map_batches(compute=ActorPoolStrategy, ...), see details in https://docs.ray.io/en/releases-{RAY_VERSION}/data/api/"
    "dataset.html#ray.data.Dataset.map_batches.",
    warning=True,
)
class ActorGroup:
    """Actors of one class that are called together; deprecated in Ray.

    Arguments:
        actor_cls: the plain class.
        num_actors: how many, 1 or more.
        num_cpus_per_actor, num_gpus_per_actor, resources_per_actor: what each holds.
        init_args, init_kwargs: of the constructor.

    Raises ValueError for numbers out of range.
    """

    def __init__(
        self,
        actor_cls: type,
        num_actors: int = 1,
        num_cpus_per_actor: float = 1,
        num_gpus_per_actor: float = 0,
        resources_per_actor: dict[str, float] | None = None,
        init_args: tuple[Any, ...] | None = None,
        init_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if num_actors <= 0:
            raise ValueError(
                f"The provided `num_actors` must be greater than 0. Received num_actors={num_actors} instead. ({at('ActorGroup')})"
            )
        if num_cpus_per_actor < 0 or num_gpus_per_actor < 0:
            raise ValueError(
                "The number of CPUs and GPUs per actor must not be negative. Received "
                f"num_cpus_per_actor={num_cpus_per_actor} and num_gpus_per_actor={num_gpus_per_actor}. ({at('ActorGroup')})"
            )
        self.actors: list[ActorWrapper] = []
        self.num_actors = num_actors
        self.actor_config: ActorConfig = ActorConfig(
            num_cpus_per_actor, num_gpus_per_actor, resources_per_actor, init_args or (), init_kwargs or {}
        )
        self._remote_cls = api.remote(
            num_cpus=num_cpus_per_actor, num_gpus=num_gpus_per_actor, resources=resources_per_actor
        )(actor_cls)
        self.start()

    def __getattr__(self, name: str) -> Any:
        if not self.__dict__.get("actors"):
            raise RuntimeError(
                f"This ActorGroup has been shutdown. Please start it again. ({at(name)}: `start()` does that)"
            )
        return ActorGroupMethod(self, name)

    def __len__(self) -> int:
        return len(self.actors)

    def __getitem__(self, index: int) -> ActorWrapper:
        return self.actors[index]

    @property
    def actor_metadata(self) -> list[Any]:
        """The result of `get_actor_metadata` of each actor."""
        return [one.metadata for one in self.actors]

    def start(self) -> None:
        """Creates the actors. Raises RuntimeError if they exist already."""
        if self.actors:
            raise RuntimeError(
                f"The actors have already been started. Please call `shutdown` first if you want to restart them. ({at('start')})"
            )
        self.add_actors(self.num_actors)

    def shutdown(self, patience_s: float = 5) -> None:
        """Ends the actors after their pending calls, but at the latest after `patience_s` seconds; 0: at once."""
        if patience_s <= 0:
            waiting = self.actors
        else:
            ends = [one.actor.__ray_terminate__.remote() for one in self.actors]
            waiting = self.actors if api.wait(ends, num_returns=len(ends), timeout=patience_s)[1] else []
        for one in waiting:
            api.kill(one.actor)
        self.actors = []

    def remove_actors(self, actor_indexes: list[int]) -> None:
        """Removes the actors with these indices from the group."""
        self.actors = [one for i, one in enumerate(self.actors) if i not in actor_indexes]

    def add_actors(self, num_actors: int) -> None:
        """Creates this number of further actors."""
        config = self.actor_config
        actors = [self._remote_cls.remote(*config.init_args, **config.init_kwargs) for _ in range(num_actors)]
        asked = [actor.get_actor_metadata.remote() for actor in actors if hasattr(actor, "get_actor_metadata")]
        metadata = api.get(asked) or [None] * len(actors)
        self.actors += [ActorWrapper(actor, facts) for actor, facts in zip(actors, metadata)]
