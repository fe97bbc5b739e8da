"""The actor's side of a compiled graph: runs the stages that its calls name."""

import time
from dataclasses import asdict, dataclass


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


class _Failed:
    """Takes the place of a value whose operation failed; has the error."""

    def __init__(self, error, name):
        self.error, self.name = error, name


class Graph:
    """One compiled graph in one actor: its stages, and the values that stay in the actor between stages."""

    def __init__(self, instance, stages, profile):
        self._instance, self._stages, self._profile = instance, stages, profile
        self._execution = None
        self._slots = {}

    def run(self, number, execution, taken, named):
        """Runs stage `number` with the arguments `taken` and returns its result or list of results.

        The error of an operation is passed to the operations that depend on it. If the last operation has an error, it is raised here, and
        `named.__name__` becomes the name of its method.
        """
        if execution != self._execution:
            self._execution, self._slots = execution, {}
        stage, slots = self._stages[number], self._slots
        for slot, value in zip(stage.takes, taken):
            if slot is not None:
                slots.setdefault(
                    slot, value
                )  # a value that an earlier stage got is shared, like the value of one channel
        for step in stage.steps:
            failed = self._step(step, slots)
        try:
            if failed is not None:
                named.__name__ = failed.name
                raise failed.error
            given = [None if slot is None else slots[slot] for slot in stage.gives]
        finally:
            for slot in stage.frees:
                slots.pop(slot, None)
        return given[0] if len(given) == 1 else given

    def _step(self, step, slots):
        """Runs one operation and stores its results. Returns its _Failed, or None."""
        clock = [time.perf_counter()]
        arguments = [slots[what] if kind == "slot" else what for kind, what in step.arguments]
        result = next((a for a in arguments if type(a) is _Failed), None)
        clock.append(time.perf_counter())
        if result is None:
            try:
                method = getattr(self._instance, step.method) if isinstance(step.method, str) else step.method
                result = method(*arguments, **step.keywords)
                _check_parts(result, step.stores, step.name)
            except Exception as error:
                result = _Failed(error, step.name)
        clock.append(time.perf_counter())
        failed = result if type(result) is _Failed else None
        for slot, part in step.stores:
            slots[slot] = result if failed or part is None else result[part]  # pyright: ignore[reportIndexIssue]
        clock.append(time.perf_counter())
        if self._profile:
            self._record(step, clock)
        return failed

    def _record(self, step, clock):
        from rayshim.worker.context import runtime_context

        events = self._instance.__dict__.setdefault("__ray_cgraph_events", [])
        for i, part in enumerate(("READ", "COMPUTE", "WRITE")):
            events.append(
                OperationRecord(
                    type(self._instance).__name__,
                    runtime_context.get_actor_name(),  # pyright: ignore[reportArgumentType]
                    runtime_context.get_actor_id(),  # pyright: ignore[reportArgumentType]
                    step.name,
                    step.bind_index,
                    part,
                    clock[i],
                    clock[i + 1],
                )
            )


def _check_parts(result, stores, name):
    if len(stores) < 2:
        return
    if not isinstance(result, tuple):
        raise ValueError(
            f"Expected a tuple of {len(stores)} outputs, but got {type(result)} (from {name}, whose num_returns is {len(stores)}, in a compiled graph: return a tuple)"
        )
    if len(result) != len(stores):
        raise ValueError(
            f"Expected {len(stores)} outputs, but got {len(result)} outputs (from {name} in a compiled graph: return as many values as its num_returns says)"
        )
