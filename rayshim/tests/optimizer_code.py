"""Code that makes optimizers of torch, and code that makes none; test_optimizers.py runs this as a program, because it imports torch."""

import functools

import torch
import torch.optim as o
from torch.optim import Adam

import rayshim
from rayshim.calls import optimizers

PARAMETERS = [torch.nn.Parameter(torch.zeros(1))]


class ByName:
    def __init__(self):
        self.optimizer = Adam(PARAMETERS)


class ByModule:
    def learn(self):
        return o.SGD(PARAMETERS, lr=1)


class ByImport:
    def learn(self):
        from torch.optim import RMSprop

        return RMSprop(PARAMETERS)


class ByHelper:
    def __init__(self):
        self.agent = make()


class Inherited(ByHelper):
    def step(self):
        return self.step()


class ByProperty:
    @property
    def optimizer(self):
        return [Adam(p) for p in (PARAMETERS,)]


class ByDefault:
    def __init__(self, kind=torch.optim.AdamW):
        self.optimizer = kind(PARAMETERS)


class ByLambda:
    make = staticmethod(functools.partial(lambda: torch.optim.SGD(PARAMETERS, lr=1)))


def make():
    return ByName()


def decorated(f):
    @functools.wraps(f)
    def inside(*args):
        return f(*args)

    return inside


@decorated
def in_a_decorator():
    return make()


class Without:
    """Its code uses torch, and names an actor class that makes optimizers in a process of its own."""

    def __init__(self):
        self.net = torch.nn.Linear(1, 1)
        self.learner = Learner.remote()

    def forward(self, x):
        return self.net(x)


class Unhashable(type):
    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Odd(metaclass=Unhashable):
    def __init__(self):
        self.value = missing  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


Learner = rayshim.remote(ByName)

MAKES = ByName, ByModule, ByImport, ByHelper, Inherited, ByProperty, ByDefault, ByLambda, make, in_a_decorator
MAKES_NONE = Without, Odd, decorated, torch.nn.Linear, len, 3, None

if __name__ == "__main__":
    for what in (*MAKES, *MAKES_NONE):
        print(getattr(what, "__name__", what), optimizers.imports(what) == ("torch._dynamo",))
