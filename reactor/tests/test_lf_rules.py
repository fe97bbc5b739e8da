"""Each rule of Lingua Franca's semantics by a program of a few lines, whose trace was worked out by hand."""

import pytest
from reactor.tests.lf_mode_programs import PROGRAMS
from reactor.tests.running import lines, program, trace_of

pytest.importorskip("lark")


@pytest.mark.parametrize("name", PROGRAMS)
def test_trace_follows_the_rule(name, tmp_path):
    written = PROGRAMS[name]
    ran = program(tmp_path, written.text, **written.settings)
    ran.run()
    assert trace_of(ran) == lines(written.trace), written.rule
