"""`rayshim list`, `get`, `summary` and `health-check`: the state API in a shell, of any session of this user on this machine."""

import json
import sys
from datetime import datetime
from enum import Enum

from reactor.printable import printable

from rayshim.session import heads


def main(command, argv):
    """Prints what the command asks for and returns the exit status: 1 if no session is running or it cannot tell, 2 for a wrong argument."""
    wanted = _parser(command).parse_args(argv)
    if command == "health-check":
        return 0 if any(heads.running()) else 1
    from rayshim import api
    from rayshim.util.state.exception import RayStateApiException

    try:
        address = _address(wanted.address)
        api.init(address, log_to_driver=False, configure_logging=False, logging_level="ERROR")
    except (ConnectionError, ValueError) as error:
        print(f"rayshim {command}: {error}", file=sys.stderr)
        return 1
    try:
        return {"list": _list, "get": _get, "summary": _summary}[command](wanted)
    except (RayStateApiException, ValueError) as error:
        print(f"rayshim {command}: {error}", file=sys.stderr)
        return 1
    finally:
        api.shutdown()


def _address(given):
    """The address of the session to ask. ConnectionError: there is none, or there are several and none was given."""
    facts = heads.find(given or "auto")
    if facts is None and given not in (None, "auto"):
        raise ConnectionError(f"no session of this user has the address {given}. `rayshim status` shows those that run")
    if facts is None:
        raise ConnectionError(
            "no session of this user is running here. `rayshim start --head`, or a program that calls init(), starts one. Sessions with another "
            "temporary directory (RAY_TMPDIR), or all in one process (placement='inline'), are not found"
        )
    return facts["address"]


def _names(without=()):
    from rayshim.util.state.options import StateResource

    return [name for r in StateResource if (name := r.value.replace("_", "-")) not in without]


def _resource(wanted):
    from rayshim.util.state.options import StateResource

    return StateResource(wanted.resource.replace("-", "_"))


def _list(wanted):
    from rayshim.util.state.client import StateApiClient
    from rayshim.util.state.options import ListApiOptions

    options = ListApiOptions(
        limit=wanted.limit, filters=[_filter(text) for text in wanted.filter], detail=wanted.detail
    )
    found = StateApiClient().list(_resource(wanted), options, True)
    rows = [_plain(record, wanted.detail) for record in found]
    if wanted.format == "json":
        print(json.dumps(rows))
    elif wanted.format == "yaml" or wanted.detail and wanted.format == "default":
        print(_yaml(rows))
    elif rows:
        print(_headline(len(rows)) + _table(rows))
    else:
        print("No resource in the cluster")
    return 0


def _get(wanted):
    from rayshim.util.state.client import StateApiClient

    found = StateApiClient().get(_resource(wanted), wanted.id, None)
    if found is None:
        print(f"Resource with id={wanted.id} not found in the cluster.")
        return 0
    print(_yaml([_plain(record, True) for record in (found if isinstance(found, list) else [found])]))
    return 0


def _summary(wanted):
    from rayshim.util.state.client import StateApiClient
    from rayshim.util.state.options import SummaryApiOptions, SummaryResource

    summary = StateApiClient().summary(
        SummaryResource(wanted.resource), options=SummaryApiOptions(), raise_on_missing_output=True
    )["cluster"]
    rows = list(summary.pop("summary").values())
    for row in rows:
        row["state_counts"] = ", ".join(f"{state}: {count}" for state, count in row["state_counts"].items())
    summary.pop("summary_by")
    print(f"\n======== {wanted.resource.title()} Summary: {datetime.now()} ========\nStats:\n{'-' * 36}")
    for name, count in summary.items():
        print(f"{name}: {count}")
    print(
        f"\n\nTable (group by {'class' if wanted.resource == 'actors' else 'func_name'}):\n{'-' * 36}\n{_table(rows)}"
    )
    return 0


def _filter(text):
    for predicate in ("!=", "="):
        key, found, value = text.partition(predicate)
        if found:
            return key.strip(), predicate, value.strip()
    raise ValueError(f"The given filter {text!r} must be key=value or key!=value")


def _plain(record, detail):
    """The record's fields as values that JSON has."""
    columns = {name: record[name] for name in record.list_columns(detail=detail)}
    return {name: value.value if isinstance(value, Enum) else value for name, value in columns.items()}


def _headline(count):
    line = "-" * 30
    return f"\n======== List: {datetime.now()} ========\nStats:\n{line}\nTotal: {count}\n\nTable:\n{line}\n"


def _table(rows):
    """Columns of equal width, with the names in capitals, and a number before each row."""
    names = list(rows[0]) if rows else []
    cells = [["", *(name.upper() for name in names)]]
    cells += [[str(i), *(_cell(row[name]) for name in names)] for i, row in enumerate(rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def _cell(value):
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "" if value is None else printable(value)


def _yaml(rows):
    """YAML with one document, a list of mappings. Their values are written as JSON, which YAML contains."""
    lines = ["---"]
    for row in rows:
        for i, (name, value) in enumerate(row.items()):
            lines.append(f"{'-   ' if i == 0 else '    '}{name}: {value if _is_word(value) else json.dumps(value)}")
    return "\n".join([*lines, "..."] if rows else ["--- []", "..."])


def _is_word(value):
    """Whether YAML reads the bare text as the same string."""
    return (
        isinstance(value, str)
        and value.replace("_", "").isalpha()
        and value.lower() not in ("true", "false", "null", "yes", "no", "on", "off")
    )


def _parser(command):
    import argparse

    from rayshim.cli import parsers

    about = {
        "list": "Lists the actors, tasks, nodes, workers, jobs or placement groups of the session.",
        "get": "Shows all fields of one actor, task, node, worker or placement group.",
        "summary": "Shows how many actors, or tasks, are in each state.",
        "health-check": "Exits with status 0 if a session of `rayshim start --head` is running, else with 1.",
    }[command]
    parser = parsers.Parser(prog=f"rayshim {command}", description=about)
    if command == "list":
        parser.add_argument("resource", choices=_names())
        parser.add_argument(
            "--format",
            choices=["default", "json", "yaml", "table"],
            default="default",
            help="format of the output; default: a table, or YAML with --detail",
        )
        parser.add_argument(
            "-f",
            "--filter",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="show only entries whose field KEY has this value; KEY!=VALUE: has another value; if given several times, all must match",
        )
        parser.add_argument("--limit", type=int, default=100, help="most entries to show (default: %(default)s)")
        parser.add_argument("--detail", action="store_true", help="show all fields, as YAML")
    elif command == "get":
        parser.add_argument("resource", choices=_names(without=("jobs", "runtime-envs", "cluster-events")))
        parser.add_argument("id", help="the id, as `rayshim list` shows it")
    elif command == "summary":
        parser.add_argument("resource", choices=["actors", "tasks", "objects"])
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="the session to ask, as `rayshim status` shows it (default: that of the head that was started last; if there is none, of the one "
        "program that runs)",
    )
    parser.add_argument("--timeout", help=argparse.SUPPRESS)
    return parser
