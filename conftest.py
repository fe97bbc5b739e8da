"""What holds for all tests."""

import signal


def pytest_configure():
    """What a shell starts in the background ignores SIGINT, and so would each process of the tests: on real Ray no running task could be cancelled."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
