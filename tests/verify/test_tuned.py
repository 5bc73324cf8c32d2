"""What a tuned file is made of: signals of how sure a verdict is, and what they add up to."""

import math
from typing import Any

import pytest

from rag_evals.core import Finding
from rag_evals.core.finding import Quote
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.verify.tuned import read_signals, sureness

CHUNKS = ["The tower stands in Rome since 1889.", "Cats purr."]
TEXT = "The tower stands in Paris since 1923."
FOUND, LOST = Quote(0, 0, 9, "The tower"), Quote(0, None, None, "The towers")


def signals(verdict: bool | None = False, **more: Any) -> dict[str, float]:
    """Return the signals of a verdict on the text above, with five of its seven words found."""
    attempts = more.pop("attempts", 0)
    text, chunks = more.pop("text", TEXT), more.pop("chunks", CHUNKS)
    return read_signals(Finding(text, verdict, "label", **more), chunks, attempts)


@pytest.mark.parametrize(("verdict", "side"), [(True, 1.0), (False, -1.0)])
def test_signals_count_for_the_side_of_the_verdict(verdict: bool, side: float) -> None:
    """Words that stand in the evidence speak for "supported", a number that is missing does not."""
    found = signals(verdict, support=0.8)

    assert found["is_yes"] == side
    assert found["coverage"] == pytest.approx(side * (5 / 7 - 0.5))
    assert found["missing_number"] == -side
    assert found["margin"] == pytest.approx(side * math.log(0.8 / 0.2))
    assert found["length"] == pytest.approx(math.log(8) - 3)
    (own,) = EmbeddedVerifier().verify([TEXT], CHUNKS)
    assert found["embedded"] == pytest.approx(side * math.log(own.support / (1 - own.support)))


@pytest.mark.parametrize(
    ("more", "name", "value"),
    [
        ({"support": None}, "margin", 0.0),
        ({"support": 1.0}, "margin", -math.log(0.99 / 0.01)),
        ({"support": 0.0}, "margin", math.log(0.99 / 0.01)),
        ({"decided_by": "embedded"}, "embedded", 0.0),
        ({"quotes": ()}, "quote_found", 0.0),
        ({"quotes": (FOUND,)}, "quote_found", 0.5),
        ({"quotes": (FOUND, LOST)}, "quote_found", -0.5),
        ({"attempts": 0}, "asked_again", 0.0),
        ({"attempts": 1}, "asked_again", 0.0),
        ({"attempts": 3}, "asked_again", math.log(3)),
        ({"text": "The tower stands since 1889."}, "missing_number", 0.0),
        ({"text": "Purr 1889."}, "missing_number", 0.0),
        ({"text": "..."}, "coverage", 0.5),
        ({"chunks": [" ", ""]}, "coverage", 0.0),
        ({"chunks": [" ", ""]}, "missing_number", 0.0),
        ({"chunks": []}, "embedded", 0.0),
    ],
    ids=str,
)
def test_a_signal_that_says_nothing_is_nought(more: Any, name: str, value: float) -> None:
    """What is not known counts for neither side, and no support for more than 99 percent."""
    assert signals(**more)[name] == pytest.approx(value)


def test_weights_of_signals_add_up_to_a_probability() -> None:
    """A signal that is not there counts as nought, and so does one without a weight."""
    given = {"a": 2.0, "b": -1.0, "c": 9.0}

    assert sureness({}, 0.0, given) == 0.5
    assert sureness({"gone": 5.0}, 0.0, given) == 0.5
    assert sureness({"a": 1.0, "b": 3.0}, 0.5, given) == pytest.approx(1 / (1 + math.exp(0.5)))
