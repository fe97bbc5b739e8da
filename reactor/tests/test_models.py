"""The models of the core's protocols (models.py): they say what the core does, and, where GenMC is installed, they hold."""

import re

import pytest
from reactor.tests import models


def test_each_line_that_a_model_quotes_is_in_the_core():
    assert models.gone(models.quotes(), models.CORE) == []
    assert {model for model, _, _ in models.quotes()} >= {f"{name}.c" for name in models.names()}


def test_another_memory_order_in_the_core_is_seen(tmp_path):
    channel = (models.CORE / "channels" / "channel.h").read_text()
    (tmp_path / "channels").mkdir()
    (tmp_path / "channels" / "channel.h").write_text(
        channel.replace("tail.store(tail_, memory_order_release)", "tail.store(tail_, memory_order_relaxed)")
    )
    quoted = [quote for quote in models.quotes() if quote[1] == "channels/channel.h"]
    changed = {text for _, _, text in models.gone(quoted, tmp_path)}
    assert changed == {"segment_->tail.store(tail_, memory_order_release);"}


@pytest.mark.parametrize("name", models.names())
def test_each_mutant_changes_the_model(name):
    text = (models.MODELS / f"{name}.c").read_text()
    for mutant in models.mutants(name):
        assert re.search(rf"\b(M|IS)\({mutant}\b", text), mutant


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(models.checker() is None, reason="no GenMC (GENMC, genmc)")
@pytest.mark.parametrize("name", models.names())
def test_a_model_holds_and_its_mutants_do_not(name):
    for memory_model in models.MEMORY_MODELS:
        holds, executions, printed = models.run(name, model=memory_model)
        assert holds, printed
        assert executions > 1
    assert models.survivors(name) == []
