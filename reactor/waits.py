"""The graph of calls that wait for each other's results: which makes a result, and whether there is a cycle."""


def maker_of(waits):
    """A function that gives the waiter that makes a result; None: its call has not started. `waits`, results: see `cycle`."""
    serving = {of.actor: waiter for waiter, of in waits.items() if of.actor}

    def maker(result):
        return result.runner if result.runner >= 0 else serving.get(result.actor)

    return maker


def cycle(waits, start):
    """The cycle of waits that `start` is in, or None.

    Arguments:
        waits: {waiter: Waiter}, as `_core.waits` gives it. A waiter is a process that runs one call at a time, or a packed actor. Processes that can
            continue in another thread are left out.
        start: a waiter.

    Returns [(waiter, uid)]: each waits for what the next one makes, the last for the first.
    """
    maker = maker_of(waits)
    path, tried = [], set()

    def follow(waiter):
        for result in waits[waiter].results:
            uid, to = result.uid, maker(result)
            if to == start:
                path.append((waiter, uid))
                return True
            if to in waits and to not in tried:
                tried.add(to)
                path.append((waiter, uid))
                if follow(to):
                    return True
                path.pop()
        return False

    return path if start in waits and follow(start) else None
