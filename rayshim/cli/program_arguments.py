"""Which arguments of the command line are options of rayshim, which are options of Python, and which belong to the program."""

import re

# Letters without a value, and those whose value is the rest of the argument or the next argument.
_OF_PYTHON = re.compile(r"-([bBdEiIOPqsSuv]+|[bBdEiIOPqsSuv]*[WX].*)")


def split_program(argv, parser):
    """Splits the arguments after `run`: (options of rayshim and of Python, is the program a module, its name or None, its arguments).

    `parser()` gives the parser of rayshim's options; it is called only if there are any. The options end at the first argument that is no
    option, at `--`, or at `-m NAME`; everything after it belongs to the program. The name is "-" for the standard input, and "-c" for a
    program text, which is then the first argument of the program.
    """
    with_value = None  # the options that take one
    skip = False  # the value of the option before
    for i, argument in enumerate(argv):
        if skip:
            skip = False
            continue
        if argument == "--":
            return argv[:i], False, argv[i + 1] if i + 1 < len(argv) else None, argv[i + 2 :]
        if argument.startswith(("-m", "-c")):
            rest = [argument[2:], *argv[i + 1 :]] if argument[2:] else argv[i + 1 :]
            if not rest:
                return argv[:i], argument == "-m", None, []
            return (argv[:i], True, rest[0], rest[1:]) if argument[1] == "m" else (argv[:i], False, "-c", rest)
        if not argument.startswith("-") or argument == "-":
            return argv[:i], False, argument, argv[i + 1 :]
        if with_value is None:
            with_value = options_with_value(parser())
        skip = argument in with_value or _takes_next(argument)
    return argv, False, None, []


def options_with_value(parser):
    """The options of this parser that take a value."""
    return {option for action in parser._actions if action.nargs != 0 for option in action.option_strings}


def without_pythons(own, with_value):
    """(options of Python, options of rayshim) among `own`. `with_value`: the options of rayshim that take a value."""
    pythons, others, target = [], [], None
    for argument in own:
        if target is not None:
            target.append(argument)
            target = None
            continue
        of_python = _OF_PYTHON.fullmatch(argument) is not None
        part = pythons if of_python else others
        part.append(argument)
        if argument in with_value or (of_python and _takes_next(argument)):
            target = part
    return pythons, others


def _takes_next(argument):
    """Whether this option of Python, such as -W, has its value in the next argument."""
    found = _OF_PYTHON.fullmatch(argument)
    return found is not None and re.fullmatch("-[^WX]*[WX]", argument) is not None
