"""Ray's calls as direct calls in this process: a program's own work and nothing else, for the bare loops.

A ref is the value itself, `get` and `put` hand it on, and nothing is copied.
"""


def init(**options):
    pass


def remote(actor_class):
    """The class with `remote(*arguments)`, which makes an actor whose methods have `remote(*arguments)` too."""
    return _Remote(lambda *arguments: _Actor(actor_class(*arguments)))


def get(refs):
    return refs


put = get


def wait(refs, num_returns=1):
    return refs[:num_returns], refs[num_returns:]


class _Remote:
    def __init__(self, call):
        self.remote = call


class _Actor:
    def __init__(self, instance):
        self._instance = instance

    def __getattr__(self, name):
        found = _Remote(getattr(self._instance, name))
        setattr(self, name, found)
        return found
