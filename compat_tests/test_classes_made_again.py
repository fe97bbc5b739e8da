"""A module whose classes are made at run time, and made again under the same name where one is unpickled (as `creator` of the library deap)."""

import pytest

MODULE = """
import copyreg


class Maker(type):
    def __new__(cls, name, base, attributes):
        return super().__new__(cls, name, (base,), dict(attributes))

    def __init__(cls, name, base, attributes):
        cls.made_of = name, base, attributes
        super().__init__(name, (base,), attributes)

    def __reduce__(cls):
        return make, cls.made_of


copyreg.pickle(Maker, Maker.__reduce__)


def make(name, base, attributes):
    made = globals()[name] = Maker(name, base, {**attributes, "__module__": __name__})
    return made
"""

PROGRAM = """
import ray
import classes

classes.make("Weights", tuple, {})
classes.make("Individual", list, {"weights": classes.Weights((1.0, 2.0))})


@ray.remote
def total(individual):
    return type(individual).__name__, sum(individual), tuple(individual.weights)


@ray.remote
class Population:
    def __init__(self):
        self.members = []

    def add(self, individual):
        self.members.append(individual)
        return len(self.members)

    def best(self):
        return max(self.members, key=sum)


ray.init(num_cpus=2)
members = [classes.Individual([n, 1]) for n in range(3)]
print(ray.get([total.remote(member) for member in members]))
population = Population.remote()
print(ray.get([population.add.remote(member) for member in members]))
best = ray.get(population.best.remote())
print(type(best).__name__, best, isinstance(best, classes.Individual), tuple(best.weights))
print(ray.get(total.remote(best)))
"""


ONE, TWO, THREE = (f"('Individual', {n}, (1.0, 2.0))" for n in (1, 2, 3))
PRINTED = f"[{ONE}, {TWO}, {THREE}]\n[1, 2, 3]\nIndividual [2, 1] True (1.0, 2.0)\n{THREE}\n"


def test_values_of_such_classes_are_sent_again_and_again(scripts):
    scripts.write("classes.py", MODULE)
    scripts.write("program.py", PROGRAM)
    assert scripts.finished(scripts.start("program.py")) == PRINTED


@pytest.mark.rayshim_only  # on Ray a metaclass conflict: it pickles the attributes of a class that is not found under its name
def test_values_of_such_classes_are_sent_after_one_has_come_back(scripts):
    scripts.write("classes.py", MODULE)
    scripts.write("program.py", PROGRAM + "print(ray.get(total.remote(members[0])))\n")
    assert scripts.finished(scripts.start("program.py")) == f"{PRINTED}{ONE}\n"
