"""What a reactor declares, checked before anything is made of it."""

from reactor.lf import syntax as s
from reactor.lf.errors import at

_ELEMENTS = (s.Parameter, s.Port, s.Timer, s.Action, s.Watchdog, s.Instantiation, s.Mode)  # code finds them as names
_ATTRIBUTES = (s.Parameter, s.State, s.Method)  # code finds them as attributes of `self`


def check_names(declared):
    """Refuses two elements or two attributes of one name, and modes of which not exactly one is initial."""
    modes = [member for member in declared.members if isinstance(member, s.Mode)]
    everything = [*declared.parameters, *declared.members, *(inner for mode in modes for inner in mode.members)]
    for kinds in (_ELEMENTS, _ATTRIBUTES):
        seen = {}
        for member in everything:
            if isinstance(member, kinds):
                other = seen.setdefault(member.name, member)
                if other is not member:
                    raise at(
                        member, f"{member.name} is declared already, in line {other.line}: give it a name of its own"
                    )
    if modes and sum(mode.initial for mode in modes) != 1:
        raise at(modes[0], "exactly one mode of a reactor is initial: write `initial mode` for that one")
