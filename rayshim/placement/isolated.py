"""Isolated placement: a process per actor, tasks in a pool of workers."""

from rayshim.placement.interface import Placement


class Isolated(Placement):
    """As the interface says: nothing is shared."""

    name = "isolated"

    def create(self, actor):
        if self.settings.auto:
            from rayshim.placement import habits, packed

            reason = packed.own_process(actor) or habits.why_not_shareable(actor.cls)
            if reason:
                self.post(("alone", actor.facts["class_name"]), reason)
        return super().create(actor)
