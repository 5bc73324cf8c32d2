"""Settings that must be numbers: one check for every verifier and every cache."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals.cache.semantic import SemanticCache
from rag_evals.core.arguments import require_fraction, require_whole
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.verify import ClassifierVerifier, LLMVerifier

# What is given is wrong on purpose, so no type is named.
THRESHOLDS: dict[str, Callable[[Any], Any]] = {
    "embedded": lambda value: EmbeddedVerifier(threshold=value),
    "classifier": lambda value: ClassifierVerifier("a/b", threshold=value),
    "semantic cache": lambda value: SemanticCache(lambda _: [], threshold=value),
}
BATCH_SIZES: dict[str, Callable[[Any], Any]] = {
    "llm": lambda value: LLMVerifier(batch_size=value),
    "classifier": lambda value: ClassifierVerifier("a/b", batch_size=value),
}


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), True, [0.5], 1j])
@pytest.mark.parametrize("make", THRESHOLDS.values(), ids=THRESHOLDS)
def test_a_threshold_is_a_number_from_0_to_1(make: Callable[[Any], Any], value: object) -> None:
    """Whoever takes it: anything else is refused at once, with the value."""
    with pytest.raises(ConfigurationError, match="threshold is .*; expected a number from 0 to 1"):
        make(value)


@pytest.mark.parametrize("kind", ["classifier", "semantic cache"])
def test_a_threshold_in_quotes_is_no_number(kind: str) -> None:
    """The embedded judge takes names as well, and says which; the others take none."""
    with pytest.raises(ConfigurationError, match="threshold is '0.5'; expected a number from 0 to"):
        THRESHOLDS[kind]("0.5")
    with pytest.raises(ConfigurationError, match="no threshold '0.5'; available: balanced"):
        THRESHOLDS["embedded"]("0.5")
    with pytest.raises(ConfigurationError, match="0 to 1, or one of 'balanced', 'screen', 'stri"):
        THRESHOLDS["embedded"](2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0; expected at least 1"),
        (-3, "-3; expected at least 1"),
        ("3", "'3'; expected a whole number, at least 1"),
        (3.0, "3.0; expected a whole number, at least 1"),
        (True, "True; expected a whole number, at least 1"),
    ],
)
@pytest.mark.parametrize("make", BATCH_SIZES.values(), ids=BATCH_SIZES)
def test_a_batch_size_is_a_whole_number(
    make: Callable[[Any], Any], value: object, expected: str
) -> None:
    """Whoever takes it: anything else is refused at once, with the value."""
    with pytest.raises(ConfigurationError, match=f"batch_size is {expected}"):
        make(value)


def test_numbers_come_back_as_they_are_used() -> None:
    """Both ends of a range are right, and a whole number is a fraction where it can be one."""
    assert [require_fraction("x", value) for value in (0, 0.25, 1)] == [0.0, 0.25, 1.0]
    assert isinstance(require_fraction("x", 1), float)
    assert [require_whole("x", 1), require_whole("x", 0, least=0)] == [1, 0]
