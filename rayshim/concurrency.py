"""Actors that run several calls at once: threaded (`max_concurrency`) and async (any `async def` method).

The worker's main thread takes the calls off the channels in order and hands them on; a Completion gives each result back.
"""

import threading

_runners = {}  # actor number -> _Threads or _Loop


def prepare(number, info, how):
    """Called once the instance is made; gives whether its calls are to be handed on."""
    limit = how["concurrency"]
    if info.is_async:
        _runners[number] = _Loop(1000 if limit is None else max(1, limit))
    elif limit is not None and limit > 1:
        _runners[number] = _Threads(limit)
    return number in _runners


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
        threading.Thread(target=self._loop.run_forever, name="actor-loop", daemon=True).start()

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
