"""Control of actors and tasks: `kill`, `cancel`, `get_actor`, `list_named_actors`."""

from __future__ import annotations

import sys
from typing import Any

from rayshim.calls.generators import ObjectRefGenerator
from rayshim.calls.handle import ActorHandle, find
from rayshim.calls.options import check_namespace
from rayshim.calls.refs import ObjectRef
from rayshim.errors import forked
from rayshim.errors.exceptions import ActorHandleNotFoundError
from rayshim.errors.user_code import at
from rayshim.session import physical, session


def kill(actor: ActorHandle[Any] | type[Any], *, no_restart: bool = True) -> None:
    """Ends an actor's process at once. Its pending and later calls raise ActorDiedError.

    Arguments:
        actor: the actor's handle.
        no_restart: if False, the actor is restarted when its `max_restarts` allows.

    Raises ValueError if `actor` is not an actor handle.
    """
    s = session.ensure_own(at("kill"), ActorHandleNotFoundError)
    if not isinstance(actor, ActorHandle):
        raise ValueError(
            f"ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: {type(actor)}. ({at('kill')})"
        )
    link = actor._link
    if link.stale:
        from rayshim.worker.failures import stale

        raise stale("actor handle")
    physical.count("kill()")
    why = "it was killed by `ray.kill`."

    def end():
        s.placement.kill(link, why, no_restart)

    if s.settings.journal:
        from rayshim.journal import journal

        journal.kill(link, end, sys._getframe(1))
    else:
        end()


def cancel(
    ray_waitable: ObjectRef[Any] | ObjectRefGenerator[Any], *, force: bool = False, recursive: bool = True
) -> None:
    """Cancels a task or an actor's call. `get` of its result then raises TaskCancelledError, or the exception that the call raises itself.

    A call that has not started never runs. A running task is interrupted by a KeyboardInterrupt. A running call of an actor is not
    interrupted, except that a coroutine gets an asyncio.CancelledError and a generator stops at its next `yield`. A cancelled call is not retried. A
    finished call stays as it is.

    Arguments:
        ray_waitable: ObjectRef or ObjectRefGenerator of the call. If the call has several results, any of them; if it is a running generator,
            any of its values.
        force: if True, the worker process of a running task is killed.
        recursive: if True, the calls that the task has made are cancelled, too.

    Raises TypeError if `ray_waitable` is not a ref, ValueError for `force=True` with an actor's call.
    """
    session.ensure_own(at("cancel"), TypeError)
    if isinstance(ray_waitable, ObjectRefGenerator):
        ray_waitable = ray_waitable.completed()
    if not isinstance(ray_waitable, ObjectRef):
        raise TypeError(
            f"ray.cancel() only supported for object refs. For actors, try ray.kill(). Got: {type(ray_waitable)}. ({at('cancel')})"
        )
    from rayshim.calls.cancelling import cancel_ref

    cancel_ref(ray_waitable, force, bool(recursive))


def get_actor(name: str, namespace: str | None = None) -> ActorHandle[Any]:
    """Returns the handle of the actor with this name. `namespace` (str): default is the session's namespace.

    Raises ValueError if the namespace has no living actor of that name.
    """
    s = session.ensure_own(at("get_actor"))
    if not name:
        raise ValueError(f"Please supply a non-empty value to get_actor ({at('get_actor')})")
    if isinstance(name, bytes):
        name = name.decode()
    if not isinstance(name, str):
        raise TypeError(f"expected bytes, {type(name).__name__} found ({at('get_actor')}: the name must be a string)")
    check_namespace(namespace, "get_actor")
    found = find(name, namespace or s.namespace, without_handles=True)
    if found is None:
        raise ValueError(
            f"Failed to look up actor with name '{name}'. This could because 1. You are trying to look up a named actor you "
            "didn't create. 2. The named actor died. 3. You did not use a namespace matching the namespace of the actor. "
            f"({at('get_actor')} looked in namespace {namespace or s.namespace!r}; list_named_actors(all_namespaces=True) lists the existing names)"
            + (f" If the actor is in {forked.owner('')}: {forked.remedy('')}" if forked.happened else "")
        )
    return found


def list_named_actors(all_namespaces: bool = False) -> list[str] | list[dict[str, str]]:
    """Names of the living named actors in the session's namespace. With `all_namespaces=True`: a list of {"name": str, "namespace": str} for
    all namespaces."""
    s = session.ensure_own(at("list_named_actors"))
    names = [(n, ns) for n, ns in s.placement.names() if not ns.startswith("_ray_internal")]
    if all_namespaces:
        return [{"name": n, "namespace": ns} for n, ns in names]
    return [n for n, ns in names if ns == s.namespace]
