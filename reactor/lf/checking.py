"""What a reactor declares, checked before anything is made of it."""

from reactor.lf import syntax as s
from reactor.lf.errors import at

_NAMED = (s.Port, s.Timer, s.Action, s.Watchdog, s.Instantiation, s.Mode, s.State, s.Method)


def check_names(declared):
    """Refuses two elements of one name, and modes of which not exactly one is initial."""
    seen = {}
    modes = [member for member in declared.members if isinstance(member, s.Mode)]
    everything = [*declared.parameters, *declared.members, *(inner for mode in modes for inner in mode.members)]
    for member in everything:
        if isinstance(member, (s.Parameter, *_NAMED)):
            other = seen.setdefault(member.name, member)
            if other is not member:
                raise at(member, f"{member.name} is declared already, in line {other.line}: give it a name of its own")
    if modes and sum(mode.initial for mode in modes) != 1:
        raise at(modes[0], "exactly one mode of a reactor is initial: write `initial mode` for that one")
