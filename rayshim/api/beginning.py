"""Starts the session in this process, when the runtime has started."""

import contextlib
import faulthandler
import sys


def begin(
    driver, settings, kind, undo, *, configure_logging, logging_level, logging_format, logging_config, log_to_driver
):
    """Returns the Session of a started `driver` (reactor's). `kind`: the kind of placement; `undo`: an ExitStack, which gets what undoes each step."""
    from rayshim.api import arguments, termination, worker_lines
    from rayshim.errors import logs
    from rayshim.ordering import deadlock
    from rayshim.resources import accelerators
    from rayshim.session import session
    from rayshim.worker import hooks, unhandled

    logs.configure_or_silence(configure_logging, logging_level, logging_format)
    screen = worker_lines.Screen(plain=logging_config is not None) if arguments.shows_output(log_to_driver) else None
    driver.show = screen and screen.show
    driver.lost = unhandled.report
    if settings.timing:
        from rayshim.timing import clock, loop

        undo.callback(clock.end)
        undo.callback(loop.end)
    hooks.install(settings, "driver")
    placement = kind(driver.control, settings)
    undo.callback(placement.end)
    hooks.observe(placement)
    placement.begin()
    undo.callback(session.end)
    started = session.Session(placement, driver)
    accelerators.note_visible(started)
    session.begin(started)
    started.screen = screen
    undo.callback(deadlock.remove_wait_report)
    deadlock.install_wait_report()
    undo.callback(termination.end)
    termination.begin()
    with contextlib.suppress(Exception):  # stderr is no file
        if not faulthandler.is_enabled():
            faulthandler.enable(all_threads=False)  # a crash in native code shows where it was called, as on Ray
    if logging_config is not None:
        logging_config.apply()
    hooks.begin_driver(started)
    if "ray" in sys.modules:
        from rayshim.as_ray import two_rays

        two_rays.tell(logs.logger)
    return started
