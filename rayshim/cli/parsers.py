"""The parser of a command's options, whose errors are one sentence."""

import argparse
import difflib
import math
import os


class Parser(argparse.ArgumentParser):
    """An ArgumentParser without abbreviations. An error is one sentence on stderr, with the option that was probably meant, and exit status 2."""

    def __init__(self, *args, **kwargs):
        super().__init__(
            *args, **{"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, **kwargs}
        )

    def error(self, message):
        stop = "" if message.endswith("?") else "."
        self.exit(2, f"{self.prog}: {message}{stop} `{self.prog} --help` lists the options\n")

    def parse_args(self, args=None, namespace=None):  # pyright: ignore[reportIncompatibleMethodOverride]
        wanted, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown_text(unknown[0]))
        return wanted

    def _unknown_text(self, argument):
        if not argument.startswith("-"):
            return f"there is one argument too many: {argument!r}"
        option = argument.partition("=")[0]
        return f"there is no option {option}{did_you_mean(option, sorted(_options(self)))}"


def with_program(parser, program):
    """The parser, whose usage shows its options and then how the program is given."""
    parser.usage = f"{parser.format_usage().removeprefix('usage: ').rstrip()} {program}"
    return parser


def _options(parser):
    """All options of the parser and its subcommands that its help shows."""
    found = set()
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found |= _options(command)
    return found


def did_you_mean(word, known, form="{}"):
    """ "; did you mean ...?", with the known word that is most like `word`, in the given form; "" if there is none."""
    begin = [name for name in known if len(word) > 3 and name.startswith(word)]
    like = begin or difflib.get_close_matches(word, known, 1)
    return f"; did you mean {form.format(like[0])}?" if like else ""


def seconds(text):
    """An option's time in seconds: a positive float."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number


def one_of(names):
    """A function that checks an option's value: one of these names."""

    def check(text):
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(names)}{did_you_mean(text, names)}")
        return text

    return check


def new_file(text):
    """The absolute path of a file that can be written; nothing is written yet. The program may change its directory."""
    path = os.path.abspath(text)
    try:
        if not text:
            raise argparse.ArgumentTypeError("the path is empty")
        if os.path.isdir(path):
            raise argparse.ArgumentTypeError(f"{text} is a directory; give the path of a file")
        if not os.path.isdir(os.path.dirname(path)):
            raise argparse.ArgumentTypeError(
                f"{text}: the directory {os.path.dirname(path)} does not exist; create it, or give another path"
            )
        if os.path.lexists(path) and not os.path.isfile(path):  # a pipe or a terminal, which opening may block
            return path
        known = os.path.lexists(path)
        open(path, "ab").close()
        if not known:
            os.unlink(path)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be written: {getattr(error, 'strerror', None) or error}; give another path"
        ) from None
    return path


def new_directory(text):
    """The absolute path of a directory that is empty or can be created; it is not created yet."""
    import tempfile

    path = os.path.abspath(text)
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    try:
        if os.path.lexists(path) and not os.path.isdir(path):
            raise argparse.ArgumentTypeError(f"{text} is a file; give the path of a new directory")
        if os.path.isdir(path) and os.listdir(path):
            raise argparse.ArgumentTypeError(f"the directory {text} is not empty; give the path of a new directory")
        above = path
        while not os.path.lexists(above):
            above = os.path.dirname(above)
        os.rmdir(tempfile.mkdtemp(dir=above))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"the directory {text!r} cannot be created: {getattr(error, 'strerror', None) or error}; give another path"
        ) from None
    return path
