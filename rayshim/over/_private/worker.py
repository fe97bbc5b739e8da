"""`ray._private.worker`."""

from rayshim.session import session
from rayshim.worker.process import LOCAL_MODE, SCRIPT_MODE, WORKER_MODE, global_worker, node  # noqa: F401

blocking_get_inside_async_warned = False
_post_init_hooks = []  # functions without arguments, called when this process begins a session


def _mode():
    return global_worker.mode


def __getattr__(name):
    if name == "_global_node":
        return global_worker.node
    raise AttributeError(f"module 'ray._private.worker' has no attribute '{name}': rayshim does not provide it")


def _run_hooks():
    for hook in _post_init_hooks:
        hook()


session.after_begin.append(_run_hooks)
