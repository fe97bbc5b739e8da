"""Actors that run several calls at once: threaded (`max_concurrency`), async (any `async def` method), concurrency groups.

The worker's main thread takes the calls from the channels and passes each to its group: a pool of threads, or an event
loop in its own thread. A Completion returns each result.
"""

import functools
import selectors
import threading

from reactor import _core

from rayshim.calls.class_info import SYSTEM_GROUP
from rayshim.calls.concurrency import has_threads, no_room
from rayshim.errors.death_texts import Refused
from rayshim.errors.exceptions import ActorUnavailableError, AsyncioActorExit, TaskCancelledError
from rayshim.session import session
from rayshim.worker import interrupts
from rayshim.worker.pauses import delay
from rayshim.worker.running import constructing
from rayshim.worker.threads import Threads, after, leave, running

_GRAPH_GROUP = "_graph"  # the stages of compiled graphs, which run one after the other
_ASYNC_LIMIT = 1000  # default of max_concurrency for an async actor
_groups = {}  # name ("": default) -> Threads or _Loop, of this process's actor
_group_of = []  # name of the group of each method, by index
_in_work = {}  # uid of a call's result -> its _Call, until it is done
timed = False  # timed order: what the event loop does next is decided by the core
_kind = Threads  # of its groups, if it is a threaded actor
_made = False  # the actor's constructor has ended
_leaving = False  # the actor ends when those are done
_left = []  # calls that have ended the actor, or had not begun then, and wait for its death, which is their result
_departure = threading.Lock()  # held to decide whether a call in `_left` gets its result before the death
_IDLE_SECONDS = 1.0  # for how long a constructor waits, in timed order, until the event loop has nothing to do
_DEATH_SECONDS = 1.0  # how long such a call waits for the calls beside it


class _Watched(selectors.DefaultSelector):
    """An event loop's selector. It tells the core when all groups of the actor are event loops that wait without a timeout."""

    waiting = set()  # noqa: RUF012
    replay = None  # rayshim.journal.loop.JournaledLoop, in a replay
    idle = threading.Event()  # timed order: the loop has done what the constructor has begun

    def select(self, timeout=None):
        if timed and timeout != 0:
            _core.timed_burst(False)
            self.idle.set()
        if timeout is not None:
            return super().select(timeout)
        self.waiting.add(self)
        _core.loop_idle(
            len(self.waiting)
            == sum(isinstance(group, _Loop) for group in set(_groups.values()))
            == len(set(_groups.values()))
        )
        try:
            patience = self.replay and self.replay.patience()
            if patience:
                if events := super().select(patience):
                    return events
                self.replay.waited()  # pyright: ignore[reportAttributeAccessIssue]
            return super().select(None)
        finally:
            self.waiting.discard(self)
            _core.loop_idle(False)


def in_background(call):
    """Whether code that runs in the context of `call`, or of none (None), in an actor with event loops is not the code of that call: a task or a
    callback of the loop, or a thread, that a call or the constructor has started. It has the context of what has started it."""
    if not _made or not has_loop():
        return False
    import asyncio

    if call is None or call.done or call.uid not in _in_work:
        return True
    try:
        return asyncio.current_task() is not call.task
    except RuntimeError:  # in a thread without a loop
        return True


def leave_in_background(call):
    """The actor ends after the calls that have begun. `call`: as for `in_background`; if it has not ended, its result is the actor's death."""
    if call is not None and not call.done and call.uid in _in_work:
        call.leaves = True
    _begin_to_leave()
    _leave_when_alone()
    raise AsyncioActorExit  # SystemExit would end the event loop, and the calls beside this one


def _begin_to_leave():
    """No further call begins. Those that have not begun fail with the actor."""
    from reactor.runtime.worker import worker

    global _leaving
    _leaving = True
    worker.drained_as = worker.INTENDED
    _core.leave_after_task()
    for group in set(_groups.values()):
        for call in group.give_up():
            if _in_work.pop(call.uid, None):
                _left.append(call)


