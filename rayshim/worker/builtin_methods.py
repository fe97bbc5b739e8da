"""The callables for an actor's methods in its worker: built-in methods, and methods with options such as retries."""

from inspect import getattr_static, isgeneratorfunction

from rayshim.errors.exceptions import RayChannelError
from rayshim.worker.retries import again, is_or_wraps, is_run_again, retried


def bind(instance, name, options, plain=lambda method: method):
    """The callable for method `name` of `instance`. `options`: of its `@ray.method`; `plain`: a wrapper around the method (inline placement)."""
    if name == "__ray_ready__":
        return plain(lambda: True)
    if name == "__ray_call__":
        return plain(lambda function, *args, **kwargs: function(instance, *args, **kwargs))
    if name == "__ray_terminate__":
        from rayshim.worker.exit import exit_actor

        return exit_actor
    if name == "__dag_stage__":
        return _GraphStages(instance, plain)
    cls = type(instance)
    # looked up in the class, because the instance may have an attribute of the same name
    static = getattr_static(cls, name, None)
    if static is None:
        return _missing(cls, name)
    method = plain(static.__get__(instance, cls))
    if options.get("tensor_transport"):
        from rayshim.worker.direct import sending

        method = sending(method, options["tensor_transport"])
    return (
        Configured(method, {"retry_exceptions": options["retry_exceptions"]})
        if options.get("retry_exceptions")
        else method
    )


def _missing(cls, name):
    def missing(*args, **kwargs):
        raise AttributeError(
            f"{cls.__qualname__}.{name}: the module {cls.__module__} in the worker has no such method. The program has set it on the class after "
            "the import; only plain functions travel with the class. Define it in the module, or in a subclass in the script"
        )

    missing.__name__ = name
    return missing


class Configured:
    """A method with the options of its decorator or of one call: a name, retries on exceptions, a concurrency group."""

    __slots__ = ("__name__", "__self__", "__title__", "_named_", "concurrency_group", "is_generator", "method", "retry")

    def __init__(self, method, options):
        self.method = getattr(method, "method", method)
        self.retry = (
            retried(options["retry_exceptions"]) if "retry_exceptions" in options else getattr(method, "retry", ())
        )
        if "tensor_transport" in options:
            from rayshim.worker.direct import sending

            self.method = sending(self.method, options["tensor_transport"])
        self.is_generator = is_or_wraps(isgeneratorfunction, self.method)
        self.concurrency_group = options.get("concurrency_group")
        self._named_ = options.get("name")
        if self._named_:
            self.__title__ = f"ray::{options['name']}"  # title of the process while the method runs
        self.__name__ = self._named_ or getattr(method, "__name__", "")
        self.__self__ = getattr(method, "__self__", None)

    @property
    def _unnamed_(self):
        return self.method

    def __call__(self, *args, **kwargs):
        if self.is_generator:
            return again(self.method, args, kwargs, self.retry)
        while True:
            try:
                return self.method(*args, **kwargs)
            except Exception as error:
                if not is_run_again(error, self.retry, self):
                    raise


class _GraphStages:
    """The actor's built-in method that runs the stages of its compiled graphs.

    `(None, stages, profile)` adds a graph and returns its key and whether the actor runs several calls at once; `(key, stage,
    execution, *arguments)` runs a stage; `(key, None, None)` removes the graph.
    """

    in_order = True  # stages run one after the other, also in a concurrent actor

    def __init__(self, instance, plain):
        self.__self__ = instance
        self.__name__ = "__init__"
        graphs = self._graphs = {}
        self._run = plain(
            lambda key, *given: graphs[key].run(*given)
        )  # without a cycle: the instance goes with its last reference
        self._last_graph = 0

    def __call__(self, key, stage, execution, *taken):
        if key is None:
            return self._bring(stage, execution)
        if stage is None:
            self._graphs.pop(key, None)
            return None
        if key not in self._graphs:
            raise RayChannelError(
                "execute() of a compiled graph: the actor has been restarted since the graph was compiled. Compile it again"
            )
        given = self._run(key, stage, execution, taken)
        if isinstance(given, list):
            return given[0] if len(given) == 1 else given
        self.__name__ = given.step.name
        raise given.error

    def _bring(self, stages, profile):
        from rayshim.worker import concurrency
        from rayshim.worker.stages import stages_of

        self._last_graph += 1
        self._graphs[self._last_graph] = stages_of(self.__self__, stages, profile)
        return self._last_graph, concurrency.is_concurrent()
