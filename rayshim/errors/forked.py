"""Texts for a process that was forked from a process with a session. Handles, refs and names of that session cannot be used in it."""

happened = False  # whether this process is such a child
_address = None  # of the session of the parent; None: it takes no other programs


def remember(address):
    """This process was forked from one that has the session with this address."""
    global happened, _address
    happened, _address = True, address


def owner(otherwise):
    """To which session a ref or handle belongs that this process cannot use; `otherwise`: in a process that was not forked."""
    if not happened:
        return otherwise
    return "the session of the process from which this one was forked after init()"


def remedy(otherwise):
    """The sentence that says what to do; `otherwise`: in a process that was not forked."""
    if not happened:
        return otherwise
    values = "make the calls in the process that called init() and pass values, not refs or handles, to this one"
    if _address is None:
        return f"Instead, {values}"
    return (
        f"Either join that session, by init(address='{_address}') in this process, and then get_actor(name) or pickle.loads() of a handle or ref that "
        f"the other process has pickled; or {values}"
    )


def text(what):
    """The whole text for `what`, which is called in this process."""
    return f"{what} belongs to {owner('')}, and a forked process has no part in it. {remedy('')}"
