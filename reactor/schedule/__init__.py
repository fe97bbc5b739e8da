"""Computes the schedule of a program from the program and its placement: pure functions."""

from reactor.schedule.compiling import Schedule, Step, compile_schedule
from reactor.schedule.placing import PLACEMENTS, place
from reactor.schedule.wiring import Wiring