def make(info, how, constructor, journal=None):
    """Creates the instance by `constructor()`; for an async class inside its event loop, where it may start tasks.

    Arguments:
        info: the ClassInfo.
        how: dict of the actor's options: concurrency (max_concurrency), groups ({name: limit}),
            out_of_order (allow_out_of_order_execution); turns: in timed order, its class starts threads.
        journal: in a run with a journal: (group, selector, function to call with a ReplayError) -> rayshim.journal.loop.JournaledLoop.

    Returns (instance, whether its calls are passed to groups, the lane of each method: see reactor/native/inbox/pending_arguments.h).
    """
    limit, groups = how.get("concurrency"), how.get("groups") or {}
    global timed
    timed = info.is_async and not groups and _core.timed_actor()
    if timed:
        session.timed_loop = awaits
    if (how.get("streams_window") or 0) > 0:
        _core.set_streams_window(how["streams_window"])
    for name, size in groups.items():
        if size < 1:
            raise ValueError(no_room(name, size))
    if info.is_async:
        session.warn_on_blocking_get = True
        _groups[""] = _Loop("", _ASYNC_LIMIT if limit is None else max(1, limit), journal)
        _groups.update((name, _Loop(name, size, journal)) for name, size in groups.items())
        instance = _groups[""].run(constructor, (_core.running_uid(), _core.running_tag_hash()))
    elif has_threads(how, info.is_async):
        turns, threads = journal.turns(functools.partial(_refuse, _groups.values())) if journal else None, Threads
        run = turns.run if turns else lambda constructor: constructor()
        if turns:
            from rayshim.worker.journaled_threads import RecordedThreads

            threads = functools.partial(RecordedThreads, turns)
        elif _core.timed_actor():
            from rayshim.worker import timed_threads

            threads, run = timed_threads.begin(_groups if how.get("turns") else None)
        global _kind
        _kind = threads
        _groups[""] = threads(limit or 1)
        _groups.update((name, threads(size)) for name, size in groups.items())
        instance = run(constructor)
    else:
        instance = constructor()
    handed_on = bool(_groups)
    global _made
    _made = True
    _group_of[:] = [method.options.get("concurrency_group") or "" for method in info.methods.values()]
    if how.get("out_of_order") or info.is_async or (limit or 1) > 1:
        lanes = [0 if name == "__dag_stage__" else -1 for name in info.methods]
    else:
        numbers = {name: i for i, name in enumerate(["", *groups])}
        lanes = [numbers.get(name, 0) for name in _group_of] if groups else []
    if handed_on:
        _core.set_handed_on(running)
        _end_when_done()
    return instance, handed_on, lanes


def is_concurrent():
    """Whether the actor of this process runs several calls at once."""
    return "" in _groups


def has_loop():
    """Whether it is an async actor."""
    return isinstance(_groups.get(""), _Loop)


def submit(actor, index, function, args, kwargs, completion):
    """Hook of the core: passes a call of method number `index` to its group."""
    in_order = getattr(function, "in_order", False)
    name = _GRAPH_GROUP if in_order else getattr(function, "concurrency_group", None) or _group_of[index]
    group = _groups.get(name)
    if group is None:
        if name not in (SYSTEM_GROUP, _GRAPH_GROUP):
            completion.error(
                ValueError(
                    f"Failed to look up the executor of the given concurrency group {name}. It doesn't exist: the actor's groups are "
                    f"{sorted(n for n in _groups if n and n not in (SYSTEM_GROUP, _GRAPH_GROUP))}"
                )
            )
            return
        group = _groups[name] = _kind(1)
    call = _Call(group, function, args, kwargs, completion)
    if group.refused:
        return call.error(group.refused)
    if _leaving:  # it gets the actor's death
        return _left.append(call)
    _in_work[call.uid] = call
    group.submit(call)


def _taken_up(function, *arguments):
    _core.timed_burst(True)
    function(*arguments)


def awaits(refs, future, settle):
    """In timed order, in the thread of the event loop: has `settle(refs, future)` called there when the first ref is done. False: somebody else has to see to that."""
    number = _core.timed_await(refs[0]) if timed else 0
    if number:
        from rayshim.worker.timed_loop import woken

        woken[number] = settle, (refs, future)
    return bool(number)


def wake(number):
    """Hook of the core: the coroutine, or the timer, with this number goes on."""
    from rayshim.worker.timed_loop import go_on

    _groups[""].wake(_taken_up, go_on, number)


def _refuse(groups, error):
    """Ends the running calls of these groups, and all later ones, with this error."""
    for group in groups:
        group.refused = error
    for call in list(_in_work.values()):
        if call.group in groups and not call.done:
            call.error(error)


def cancel(uid, children):
    """Hook of the core: interrupts the call with this result, and `children`: cancels the calls that it has made."""
    call = _in_work.get(uid)
    called = _core.calls_of(uid, call and call.completion)
    if call is not None and not call.done:
        call.group.cancel(call)
    if children:
        interrupts.cancel_calls(called)  # not what it calls from now on, for example to clean up


