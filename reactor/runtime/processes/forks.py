"""Children that the program forks in a process of a run. The run stays with the parent: the child frees and ends nothing of it, and takes no part in it."""

import os

from reactor import _core

_in_child = []  # functions
_taking_part = False
_driver = None


def in_child(function):
    """From now on each forked child calls the function, after it has left the run."""
    _in_child.append(function)


def stays_with_parent(driver=None):
    """This process now takes part in a run, as a worker or through `driver`, whose method `forget` is for the child."""
    global _taking_part, _driver
    _taking_part, _driver = True, driver


def over():
    """This process has left its run."""
    global _taking_part, _driver
    _taking_part, _driver = False, None


def _leave():
    driver, took_part = _driver, _taking_part
    over()
    if took_part:
        _core.detach()
    if driver is not None:
        driver.forget()
    for function in _in_child:
        function()


os.register_at_fork(after_in_child=_leave)
