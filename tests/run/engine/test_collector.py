"""A run leaves Python's garbage collector as it was."""

import gc
from contextlib import ExitStack

import pytest

from rag_evals.run.engine.evaluate import settled_heap


@pytest.mark.parametrize("young", [0, 700, 50_000])
def test_the_collector_is_as_before_when_all_runs_have_ended(young: int) -> None:
    """Runs of several threads end in any order; 0 switches the collector off, and stays."""
    before = gc.get_threshold()
    one, other = ExitStack(), ExitStack()
    try:
        gc.set_threshold(young, 10, 10)
        one.enter_context(settled_heap())
        other.enter_context(settled_heap())
        assert gc.get_threshold()[0] == (young and max(young, 10_000))
        one.close()
        assert gc.get_threshold()[0] == (young and max(young, 10_000))
        assert gc.get_freeze_count() > 0
        other.close()
        assert gc.get_threshold() == (young, 10, 10)
        assert gc.get_freeze_count() == 0
    finally:
        gc.set_threshold(*before)