class _Call:
    def __init__(self, group, function, args, kwargs, completion):
        self.group, self.function, self.args, self.kwargs, self.completion = group, function, args, kwargs, completion
        self.uid, self.tag_hash = completion.uid, completion.tag_hash
        self.name = getattr(function, "__name__", "")
        self.retry = getattr(function, "retry", ())
        self.method = getattr(function, "method", function)
        self.task = None
        self.done = False  # its result is being given, or was
        self.leaves = False  # it has called exit_actor
        self.admitted = False  # whether it is one of those that its loop runs at once
        self.begun = False  # whether its method was called
        self.cancelled = False  # whether its loop has processed the cancellation
        self.tag = self.number = (
            None  # in a run with a journal: its tag, and which of its actor's calls, or its loop's, it is
        )

    def values(self):
        """The values of a generator method's call, with its retries."""
        import inspect

        from rayshim.worker.retries import again, again_async, is_or_wraps

        if self.retry and is_or_wraps(inspect.isasyncgenfunction, self.method):
            return again_async(self.method, self.args, self.kwargs, self.retry, self.completion.take_retry)
        if self.retry and is_or_wraps(inspect.isgeneratorfunction, self.method):
            return again(
                self.method,
                self.args,
                self.kwargs,
                self.retry,
                self.completion.take_retry,
                lambda: self.completion.cancelled,
            )
        return self.method(*self.args, **self.kwargs)

    def _finish(self, give, outcome):
        """Gives the call its result: `give(outcome)`."""
        self.done = True
        self.args, self.kwargs = (), {}  # its thread keeps the call until the next one, and must not keep these
        try:
            give(outcome)
        finally:
            _in_work.pop(self.uid, None)  # until here, `cancel` finds what it has called

    def value(self, value):
        self._complete(self.completion.value, value)

    def error(self, error):
        if _leaving and isinstance(error, AsyncioActorExit):  # of code in the background, for which it has waited
            self.leaves = True
        self._complete(self.completion.error, error)

    def _complete(self, give, outcome):
        if self.leaves:
            return self.leave()
        try:
            self._finish(give, outcome)
        except SystemExit as error:  # of the code that pickles the outcome
            leave(error)
        _leave_when_alone()

    def leave(self):
        """The actor ends with the calls that are at work beside this one. If they take long, this call fails before they end."""
        from rayshim.worker.context import runtime_context

        _left.append(self)
        _in_work.pop(self.uid, None)
        _begin_to_leave()
        _leave_when_alone()
        if not self.completion.take_retry():  # as on Ray, a call with retries waits for the death
            actor = bytes.fromhex(runtime_context.get_actor_id() or "")
            after(_DEATH_SECONDS, self._fail_before_death, actor)

    def _fail_before_death(self, actor):
        with _departure:
            if not _in_work:
                return
            _left.remove(self)
        reason = "The actor is temporarily unavailable: IntentionalSystemExit: Worker exits with an exit code 0. exit_actor() is called."
        self.completion.error(Refused(ActorUnavailableError(reason, actor)))

    def interrupted(self):
        """The call was cancelled while it ran: its result is TaskCancelledError, whatever the method returned."""
        from rayshim.worker.context import runtime_context

        self._finish(self.completion.interrupted, TaskCancelledError(runtime_context._task_id()))
        _leave_when_alone()

    def dropped(self, task):
        """The call's coroutine has ended, possibly before its first step."""
        if self.uid not in _in_work:
            return
        if self.completion.cancelled:
            self.value(None)
        else:
            self.error(RuntimeError("the call has no result: its coroutine was destroyed before it ended"))

    def again(self, error):
        """Whether to retry the call after `error`."""
        from rayshim.worker.retries import is_retried

        return is_retried(error, self.retry, self.function, self.completion.take_retry)


def _leave_when_alone():
    if not _leaving:
        return
    with _departure:
        alone = bool(_left) and not _in_work  # without such a call, the core ends the process after the last result
    if alone:
        from rayshim.worker.exit import ActorExit

        leave(ActorExit(0))


def _loops_are_asyncios():
    """Whether `asyncio.new_event_loop()` gives a loop of asyncio's own: no policy such as uvloop's is set. To ask for the policy is deprecated from Python
    3.14 on, and will not be possible from 3.16 on, where there are none."""
    import asyncio

    policy = getattr(asyncio.events, "_event_loop_policy", None)
    return policy is None or type(policy).__module__.partition(".")[0] == "asyncio"


