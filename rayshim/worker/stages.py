"""The actor's side of a compiled graph: its stages, and the times of their steps."""

from dataclasses import asdict, dataclass

from reactor.execution.stages import WorkerStages


@dataclass
class OperationRecord:
    """Times of one part of an operation, kept in the actor's `__ray_cgraph_events` when profiling is on."""

    actor_classname: str
    actor_name: str
    actor_id: str
    method_name: str
    bind_index: int
    operation: str  # READ, COMPUTE or WRITE
    start_t: float
    end_t: float

    def to_dict(self):
        return asdict(self)


def stages_of(instance, stages, profile):
    """The WorkerStages that runs `stages` on the actor `instance`; with `profile` it records the times of their steps."""

    def bound(reaction):
        return getattr(instance, reaction) if isinstance(reaction, str) else reaction

    def observe(step, times):
        _record(instance, step, times)

    return WorkerStages(stages, bound, observe if profile else None)


def _record(instance, step, times):
    from rayshim.worker.context import runtime_context

    events = instance.__dict__.setdefault("__ray_cgraph_events", [])
    for i, part in enumerate(("READ", "COMPUTE", "WRITE")):
        events.append(
            OperationRecord(
                type(instance).__name__,
                runtime_context.get_actor_name(),  # pyright: ignore[reportArgumentType]
                runtime_context.get_actor_id(),  # pyright: ignore[reportArgumentType]
                step.name,
                step.bind_index,
                part,
                times[i],
                times[i + 1],
            )
        )
