"""The pytest plugin: a fixture, a marker, two assertions, and a summary table.

pytest loads this package whenever rag_evals is installed, so it imports only pytest at first and
everything else on the first grading.
"""

import pytest

from rag_evals.pytest_plugin.plugin import (
    MARKER,
    OPTIONS,
    GradedFixture,
    GradingHooks,
    PluginOptions,
    assert_faithful,
    assert_scores,
)

__all__ = ["GradedFixture", "assert_faithful", "assert_scores", "graded"]

_MARKER = (
    f"{MARKER}(judge=None, graders=None, at_least=None): the test grades answers with this judge "
    "and these graders; a score below at_least fails the test."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rag_evals", "grade answers of RAG programs")
    for name, (metavar, words) in OPTIONS.items():
        group.addoption(
            f"--rag-evals-{name}", dest=f"rag_evals_{name}", metavar=metavar, help=words
        )
        parser.addini(f"rag_evals_{name}", words, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(GradingHooks(PluginOptions(config)), "rag_evals-grading")


@pytest.fixture(scope="session")
def graded() -> GradedFixture:
    """Grade rows in a test: `graded(answer=..., context=[...])` returns a scored outcome."""
    return GradedFixture()
