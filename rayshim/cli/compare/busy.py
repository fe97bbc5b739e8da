"""How much processor time other processes of the machine took during a measurement (Linux, /proc/stat)."""

import os
import time

_MOST_OTHERS = 0.1  # shares of the processors at which the times of a run begin to depend on the others
_MOST_STOLEN = 0.03


class Watch:
    """Measures the processors that this process may use, from its creation on."""

    def __init__(self):
        self._start = time.monotonic(), time.process_time(), *_used(os.sched_getaffinity(0))

    def others(self, own):
        """{"others": ..., "stolen": ...}: shares of the processors, from 0 to 1, that other processes of this machine used, and that the host of this virtual
        machine did not provide. `own`: seconds of processor time that the measured processes used."""
        started, own_before, used_before, stolen_before = self._start
        used, stolen = _used(cores := os.sched_getaffinity(0))
        seconds = max(time.monotonic() - started, 1e-9) * len(cores)
        of_others = used - used_before - own - (time.process_time() - own_before)
        return {"others": max(of_others, 0.0) / seconds, "stolen": max(stolen - stolen_before, 0.0) / seconds}


def _used(cores):
    """(seconds of processor time that processes used on these cores, seconds that the host did not provide) since the start of the machine"""
    names, used, stolen = {f"cpu{core}" for core in cores}, 0, 0
    try:
        with open("/proc/stat") as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return 0.0, 0.0
    for name, *ticks in lines:
        if name in names:
            user, nice, system, _, _, interrupts, soft, steal = (*map(int, ticks[:8]), *[0] * (8 - len(ticks[:8])))
            used += user + nice + system + interrupts + soft
            stolen += steal
    return used / os.sysconf("SC_CLK_TCK"), stolen / os.sysconf("SC_CLK_TCK")


def warning(runs):
    """The sentences for runs with the shares of `Watch.others`; None if the machine was free enough for its times to be compared."""
    others = max(run["others"] for run in runs)
    stolen = max(run["stolen"] for run in runs)
    causes = []
    if others >= _MOST_OTHERS:
        causes.append(f"other processes used up to {others:.0%} of its processors")
    if stolen >= _MOST_STOLEN:
        causes.append(f"its host withheld up to {stolen:.0%} of them")
    if not causes:
        return None
    return (
        f"The machine was busy during these runs: {' and '.join(causes)} (load average now: {os.getloadavg()[0]:.1f}). So wall times and rates mean little; "
        "compare the processor time instead, or repeat this on an idle machine."
    )
