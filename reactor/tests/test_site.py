"""Call sites by record/site.c, built both ways: by the interpreter's own frames, and by the public API, which is what Python releases get that
record/site.c does not know."""

import _thread
import functools
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

NATIVE = Path(__file__).parent / "native"
CORE = Path(__file__).parent.parent / "native"
COMPILER = next(filter(shutil.which, filter(None, [os.environ.get("CC"), "gcc", "clang", "cc"])), None)
WAYS = {"own_frames": [], "public_api": ["-DREACTOR_PUBLIC_FRAMES"]}

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler (CC, gcc, clang, cc)")


def build(folder, way):
    """The module site_probe.c, built one of WAYS."""
    name = f"site_probe_{way}"
    file = folder / f"{name}.so"
    include = sysconfig.get_path("include")
    command = [
        *shlex.split(COMPILER),
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-DPROBE={name}",
        *WAYS[way],
    ]
    command += ["-I", str(CORE), "-isystem", include, "-isystem", f"{include}/internal"]
    subprocess.run([*command, CORE / "record/site.c", NATIVE / "site_probe.c", "-o", file], check=True)
    loader = ExtensionFileLoader(name, str(file))
    module = module_from_spec(spec_from_file_location(name, file, loader=loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    """Name of the way -> module."""
    folder = tmp_path_factory.mktemp("site")
    return {way: build(folder, way) for way in WAYS}


@pytest.fixture(params=WAYS)
def probe(probes, request):
    return probes[request.param]


HERE = sys._getframe


def test_the_line_and_the_code_are_those_of_the_caller(probe):
    code, _, line = probe.site()
    assert code is HERE().f_code
    assert line == HERE().f_lineno - 2


def test_lines_in_a_call_of_many_lines_are_alike_both_ways(probes):
    found = [
        (
            way,
            probe.site(),
        )
        for way, probe in probes.items()
    ]
    first, second = (place[2] for _, place in found)
    assert first == second


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 a place is a line")
def test_two_calls_in_a_line_are_two_places(probe):
    first, second = probe.site(), probe.site()
    assert first[0] is second[0] and first[2] == second[2] and first[1] != second[1]


def test_a_call_is_one_place_however_often_it_runs(probe):
    """The interpreter specialises a call that runs often, and makes it in another way."""
    site = probe.site
    assert len({site() for _ in range(5000)}) == 1


def recursive(site, depth):
    return recursive(site, depth - 1) if depth else site()


def test_in_a_recursion_it_is_the_innermost_frame(probe):
    assert recursive(probe.site, 50)[0] is recursive.__code__


def test_in_a_generator_and_a_class_body(probe):
    def generator():
        yield probe.site()

    class Body:
        place = probe.site()

    assert next(generator())[0] is generator.__code__
    assert Body.place[0].co_name == "Body"


def test_through_functions_of_c_it_is_the_frame_of_python_before_them(probe):
    place = functools.partial(probe.site)()
    assert (place[0], place[2]) == (HERE().f_code, HERE().f_lineno - 1)
    places = list(map(lambda _: probe.site(), range(2)))  # noqa: C417 -- map calls it from C
    assert places[0] == places[1] and places[0][0].co_name == "<lambda>"


OWN = """
def through(function):
    return function()

def twice(function):
    return through(lambda: through(function))

class Method:
    def __init__(self, function):
        self.function = function

    @property
    def place(self):
        return self.function()
"""


@pytest.fixture
def own(probe, tmp_path):
    """The variables of a module whose code is not the user's."""
    probe.own_directory(f"{tmp_path}/")
    variables = {}
    exec(compile(OWN, str(tmp_path / "own.py"), "exec"), variables)
    yield variables
    probe.own_directory("")


def test_frames_of_own_code_are_passed_over(probe, own):
    for place in (own["through"](probe.site), own["twice"](probe.site), own["Method"](probe.site).place):
        assert (place[0], place[2]) == (HERE().f_code, HERE().f_lineno - 1)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 a place is a line")
def test_a_call_through_own_code_is_one_place_whether_the_interpreter_or_c_makes_it(probe, own):
    if probe.__name__.endswith("public_api") and sys.version_info < (3, 13):
        pytest.skip(
            "PyFrame_GetLasti tells the two apart before Python 3.13; the public API is for releases after 3.14"
        )
    through = own["through"]
    places = {(through(probe.site), through(probe.site)) for _ in range(3000)}
    assert len(places) == 1, places
    (first, second), *_ = places
    assert first[0] is second[0] and first[1] != second[1]


def test_without_a_python_frame_there_is_no_place(probe):
    places = []
    _thread.start_new_thread(places.extend, (itertools.islice(iter(probe.site, 0), 1),))
    while not places:
        time.sleep(0.001)
    assert places == [None]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="in Python 3.10 both ways are one")
def test_both_ways_give_the_same_places(probes, tmp_path):
    """Compared over calls of all forms in one program, each run often enough to be specialised."""
    program = tmp_path / "program.py"
    program.write_text(
        "def run(site):\n"
        "    out = []\n"
        "    def note(): return site()\n"
        "    for _ in range(40):\n"
        "        out.append([site(), note(), (lambda: site())(), *map(lambda _: site(), range(2)),\n"
        "            [site() for _ in range(2)], {k: site() for k in range(2)}, *(site() for _ in range(2)),\n"
        "            site(*()), site(**{}), note(*()),\n"
        "        ])\n"
        "        try:\n"
        "            raise ValueError(site())\n"
        "        except ValueError as error:\n"
        "            out.append((error.args, site()))\n"
        "    return out\n"
    )
    variables = {}
    exec(compile(program.read_text(), str(program), "exec"), variables)
    runs = {way: variables["run"](probe.site) for way, probe in probes.items()}
    assert runs["own_frames"] == runs["public_api"]
    assert all(run == runs["own_frames"][k % 2] for k, run in enumerate(runs["own_frames"]))


def test_references_are_kept_in_balance(probe):
    site, code = probe.site, HERE().f_code
    site()
    before = sys.getrefcount(code)
    places = [site() for _ in range(100)]
    assert len(places) == 100
    del places
    assert sys.getrefcount(code) == before
