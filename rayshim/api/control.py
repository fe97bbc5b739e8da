"""Actors by name, and what ends them and their calls: `kill`, `cancel`, `get_actor`."""

from __future__ import annotations

import sys
from typing import Any

from reactor import _core

from rayshim.calls.generators import ObjectRefGenerator
from rayshim.calls.handle import ActorHandle, find
from rayshim.calls.refs import ObjectRef
from rayshim.errors.sites import at
from rayshim.session import session


def kill(actor: ActorHandle[Any] | type[Any], *, no_restart: bool = True) -> None:
    """Ends an actor at once, whatever it is doing; its pending and later calls get an ActorDiedError. With `no_restart=False` it is
    made anew if its `max_restarts` allows. ValueError if `actor` is no handle."""
    if not isinstance(actor, ActorHandle):
        raise ValueError(
            f"ray.kill() only supported for actors. For tasks, try ray.cancel(). Got: {type(actor)}. ({at('kill')})"
        )
    s = session.ensure()
    link = actor._link
    if link.stale:
        from rayshim.worker.failures import stale

        raise stale("actor handle")
    _core.count_physical()
    why = "it was killed by `ray.kill`."

    def end():
        if s.inline:
            from rayshim.placement.inline import kill as kill_inline

            kill_inline(s, actor, why, no_restart)
        else:
            s.control.ask("kill", link.offset, why, no_restart)

    if s.settings["kept"]:
        from rayshim.journal import rerun

        rerun.kill(link, end, sys._getframe(1))
    else:
        end()


def cancel(
    ray_waitable: ObjectRef[Any] | ObjectRefGenerator[Any], *, force: bool = False, recursive: bool = True
) -> None:
    """Cancels the task whose result the ref is: one that waits never runs, one that runs is interrupted (KeyboardInterrupt in it),
    or with `force` its worker is killed. Its ref then raises TaskCancelledError. A finished one is left alone.

    TypeError if it is no ref, ValueError for `force` on an actor's call. A method that is already running is not interrupted; a
    generator's goes no further than its next yield.
    """
    if isinstance(ray_waitable, ObjectRefGenerator):
        ray_waitable = ray_waitable.completed()
    if not isinstance(ray_waitable, ObjectRef):
        raise TypeError(
            f"ray.cancel() only supported for object refs. For actors, try ray.kill(). Got: {type(ray_waitable)}. ({at('cancel')})"
        )
    from rayshim.calls.cancelling import cancel_ref

    cancel_ref(ray_waitable, force, recursive)


def get_actor(name: str, namespace: str | None = None) -> ActorHandle[Any]:
    """The handle of a named actor. ValueError if there is none of that name in the namespace (default: this session's)."""
    if not name:
        raise ValueError(f"Please supply a non-empty value to get_actor ({at('get_actor')})")
    s = session.ensure()
    found = find(name, namespace or s.namespace)
    if found is None:
        raise ValueError(
            f"Failed to look up actor with name '{name}'. This could because 1. You are trying to look up a named actor you "
            "didn't create. 2. The named actor died. 3. You did not use a namespace matching the namespace of the actor. "
            f"({at('get_actor')} looked in namespace {namespace or s.namespace!r}; list_named_actors(all_namespaces=True) gives the names there are)"
        )
    return found


def list_named_actors(all_namespaces: bool = False) -> list[str] | list[dict[str, str]]:
    """Names of the living named actors of this namespace; with `all_namespaces` a list of {"namespace", "name"}."""
    s = session.ensure()
    if s.inline:
        names = [(n, ns) for (ns, n) in s.inline_names if find(n, ns) is not None]
    else:
        names = s.control.ask("names")
    if all_namespaces:
        return [{"namespace": ns, "name": n} for n, ns in names]
    return [n for n, ns in names if ns == s.namespace]
