"""Actors that run several calls at once: threaded (`max_concurrency`) and async (any `async def` method).

The worker's main thread takes the calls off the channels in order and hands them on; a Completion gives each result back.
"""

import threading

_runners = {}  # actor number -> _Threads or _Loop


def make(number, info, how, constructor):
    """Makes the instance by `constructor()`, for an async class inside its event loop, where it may start tasks.

    Returns (instance, whether its calls are to be handed on).
    """
    limit = how["concurrency"]
    if info.is_async:
        loop = _runners[number] = _Loop(1000 if limit is None else max(1, limit))
        return loop.run(constructor), True
    if limit is not None and limit > 1:
        _runners[number] = _Threads(limit)
    return constructor(), number in _runners


def submit(actor, index, function, args, kwargs, completion):
    _runners[actor].submit(function, args, kwargs, completion)


class _Threads:
    def __init__(self, limit):
        from concurrent.futures import ThreadPoolExecutor

        self._pool = ThreadPoolExecutor(limit, thread_name_prefix="actor")

    def submit(self, function, args, kwargs, completion):
        self._pool.submit(_run, function, args, kwargs, completion)


def _run(function, args, kwargs, completion):
    try:
        value = function(*args, **kwargs)
    except SystemExit as error:
        _leave(error)
    except BaseException as error:
        completion.error(error)
    else:
        completion.value(value)


class _Loop:
    def __init__(self, limit):
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(limit)
        self._tasks = set()
        threading.Thread(target=self._serve, name="actor-loop", daemon=True).start()

    def _serve(self):
        import asyncio

        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        _leave(SystemExit("the actor's event loop was stopped"))

    def run(self, function):
        """`function()` in the loop; waits for it."""
        import asyncio

        async def call():
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def submit(self, function, args, kwargs, completion):
        self._loop.call_soon_threadsafe(self._start, function, args, kwargs, completion)

    def _start(self, function, args, kwargs, completion):
        task = self._loop.create_task(self._run(function, args, kwargs, completion))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, function, args, kwargs, completion):
        import inspect

        async with self._free:
            try:
                value = function(*args, **kwargs)
                if inspect.isawaitable(value):
                    value = await value
            except SystemExit as error:
                _leave(error)
            except BaseException as error:
                completion.error(error)
            else:
                completion.value(value)


def _leave(error):
    from reactor.runtime import worker

    worker.leave(worker.exit_kind(type(error), 0))
