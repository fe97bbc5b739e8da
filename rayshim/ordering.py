"""What is said of order: when a message could not be held back for the serial order, and in `wait`. The rule itself: reactor/_core/order.h."""

from reactor import _core

from rayshim import session

_by_arrival = set()  # call sites of `wait` that are answered as in Ray: (code object, line)


def wait(refs, num_returns, frame):
    """`wait` without a timeout, called from `frame`: the first `num_returns` of the list. If they are not done within the session's
    patience, or nothing else can move, those that are done; and from then on at this place.

    Returns (ready, not_ready). Raises OrderingError in strict order.
    """
    s = session.current
    site = frame.f_code, frame.f_lineno
    if site in _by_arrival:
        _core.count_physical()
        return _core.wait(refs, num_returns, None)[:2]
    strict = s.settings["ordering"] == "strict"
    ready, rest, first = _core.wait(refs, num_returns, None, 1e9 if strict else s.settings["patience"])
    if first:
        return ready, rest
    _core.count_physical()
    where = f"wait() at {frame.f_code.co_filename}:{frame.f_lineno}"
    if strict:
        from rayshim.exceptions import OrderingError

        raise OrderingError(
            f"{where}: the first {num_returns} of its {len(refs)} refs, which the program's serial run would give, cannot come before this call "
            'returns: nothing else can move. Use init(ordering="logical") or "arrival", or a timeout'
        )
    _by_arrival.add(site)
    s.control.tell("say", f"{where}: the first {num_returns} of its refs were not done, but others were. It gives those that are done first from "
                          "now on, as in Ray, and results may differ from run to run (see init(ordering=, patience=))")
    return ready, rest


def wait_kept(refs, num_returns, timeout, frame):
    """`wait` in a run that is recorded, or follows a record: which refs it gives is kept by their places in the list."""
    from rayshim import rerun

    def ask():
        if timeout is None and session.current.settings["ordering"] != "arrival":
            ready = wait(refs, num_returns, frame)[0]
        else:
            ready = _core.wait(refs, num_returns, timeout)[0]
        return [refs.index(ref) for ref in ready]

    def again(answer):
        if answer:
            _core.wait([refs[i] for i in answer], len(answer), None)

    chosen = rerun.kept().answered("wait", rerun.site(frame), ask, again)
    return [refs[i] for i in chosen], [ref for i, ref in enumerate(refs) if i not in set(chosen)]


def relaxed(actor, method, targets, strict):
    """The core's word from the worker of actor number `actor`: the call of method number `method` was held back for the calls
    `targets`, [(number of an actor or uid of a function, name of the method or function)] (none: for an argument that is not there),
    and is so no more.

    With `strict` it is to fail: returns the exception for it. 2: it is not what was recorded.
    """
    s = session.current
    if strict == 2:
        from rayshim.exceptions import ReplayError

        return ReplayError(f"the program no longer matches its record: {_method_name(actor, method)} of actor {actor} was called, and the record has "
                           "another call there, which does not come")
    names = {a["number"]: a["class_name"] for a in s.control.ask("state", timeout=5)["actors"]}
    me = names.get(actor, "an actor")
    call = f"{me}.{_method_name(actor, method)}"
    others = sorted({f"{names[target]}.{name or '__init__'}" if target in names else name for target, name in targets})
    running = ", ".join(others)
    if strict:
        from rayshim.exceptions import OrderingError

        return OrderingError(
            f"{call} cannot be run in the order of the program's serial run: calls made before it ({running}) may still call {me}, and do not "
            "end, because nothing else can move before this one has run. Let the earlier calls end first (get their results before "
            'this call is made), or use init(ordering="logical") or "arrival"'
        )
    why = (
        f"calls made before it ({running}) are still running and may yet call {me}. Their calls are ordered by arrival from now on"
        if others
        else "an argument of a call made before it is missing. Its messages are ordered by arrival from now on"
    )
    s.control.tell("say", f"{call} was held back, because {why}, and results may differ from run to run (see init(ordering=, patience=))")
    return None


def _method_name(actor, index):
    return _core.method_name(actor, index) or "__init__"
