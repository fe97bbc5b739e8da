"""Names and texts of other programs, and of files, cannot control the terminal on which rayshim shows them."""

import io
import re
import subprocess
import sys

import pytest
from reactor.printable import PrintableStream, printable

import rayshim as ray
from rayshim.cli.command import main
from rayshim.exceptions import ReplayError
from rayshim.recording.reporting import Report
from rayshim.tests.head_sessions import attach, head  # noqa: F401

EVIL = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202eevil"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def test_printable_text_has_no_control_characters():
    every = "".join(map(chr, range(0x3000))) + "\ud800\udfff"
    assert not CONTROLS.search(printable(every))
    assert "\n" not in printable(every)
    assert not CONTROLS.search(printable(every, lines=True))
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
    assert printable("a\n\tb\x1b\u2028") == r"a\n\tb\x1b\u2028"
    printable(every).encode()


def test_other_text_is_printed_as_it_is():
    for text in ("Größe λ 数 🎉", "C:\\new", "'quoted'", "e\u0301", "👩‍👩‍👧"):
        assert printable(text) == text


def test_a_stream_passes_on_printable_text():
    out = io.StringIO()
    stream = PrintableStream(out)
    print("one", EVIL, file=stream)
    stream.writelines(["two\n", "\x1b"])
    assert out.getvalue() == f"one {printable(EVIL)}\ntwo\n\\x1b"


@ray.remote
def shown(x):
    return x


class Evil:
    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"{EVIL}\nforged line {self.number}"


def recorded(path, number):
    ray.init(num_cpus=1, record=str(path), logging_level="ERROR")
    ray.get(shown.options(name=EVIL).remote(Evil(number)))
    ray.shutdown()


def test_diff_shows_what_a_journal_has_in_escapes(tmp_path, capsys):
    recorded(tmp_path / "one", 1)
    recorded(tmp_path / "two", 2)
    capsys.readouterr()
    assert main(["diff", str(tmp_path / "one"), str(tmp_path / "two")]) == 1
    out = capsys.readouterr().out
    assert not CONTROLS.search(out), repr(out)
    assert len(out.splitlines()) == 3, "an argument has added no line"
    assert r"\x1b" in out


def test_an_error_about_a_journal_has_it_in_escapes():
    error = ReplayError(f"here get at a.py:1; in the journal {EVIL}")
    assert not CONTROLS.search(str(error))
    assert printable(EVIL) in str(error)


def test_a_damaged_journal_is_shown_in_escapes(tmp_path, capsys):
    recorded(tmp_path / "one", 1)
    for file in (tmp_path / "one").glob("*.jsonl"):
        file.write_bytes(b"\x1b[31mred\n")
    with pytest.raises(ReplayError) as caught:
        main(["diff", str(tmp_path / "one"), str(tmp_path / "one")])
    assert not CONTROLS.search(str(caught.value))
    assert r"\x1b[31mred" in str(caught.value)


def test_a_report_has_names_in_escapes():
    report = Report({"placement": EVIL, "arrivals": [{"what": f"{EVIL}\nforged", "times": 1}]})
    assert not CONTROLS.search(str(report))
    assert not any(line.startswith("forged") for line in str(report).splitlines())


def test_a_graph_and_its_advice_have_names_in_escapes():
    ray.init(num_cpus=2, logging_level="ERROR")
    try:
        cls = type(f"A{EVIL}", (), {"f": lambda self: 1})
        actor = ray.remote(cls).remote()
        for _ in range(20):
            ray.get(actor.f.remote())
        graph = ray.graph()
        text = "\n".join([str(ray.report()), str(graph), graph.rounds(), *graph.advice()])
    finally:
        ray.shutdown()
    assert r"\x1b" in text
    assert not CONTROLS.search(text)


@ray.remote
class Named:
    def ready(self):
        return True


def test_the_state_commands_show_names_in_escapes(head):  # noqa: F811
    head.start()
    attach()
    actor = Named.options(name=EVIL).remote()
    assert ray.get(actor.ready.remote())
    seen = ""
    commands = (
        ("list", "actors"),
        ("list", "actors", "--detail"),
        ("list", "actors", "--format=json"),
        ("summary", "actors"),
        ("list", "tasks"),
    )
    for command in (*commands, ("get", "actors", actor._actor_id.hex()), ("status",), ("stack",), ("memory",)):
        process = subprocess.run([sys.executable, "-m", "rayshim", *command], capture_output=True, cwd=head.directory)
        text = process.stdout.decode(errors="surrogateescape")
        assert process.returncode == 0, process.stderr
        assert not CONTROLS.search(text), (command, text)
        seen += text
    assert "x1b" in seen or "u001b" in seen


def test_a_process_title_is_shown_in_escapes():
    source = (
        "import rayshim as ray, sys\n"
        "ray.init(num_cpus=1, logging_level='ERROR')\n"
        "actor = ray.remote(type(sys.argv[1], (), {'f': lambda self: 1})).remote()\n"
        "ray.get(actor.f.remote()); print('ready', flush=True); sys.stdin.readline()\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", source, f"A{EVIL}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert program.stdout.readline() == "ready\n"
        for command in ("status", "stack", "memory"):
            text = subprocess.run([sys.executable, "-m", "rayshim", command], capture_output=True).stdout.decode()
            assert str(program.pid) in text
            assert not CONTROLS.search(text), (command, text)
    finally:
        program.communicate("\n")


def test_compare_shows_lines_that_differ_in_escapes():
    from types import SimpleNamespace

    from rayshim.cli.compare import compare

    printed = []
    console = SimpleNamespace(print=lambda text, **how: printed.append(text))
    runs = {
        side: {"printed": f"{side} \x1b]0;owned\x07 {side}\n", "left_behind": 0, "reason": EVIL, "log": f"{EVIL}\n"}
        for side in ("ray", "rayshim")
    }
    compare._tell_failures(runs, console)
    compare._tell_difference(runs, console)
    assert len(printed) > 4
    assert not CONTROLS.search("".join(printed))
