"""The graph of calls that wait for each other's results: which makes a result, and whether there is a cycle."""


def maker_of(waits):
    """A function that gives the waiter that makes a result; None: its call has not started. `waits`, results: see `cycle`."""
    serving = {actor: waiter for waiter, (_, actor, *_) in waits.items() if actor}

    def maker(result):
        _, runner, actor = result
        return runner if runner >= 0 else serving.get(actor)

    return maker


def cycle(waits, start):
    """The cycle of waits that `start` is in, or None.

    Arguments:
        waits: {waiter: (pid, number of its actor or 0, [results that it needs to continue], ...)}. A result is (uid, the waiter that makes it or -1,
            number of the actor whose call makes it or 0). A waiter is a process that runs one call at a time, or a packed actor. Processes that
            can continue in another thread are left out.
        start: a waiter.

    Returns [(waiter, uid)]: each waits for what the next one makes, the last for the first.
    """
    maker = maker_of(waits)
    path, tried = [], set()

    def follow(waiter):
        for result in waits[waiter][2]:
            uid, to = result[0], maker(result)
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
