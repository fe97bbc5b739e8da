"""The lines of a journal that each call writes, in a recorded run. Most of a record's cost lies here: so the lines are put together by hand."""

import sys
from json.encoder import encode_basestring_ascii as quoted  # pyright: ignore[reportAttributeAccessIssue]  the C function, if there is one

from rayshim.errors.user_code import is_users
from rayshim.journal.files import life
from rayshim.journal.texts import error_text, given_texts, short_text

_users = {}  # file -> whether its code is the user's
_sites = {}  # (id of a code object, place in it) -> (the place as JSON, the code object)
_MOST_SITES = 10_000


def site(frame):
    """The place of the program: the first frame from `frame` outwards that is not rayshim's own, as "file:line"."""
    frame = _of_user(frame)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def function_of(frame):
    """The name of the function at the place that `site` gives."""
    frame = _of_user(frame)
    return frame.f_code.co_name if frame is not None else "?"


def _quoted_site(frame):
    """The place of `frame` as JSON; a program makes many calls at one place."""
    if frame is None:
        return '"?"'
    code = frame.f_code
    key = id(code), frame.f_lasti
    found = _sites.get(key)
    if found is None:
        if len(_sites) > _MOST_SITES:
            _sites.clear()
        found = _sites[key] = quoted(f"{code.co_filename}:{frame.f_lineno}"), code  # which keeps its id
    return found[0]


def _of_user(frame):
    while frame is not None:
        file = frame.f_code.co_filename
        found = _users.get(file)
        if found is None:
            found = _users[file] = is_users(file)
        if found:
            return frame
        frame = frame.f_back
    return None


_FLAGS = {
    (cancelled, several): f'"cancelled": {str(cancelled).lower()}, "several": {str(several).lower()}'
    for cancelled in (False, True)
    for several in (False, True)
}


class Recording:
    """The core's hooks of a recorded run. Arguments: write_line, which takes the bytes of a JSON object; facts, {number of an actor: its facts}."""

    def __init__(self, write_line, facts):
        self._write_line, self._facts = write_line, facts
        self._whose = {}  # number of an actor -> the fields that name it, as text
        self._classes = {}  # number of an actor -> its class, as JSON
        self.concurrent = ""  # the same of this process's actor, if that runs several calls at once

    def whose(self, number):
        """The fields "actor" and "life" of a line, for the actor of this number; null both for a task, whose number is 0."""
        found = self._whose.get(number)
        if found is None:
            facts = self._facts.get(number)
            found = '"actor": null, "life": null'
            if facts:
                ordinal, number_of_life = life(facts)
                found = f'"actor": {quoted(ordinal)}, "life": {number_of_life}'
                self._whose[number], self._classes[number] = found, quoted(facts["class_name"])
        return found

    def forget(self, number):
        """The actor of this number has another life."""
        self._whose.pop(number, None)

    def call_sent(self, tag, name):
        called = "null" if name is None else quoted(name)
        frame = _of_user(sys._getframe(1))
        self._write_line(
            f'{{"made": {[*tag]}, "name": {called}, "site": {_quoted_site(frame)}{self.concurrent}}}'.encode()
        )

    def call_started(self, number, tag, how):
        self._write_line(f'{{"began": {[*tag]}, {self.whose(number)}}}'.encode())

    def executed(self, number, method, tag, given_digest, digest, given, value, error, cancelled, several):
        whose = self.whose(number)
        if error is None:
            came = f'{quoted(short_text(value))}, "error": null'
        else:
            came = f'null, "error": {quoted(error_text(error))}'
        args = ", ".join([quoted(text) for text in given_texts(given)])
        self._write_line(
            f'{{"ran": {[*tag]}, {whose}, "class": {self._classes.get(number, "null")}, "name": {quoted(name_of(method))}, "given": "{given_digest:016x}", '
            f'"digest": "{digest:016x}", "args": [{args}], "value": {came}, {_FLAGS[cancelled, several]}}}'.encode()
        )


def name_of(method):
    """The name of a called method or function."""
    return getattr(method, "__name__", None) or str(method)
