"""The lines of a journal that each call writes, in a recorded run. The core puts them together (reactor/native/record/journal_lines.cpp): most of the cost
of a record lies here."""

from json.encoder import encode_basestring_ascii as quoted  # pyright: ignore[reportAttributeAccessIssue]

from reactor import _core

from rayshim.errors.user_code import is_users
from rayshim.journal.files import life
from rayshim.journal.texts import error_text, short_text


def site(frame):
    """The place of the program: the first frame from `frame` outwards that is not rayshim's own, as "file:line"."""
    frame = _of_user(frame)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def function_of(frame):
    """The name of the function at the place that `site` gives."""
    frame = _of_user(frame)
    return frame.f_code.co_name if frame is not None else "?"


def _of_user(frame):
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def name_of(method):
    """The name of a called method or function."""
    name = getattr(method, "__name__", None)
    return name if isinstance(name, str) else str(method)


def call_lines(writer, facts):
    """The core's hooks `call_sent`, `call_started` and `executed` of a recorded run, as an object.

    Arguments: writer, a rayshim.journal.files.Writer; facts, {number of an actor: its facts}.
    """

    def whose(number):
        known = facts.get(number)
        if known is None:  # a task, whose number is 0, or an actor that is being constructed
            return '"actor": null, "life": null', "null", number == 0
        ordinal, number_of_life = life(known)
        return f'"actor": {quoted(ordinal)}, "life": {number_of_life}', quoted(known["class_name"]), True

    return _core.CallLines(writer.file, whose, short_text, error_text, is_users)
