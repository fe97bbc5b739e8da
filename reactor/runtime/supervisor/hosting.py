"""The supervisor's assignment of actors to packed workers."""

from collections import Counter

from reactor import _core
from reactor.placement import least_loaded


class Hosting:
    """Arguments: plan, {"workers": number of processes, "groups": lists of actors' names by worker, "alone": names of actors with their own
    process, and, if workers differ, "born_with": the setting of each}; start, (number, setting) -> Worker or None."""

    def __init__(self, plan, start):
        self._start = start
        self._workers = [None] * plan["workers"]  # started when an actor comes
        self._planned = {name: k for k, group in enumerate(plan["groups"]) for name in group}
        self._alone = set(plan["alone"])
        self._born_with = plan.get("born_with") or [None] * plan["workers"]
        self._created = Counter()  # by class

    def name(self, facts):
        """The name of a new actor in the plan: "Env#3" is the fourth actor of its class."""
        self._created[facts["class_name"]] += 1
        return f"{facts['class_name']}#{self._created[facts['class_name']] - 1}"

    def shares(self, actor):
        """Whether an actor should run on a packed worker."""
        return actor.facts.get("shares") and actor.facts["label"] not in self._alone

    def put(self, actor):
        """Assigns an actor to a worker, or, if its facts have "hosts": (first, number), to one of these. Returns False if no process could be started."""
        first, number = actor.facts.get("hosts") or (0, len(self._workers))
        counts = [len(w.actors) if w is not None else 0 for w in self._workers[first : first + number]]
        k = self._planned.get(actor.facts["label"], -1)
        k = k if first <= k < first + number else first + least_loaded(counts)
        if self._workers[k] is None:
            self._workers[k] = self._start(k, self._born_with[k])
        w = self._workers[k]
        if w is None:
            return False
        place = next(p for p in range(len(w.actors) + 1) if p not in w.actors)
        if place > _core.MAX_PACKED_ACTORS:
            return False
        w.actors[place] = actor
        actor.worker, actor.place, actor.host, actor.pid = w, place, k, w.pid
        _core.tell_host(w.slot, actor.offset, place, _core.put(actor.facts))
        return True

    def remove(self, actor, reason):
        """Tells the actor's worker to remove it; `reason`: ref of the reason."""
        _core.set_death_reason(actor.offset, reason)
        _core.tell_host(actor.worker.slot, actor.offset, actor.place, None)

    def actor_left(self, actor):
        """Called when the actor is not on a worker any more."""
        del actor.worker.actors[actor.place]
        actor.worker = None

    def died(self, w):
        """Called when a worker has died; a new one is started for the next actor. Returns its actors."""
        self._workers = [None if other is w else other for other in self._workers]
        actors = list(w.actors.values())
        for actor in actors:
            self.actor_left(actor)
        return actors
