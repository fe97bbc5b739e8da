"""Code that uses slow modules, and code that uses none; test_used_modules.py runs this as a program, because it imports torch."""

import functools
import sys

import gymnasium
import numpy.polynomial as npp
import torch
import torch.optim as o
from torch.optim import Adam

import rayshim
from rayshim.calls import used_modules

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


class Asks:
    """What rayshim's functions use is not the program's."""

    def ask(self, actor):
        return rayshim.get(actor.answer.remote())


Learner = rayshim.remote(ByName)


class Proxy:
    @property
    def __class__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        raise AssertionError("it is loaded")


class Raises(type):
    @property
    def __mro__(cls):  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        raise RuntimeError


class Closed(metaclass=Raises):
    pass


class WithProxies:
    def work(self):
        return PROXY, Closed, npp


PROXY = Proxy()


class ByParent(gymnasium.Env):
    pass


class ByModuleOfPackage:
    def work(self):
        return npp.Polynomial


class ByImportInside:
    def work(self):
        import numpy.polynomial

        return numpy.polynomial


def by_class(kind=gymnasium.Wrapper):
    return kind


def given(function):
    return torch.no_grad()(function)  # a function of torch has it


MAKES = (
    ByName,
    ByModule,
    ByImport,
    ByHelper,
    Inherited,
    ByProperty,
    ByDefault,
    ByLambda,
    make,
    in_a_decorator,
    given(make),
)
MAKES_NONE = Without, Odd, Asks, decorated, torch.nn.Linear, len, 3, None, ByParent
USES = {
    ByParent: "gymnasium.core",
    ByModuleOfPackage: "numpy.polynomial",
    ByImportInside: "numpy.polynomial",
    by_class: "gymnasium.core",
    WithProxies: "numpy.polynomial",
}

if __name__ == "__main__":
    for what in (*MAKES, *MAKES_NONE):
        print(getattr(what, "__name__", what), "torch._dynamo" in used_modules.slow(what))
    for what, name in USES.items():
        print(what.__name__, (name, sys.modules[name].__file__) in used_modules.slow(what))
    print(used_modules.slow(Odd), used_modules.slow(decorated))
