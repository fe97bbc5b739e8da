"""From a program and a placement to what is run: pure."""

from reactor.schedule.compiling import Schedule, Step, compile_schedule
from reactor.schedule.placing import PLACEMENTS, place
from reactor.schedule.wiring import Wiring
