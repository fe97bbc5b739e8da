"""The environments that a package has registered for gym."""

import importlib


class _Registry:
    def __init__(self):
        self._entries = {}

    def all(self):
        return []  # those of gym itself, which nobody needs here

    def register(self, id, entry_point, kwargs=None, **_):
        self._entries[id] = entry_point, kwargs or {}

    def make(self, module, name, **options):
        importlib.import_module(module)  # registers its environments
        entry, kwargs = self._entries[name]
        where, _, cls = entry.partition(":")
        return getattr(importlib.import_module(where), cls)(**{**kwargs, **options})


registry = _Registry()
register = registry.register
