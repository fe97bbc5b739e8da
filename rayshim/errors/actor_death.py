"""The facts about an actor's death that an ActorDiedError shows."""

from __future__ import annotations


class ActorDeath:
    """The known facts of an actor's death, for ActorDiedError. `reason` is a sentence for the user, `actor_id` is hex.

    As on Ray, the sentence begins "The actor is dead because ...", for example "because it was killed by `ray.kill`." or
    "because its worker process has died.".
    """

    __slots__ = ("actor_id", "class_name", "ip", "name", "namespace", "never_started", "pid", "reason")

    def __init__(
        self,
        reason: str,
        class_name: str = "",
        actor_id: str = "",
        pid: int = 0,
        name: str = "",
        namespace: str = "",
        ip: str = "",
        never_started: bool = False,
    ) -> None:
        self.reason: str = reason
        self.class_name: str = class_name
        self.actor_id: str = actor_id
        self.pid: int = pid
        self.name: str = name
        self.namespace: str = namespace
        self.ip: str = ip
        self.never_started: bool = never_started

    def lines(self) -> list[str]:
        """The known facts, one line each."""
        facts = [
            f"\t{label}: {value}"
            for label, value in (
                ("class_name", self.class_name),
                ("actor_id", self.actor_id),
                ("pid", self.pid),
                ("name", self.name),
                ("namespace", self.namespace),
                ("ip", self.ip),
            )
            if value
        ]
        if self.reason:
            facts.append(self.reason)
        if self.never_started:
            facts.append("The actor never ran - it was cancelled before it started running.")
        return facts

    def __repr__(self) -> str:
        return f"ActorDeath({self.reason!r}, {self.class_name!r}, {self.actor_id!r})"
