"""Do equal values have equal fingerprints, and other values others?"""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import pytest
from pydantic import create_model

from rag_evals import FaithfulnessResult
from rag_evals.core import Flow, Sample, fingerprint
from rag_evals.core.hashes import fingerprint_of_texts, parts_fingerprint, written_out
from rag_evals.errors import ConfigurationError
from rag_evals.grading import Grader, SentenceExtractor
from rag_evals.score_precision import ChunkPrecisionResult


def test_equal_values_have_equal_digits() -> None:
    """Lists and tuples are one; the keys of a mapping count in any order."""
    assert fingerprint("a", [1, 2.5, None]) == fingerprint("a", (1, 2.5, None))
    assert fingerprint({"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a b",), ("a", "b")),
        (("a", "b"), ("b", "a")),
        ((1,), ("1",)),
        ((None,), ()),
        (([],), ({},)),
        ((0.1 + 0.2,), (0.3,)),
        (("да",), ("нет",)),
        ((date(2024, 1, 1),), (date(2024, 1, 2),)),
        (({"a": "\ud800"},), ({"a": "\ud801"},)),
    ],
)
def test_other_values_have_other_digits(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    """Neither the border between two parts nor their types are lost."""
    assert fingerprint(*one) != fingerprint(*other)


def test_texts_have_the_same_digits_on_the_short_way() -> None:
    """Runs of earlier versions know rows by the long one."""
    signs = "".join(chr(code) for code in range(0x3000) if not 0xD800 <= code < 0xE000)
    parts: tuple[Any, ...] = (signs, None, [signs, "\U0001f600"], "да", [{}, {}])
    assert fingerprint_of_texts(*parts) == fingerprint(*parts)


def test_keys_of_several_types_are_taken() -> None:
    """The metadata of a chunk may have any keys."""
    keys: dict[Any, int] = {1: 1, "a": 2, (1, 2): 3}

    assert len(fingerprint(keys)) == 64


def test_the_name_of_a_row_without_an_id_stays() -> None:
    """It stands in files of labels, so it is the same in every version."""
    sample = Sample(question="Где?", answer="В Париже.", context=["Башня в Париже."])

    assert sample.content_hash() == "d9177bb4e4d6891c"


def test_a_grader_that_declares_no_parts_is_refused() -> None:
    """Else a changed grader would be taken for the one whose results are stored."""

    class Silent(Grader[Any]):
        """A grader that says nothing of what shapes its results."""

        name = "silent"

        def flow(self, sample: Sample) -> Flow[Any]:
            """Ask nobody."""
            yield from ()

    with pytest.raises(ConfigurationError, match="'silent' does not declare `shapes`"):
        Silent().fingerprint()


def test_parts_are_told_apart_by_what_they_are() -> None:
    """A part with a fingerprint counts by it, a model by its schema, a dataclass by its fields."""

    @dataclass(frozen=True)
    class Part:
        value: int

    @dataclass(frozen=True)
    class Whole:
        part: object

    parts: list[object] = [
        Part(1), Part(2), (Part(1),), frozenset("ab"), "ab", FaithfulnessResult,
        ChunkPrecisionResult, SentenceExtractor(), None,
    ]  # fmt: skip
    found = [parts_fingerprint(Whole(part), ["part"]) for part in parts]

    assert len(set(found)) == len(parts)
    assert found == [parts_fingerprint(Whole(part), ["part"]) for part in parts]
    assert parts_fingerprint(Whole(frozenset("ba")), ["part"]) == found[3]
    kinds: list[object] = [int, str]
    kinds += [create_model("Reply", score=(kind, ...)) for kind in (int, str, int)]
    *others, again = [parts_fingerprint(Whole((kind,)), ["part"]) for kind in kinds]
    assert len(set(others)) == 4
    assert again == others[2]


class _Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class _Line:
    name: str
    ends: object

    def __repr__(self) -> str:
        return "a line"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (_Line("a", ()), "_Line(name='a', ends=())"),
        (_Line("a", (1,)), "_Line(name='a', ends=(1,))"),
        (_Line("a", (1, "b")), "_Line(name='a', ends=(1, 'b'))"),
        (
            _Line("a", (_Line("b", None), [_Line("c", 1)])),
            "_Line(name='a', ends=(_Line(name='b', ends=None), [a line]))",
        ),
        (_Line("a", _Point(1, 2)), "_Line(name='a', ends=_Point(x=1, y=2))"),
        (_Line("a", int), "_Line(name='a', ends=<class 'int'>)"),
    ],
)
def test_a_dataclass_is_written_with_all_its_fields(value: object, written: str) -> None:
    """Whatever it says of itself, and whatever it holds."""
    assert written_out(value) == written


def test_a_type_is_no_dataclass_of_its_own() -> None:
    """The class itself is written as it is: its fields have no values."""
    assert written_out(_Line) == repr(_Line)
    assert written_out((_Line,)) == f"({_Line!r},)"


def test_a_set_counts_in_any_order_and_its_members_do() -> None:
    """The order in which Python goes through one changes from one process to the next."""

    class Part:
        def __init__(self, given: object) -> None:
            self.given = given

    def own(given: object) -> str:
        return parts_fingerprint(Part(given), ["given"])

    words = [f"word{number}" for number in range(40)]
    assert own(frozenset(words)) == own(sorted(words))
    assert own(frozenset(words)) != own(frozenset(words[1:]))
