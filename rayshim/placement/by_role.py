"""Placement by role: a file says which actors share processes, and which cores and threads the processes of actors and tasks have."""

import sys
from collections import defaultdict

from reactor import _core

from rayshim.placement import habits
from rayshim.placement.packed import Packed, PackedWorker, own_process
from rayshim.session import folder

_TOPIC = "role"
_ANSWER_SECONDS = 5


class ByRole(Packed):
    """The driver, and the workers that have a process to themselves. Actors without a role, and those that cannot share, are isolated."""

    name = "roles"

    def __init__(self, control, settings, record=None):
        super().__init__(control, settings, record)
        self._noted = set()

    @classmethod
    def for_runtime(cls, given):
        return {"packed": given.plan()}

    def role_of_actor(self, names, name):
        role = self.settings.roles.of_actor(names, name)
        if role is None:
            self._note(None, names[0], "")
        return role

    def role_of_task(self, names):
        role = self.settings.roles.of_task(names)
        if role is not None:
            self._note(role, names[0], "tasks")
        return role

    def shares(self, actor):
        role, facts = actor.role, actor.facts
        if role is None:
            return False
        facts["role"], facts["process"], facts["time_share"] = role.name, role.process, role.time_share
        if role.workers is None:
            self._note(role, facts["class_name"], "")
            return False
        facts["hosts"] = role.first, role.workers
        reason = own_process(actor)
        habit = "" if reason else habits.why_not_shareable(actor.cls)
        text = f"has a process of its own: it {reason}" if reason else habit and f"results may differ: it {habit}"
        self._note(role, facts["class_name"], text)
        return not reason

    def construct(self, number, make, is_async, concurrently, surrounded):
        name = self.record and self.record.get("time_share")
        if not name:
            return super().construct(number, make, is_async, concurrently, surrounded)
        from rayshim.placement.time_share import TimeShare

        share = TimeShare(folder.path(), name)
        made = super().construct(number, lambda: share.made(make), is_async, concurrently, surrounded)
        return (*made[:3], surrounded(None, None, None, [share.call]))

    def _note(self, role, name, text):
        """Shows all processes, once, that an actor class or a function has this role (None: none); `text`: more about it."""
        key = _TOPIC, role and role.name, name, text
        if key not in self._noted:
            self._noted.add(key)
            self.post(key, True)

    def about(self):
        noted, pids, actors = defaultdict(list), defaultdict(set), defaultdict(int)
        for _, role, name, text in self.posted(_TOPIC, timeout=_ANSWER_SECONDS):
            noted[role].append((name, text))
        for facts in self.state(timeout=_ANSWER_SECONDS)["actors"]:
            actors[facts.get("role")] += 1
            pids[facts.get("role")].add(facts["pid"])
        parts = []
        for role in [*(role.name for role in self.settings.roles.roles), None]:
            parts += _about(role, actors[role], len(pids[role] - {0}), noted[role])
        return f"roles of {self.settings.roles.path}: {'; '.join(parts)}"

    def before_end(self):
        """Names roles that nothing of this run has had: their patterns may have a mistake. Not after an error that has ended the program, nor for a driver
        that has joined the session."""
        if self.settings.scope or getattr(sys, "last_type", None) or _core.aborted():
            return
        try:
            posted = self.posted(_TOPIC, timeout=_ANSWER_SECONDS)
        except (RuntimeError, TimeoutError):
            return
        had = {role for _, role, _, _ in posted}
        without = sorted({name for _, role, name, _ in posted if role is None})
        for role in self.settings.roles.roles:
            if role.name not in had:
                patterns = ", ".join((*role.actors, *role.named, *role.tasks))
                others = f" Actor classes without a role: {', '.join(without)}." if without and not role.tasks else ""
                print(
                    f"rayshim: {role.where}: role {role.name}: no {'task' if role.tasks else 'actor'} of this run had it ({patterns}).{others} "
                    "Correct its names, or remove it",
                    file=sys.stderr,
                )


def _about(role, actors, processes, noted):
    """The text of a role (None: of the actors without one) in reports, in a list; [] if there is nothing to say."""
    if role is None and not actors:
        return []
    if not noted:
        return [f"{role} unused"]
    what = []
    if actors:
        what = [f"{actors} actor{'s' * (actors != 1)} in {processes} process{'es' * (processes != 1)}"]
    what += [f"{name}: {text}" if text != "tasks" else f"tasks {name}" for name, text in sorted(noted) if text]
    return [f"{role or 'without a role'} {', '.join(what)}"]


class SharedWorker(ByRole, PackedWorker):
    """A worker of several actors of one role."""

    name = PackedWorker.name