class _Loop:
    refused = None  # if not None, the error that all its calls get

    def __init__(self, group, limit, journal):
        import asyncio

        plain = _loops_are_asyncios()
        self._journaled = bool(journal and plain)
        self._calls = 0
        if self._journaled:
            self._loop = journal.loop(group, _Watched(), functools.partial(_refuse, [self]))
        elif timed and plain:
            from rayshim.worker.timed_loop import TimedLoop

            self._loop = TimedLoop(_Watched())
        else:
            self._loop = asyncio.SelectorEventLoop(_Watched()) if plain else asyncio.new_event_loop()
        self._free = asyncio.Semaphore(limit)
        threading.Thread(target=self._serve, name=f"AsyncIO Thread: {group or 'default'}", daemon=True).start()

    def _serve(self):
        import asyncio

        from reactor.runtime.worker import worker

        # Threads that the methods start are no daemons, as on Ray: they get this from the thread that starts them.
        worker.threads_of_runtime.add(threading.current_thread())
        threading.current_thread()._daemonic = False  # pyright: ignore[reportAttributeAccessIssue]
        asyncio.set_event_loop(self._loop)
        if timed:
            _core.timed_loop()
        self._loop.run_forever()
        leave(SystemExit("the actor's event loop was stopped"))

    def run(self, constructor, call_numbers):
        """Runs `constructor()`, which may give a coroutine, in the loop and returns its result. `call_numbers`: see `constructing`."""
        import asyncio
        import inspect

        async def call():
            constructing.set(call_numbers)
            result = constructor()
            result = await result if inspect.iscoroutine(result) else result
            _Watched.idle.clear()
            return result

        made = asyncio.run_coroutine_threadsafe(call(), self._loop).result()
        if timed:  # the tasks that the constructor has begun run up to where they wait, as part of it
            _Watched.idle.wait(_IDLE_SECONDS)
        return made

    def submit(self, call):
        if self._journaled:
            call.tag, call.number = _core.running_tag(), self._calls
            self._calls += 1
        self._in_loop("call", self._start, call)

    def _in_loop(self, kind, function, call):
        """Makes the loop call `function(call)`; `kind` is the name of this event in a journal."""
        if self._journaled:
            self._loop.come(kind, call.number, function, call)  # pyright: ignore[reportAttributeAccessIssue]
        elif timed:
            self._loop.call_soon_threadsafe(_taken_up, function, call)
        else:
            self._loop.call_soon_threadsafe(function, call)

    def wake(self, function, *arguments):
        self._loop.call_soon_threadsafe(function, *arguments)

    def _start(self, call):
        call.task = self._loop.create_task(self._run(call))
        call.task.add_done_callback(functools.partial(self._ended, call))

    def _ended(self, call, task):
        """The next call begins only after the calls that this one has woken went on, as on Ray."""
        if call.admitted:
            self._free.release()
        call.dropped(task)

    def give_up(self):
        """The calls that have not begun. They do not begin any more."""
        return [call for call in list(_in_work.values()) if call.group is self and not call.admitted]

    def cancel(self, call):
        self._in_loop("cancel", self._cancel, call)

    def _cancel(self, call):
        call.cancelled = True
        if self._journaled and not call.begun:
            self._loop.was_interrupted(call.tag, lambda: True)  # pyright: ignore[reportAttributeAccessIssue]
        call.task.cancel()

    async def _run(self, call):
        running.set(call)
        try:
            await self._free.acquire()
            call.admitted = True
            if call.uid not in _in_work:
                return
            value = await self._call(call)
        except SystemExit as error:
            if call.leaves:
                return call.leave()
            leave(error)
        except BaseException as error:
            self._interrupted(call) or call.error(error)
        else:
            self._interrupted(call) or call.value(value)

    def _interrupted(self, call):
        if call.leaves or not call.begun:
            return False
        if self._journaled:
            interrupted = self._loop.was_interrupted(call.tag, lambda: call.completion.cancelled)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            interrupted = call.completion.cancelled
        if interrupted:
            call.interrupted()
        return interrupted

    async def _call(self, call):
        import asyncio
        import inspect

        from rayshim.worker.async_generators import stream

        if call.completion.streaming:
            values = call.values()
            call.begun = inspect.isasyncgen(values)  # a plain generator is not interrupted
            return await stream(values, call.completion, self._loop.physically if self._journaled else None)  # pyright: ignore[reportAttributeAccessIssue]
        while True:
            try:
                call.begun = not (call.cancelled if self._journaled else call.completion.cancelled)
                value = call.method(*call.args, **call.kwargs) if call.begun else None
                # Any other awaitable, such as a ref, is a value.
                return await value if inspect.iscoroutine(value) else value
            except Exception as error:
                if not call.again(error):
                    raise
                await asyncio.sleep(delay())


def _end_when_done():
    """Makes SIGTERM end the process after its running calls; no further call is started."""
    import signal

    signal.signal(signal.SIGTERM, lambda number, frame: _core.leave_after_task())
