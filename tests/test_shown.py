"""How every public object shows itself: one line in Python, small HTML in a notebook."""

import asyncio
import inspect
import pickle
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

import rag_evals
from rag_evals import (
    Chunk,
    Faithfulness,
    FaithfulnessResult,
    Result,
    Run,
    Sample,
    StatementEvaluation,
    agreement,
    base,
    compare,
    correct,
    evaluate,
    guard_sync,
)
from rag_evals.analysis.agreement import PeopleAgreement
from rag_evals.cache import StatementCache
from rag_evals.core import Finding, Quote
from rag_evals.core.finding import result_html
from rag_evals.core.hashes import written_out
from rag_evals.dataset import DataFile
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.run import Gate, GradingSession, Progress
from rag_evals.run.engine.session import AsyncGradingSession
from rag_evals.score_faithfulness_audited import AuditedFaithfulnessResult, AuditedStatement
from tests.labelled import labelled_rows
from tests.sources import PACKAGE

HOSTILE = "<script>alert(1)</script>\n\"'><img src=x onerror=alert(2)>&amp;\x1b[31m"
LONG = HOSTILE * 200
ROWS: list[dict[str, Any]] = [
    {
        "id": f"{HOSTILE}{number}",
        "answer": f"The tower is {number} metres tall. {HOSTILE} says so.",
        "context": ["The tower is 3 metres tall.", HOSTILE],
    }
    for number in range(9)
]
ROWS.append({"id": "odd", "answer": 5, "context": ["x"]})


@cache
def graded(grader: str = "faithfulness") -> Run:
    """Grade rows that try to break out of whatever shows them."""
    return evaluate(ROWS, grader, client="embedded")


def many_statements() -> list[StatementEvaluation]:
    """Make a result longer than anyone reads."""
    return [
        StatementEvaluation(
            statement=LONG, reasoning=LONG, is_supported=bool(n % 2), supporting_chunk_ids=[n]
        )
        for n in range(300)
    ]


def audited() -> AuditedStatement:
    """Make an audited statement with a quote."""
    return AuditedStatement(
        statement=HOSTILE,
        is_supported=False,
        verdict="contradicted",
        evidence=[Quote(0, 0, 3, LONG)],
    )


def example_of(model: type[Result]) -> Result:
    """Make a result of a class, its lists empty and each label the first of its kind."""
    needed = {n: f.annotation for n, f in model.model_fields.items() if f.is_required()}
    values = {n: {"label": "yes"} if inspect.isclass(kind) else [] for n, kind in needed.items()}
    first = {n: get_args(kind)[0] for n, kind in needed.items() if get_origin(kind) is Literal}
    return model.model_validate(values | first)


@cache
def labelled(grader: str = "faithfulness") -> Run:
    """Grade labelled rows."""
    return evaluate(list(labelled_rows()), grader, client="embedded")


@cache
def measured() -> PeopleAgreement:
    """Measure the judge on the labels, by topic."""
    return agreement(labelled(), by="topic")


def kept() -> Path:
    """Grade two rows into a folder."""
    evaluate(ROWS[:2], client="embedded", out="kept")
    return Path("kept")


def session() -> GradingSession:
    """Open a session, and close it again."""
    with rag_evals.open_session("faithfulness", client="embedded") as opened:
        return opened


async def async_session() -> AsyncGradingSession:
    """Open one in the running loop, and close it again."""
    async with rag_evals.open_session("faithfulness", client="embedded") as opened:
        return opened


PAIRS = {"faithfulness": "faithfulness_two_step"}
OBJECTS: dict[str, Callable[[], object]] = {
    "AsyncGradingSession": lambda: asyncio.run(async_session()),
    "AuditedFaithfulnessResult": lambda: AuditedFaithfulnessResult(statements=[audited()]),
    "AuditedStatement": audited,
    "Chunk": lambda: Chunk(0, LONG, {"source": LONG}),
    "ColumnMap": lambda: rag_evals.ColumnMap(answer=HOSTILE),
    "ContextEvaluation": lambda: base.ContextEvaluation(
        "Call {{ answer }} right by {{ context }}.\n" * 500, FaithfulnessResult, name="strict"
    ),
    "DataFile": lambda: DataFile(HOSTILE),
    "FaithfulnessResult": lambda: FaithfulnessResult(statements=many_statements()),
    "Finding": lambda: Finding(LONG, True, "supported"),
    "Gate": lambda: Gate(fail_under=0.5),
    "Guarded": lambda: guard_sync(LONG[:5000], ["x"]),
    "GuardedSentence": lambda: guard_sync(LONG[:5000], ["x"]).sentences[0],
    "Grader": lambda: Faithfulness.with_language("ru").with_settings(temperature=0.5),
    "GradingSession": session,
    "Outcome": lambda: graded().outcomes[1],
    "Progress": lambda: Progress(1, 2, 0, 1.0),
    "Quote": lambda: Quote(0, 0, 3, "The"),
    "Result": lambda: example_of(FaithfulnessResult),
    "Run": graded,
    "Sample": lambda: Sample(question=LONG, answer=LONG, context=[LONG] * 40),
    "Sampling": lambda: rag_evals.Sampling(gate=0.85),
    "StatementEvaluation": lambda: StatementEvaluation(statement=HOSTILE, is_supported=True),
    "Run, loaded": lambda: rag_evals.load_run(kept()),
    "Summary": lambda: graded().summary(),
    "agreement": lambda: measured(),
    "agreement, one": lambda: measured().tables[0],
    "compare": lambda: compare(graded(), graded("faithfulness_two_step"), pairs=PAIRS),
    "compare, by group": lambda: compare(labelled(), labelled(), by="topic"),
    "compare, one": lambda: compare(labelled(), labelled(), by="topic").graders[0],
    "correct": lambda: correct(labelled(), grader="faithfulness"),
    "one grader": lambda: graded()["faithfulness"],
    "grader's numbers": lambda: graded().summary().graders["faithfulness"],
    "failed": lambda: graded().outcomes[-1],
    "session to be opened": lambda: rag_evals.open_session("faithfulness", client="embedded"),
    "verifier": EmbeddedVerifier,
    "cache": lambda: StatementCache("cache.db"),
}  # fmt: skip
"""Objects of every public class, and what public functions return."""


def public_objects() -> dict[str, Callable[[], object]]:
    """Return the table, every shipped grader, and an example of every class of a result."""
    found = dict(OBJECTS)
    graders = sorted(path.stem for path in PACKAGE.glob("score_*.py"))
    rooms = [rag_evals, *(import_module(f"rag_evals.{room}") for room in graders)]
    for name, value in ((name, getattr(room, name)) for room in rooms for name in room.__all__):
        if isinstance(value, base.Grader):
            found[name] = lambda value=value: value  # type: ignore[misc]  # a default that binds
        elif inspect.isclass(value) and issubclass(value, Result) and name not in found:
            found[name] = lambda value=value: example_of(value)  # type: ignore[misc]  # as above
    return found


def shown_as_html() -> list[str]:
    """Name what a notebook shows as more than a line."""
    results = (name for name in public_objects() if name == "Result" or name.endswith("Result"))
    return [*results, "Run", "Run, loaded", "Summary", "compare", "compare, by group"]


def test_every_public_class_has_an_example_here() -> None:
    """A new class cannot come without a line of its own."""
    classes = {n for n in rag_evals.__all__ if inspect.isclass(getattr(rag_evals, n))}

    assert classes - set(public_objects()) == set()


@pytest.mark.parametrize("name", public_objects())
def test_one_line_says_what_it_is(name: str) -> None:
    """No address, no line end, nothing that a terminal obeys, and not the whole data."""
    value = public_objects()[name]()
    line = repr(value)

    assert re.search(r"^\w+\(.+\)$", line), line
    assert " at 0x" not in line
    assert line.isprintable()
    assert len(line) < 1500


class Tags(HTMLParser):
    """Collects what a browser would make of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def test_only_runs_summaries_results_and_comparisons_show_html() -> None:
    """All else is its one line in a notebook."""
    shown = {name for name, make in public_objects().items() if hasattr(make(), "_repr_html_")}

    assert shown == set(shown_as_html())


@pytest.mark.parametrize("name", shown_as_html())
def test_a_notebook_shows_small_safe_html(name: str) -> None:
    """Everything is escaped and bounded, and no colour is one of a light page only."""
    value: Any = public_objects()[name]()
    shown = value._repr_html_()
    read = Tags()
    read.feed(shown)

    assert read.tags <= {
        "b", "br", "caption", "details", "div", "pre", "small", "summary", "table", "tbody", "td",
        "th", "thead", "tr",
    }  # fmt: skip
    assert read.attributes <= {"style"}
    assert len(shown) < 12_000
    assert not re.search(r"(?<![-\w])(background|color):(?!rgba\()", shown)
    assert "\x1b" not in shown


def test_a_graded_answer_shows_the_passages() -> None:
    """Alone in a notebook too a statement has the passage to check it at; copies keep it."""
    chunks = ["It stands in Paris.", "The tower opened in 1889."]
    result = Faithfulness.grade(answer="It opened in 1923.", context=chunks, client="embedded")
    copied = pickle.loads(pickle.dumps(result))

    assert "nearest chunk 1: The tower opened in 1889." in str(result._repr_html_())
    assert copied == result
    assert copied._repr_html_() == result._repr_html_()
    assert "_passage_words" not in result.model_dump()


def test_html_says_what_it_leaves_out() -> None:
    """Findings and rows are counted."""
    html = {name: make()._repr_html_() for name, make in OBJECTS.items() if name in LEFT_OUT}  # type: ignore[attr-defined]  # each has it

    assert {name for name, words in LEFT_OUT.items() if words not in html[name]} == set()


LEFT_OUT = {
    "FaithfulnessResult": "and 290 more findings",
    "Run": "and 4 more below the full score; see .to_pandas()",
}


def test_html_of_many_findings_shows_those_against_and_ten_warnings() -> None:
    """In the order of the findings; the rest is counted, and nothing is counted at exactly ten."""

    def html(good: int, bad: int, warnings: int) -> str:
        found = [Finding(f"good {n}.", True, "supported") for n in range(good)]
        found += [Finding(f"bad {n}.", False, "not supported") for n in range(bad)]
        return result_html("Name", "", found, [f"odd {n}." for n in range(warnings)])

    ten, more = html(8, 2, 10), html(12, 2, 12)
    assert re.findall(r"(?:good|bad) \d+\.", more) == [
        *(f"good {n}." for n in range(8)), "bad 0.", "bad 1.",
    ]  # fmt: skip
    assert re.findall(r"warning: odd \d+\.", more) == [f"warning: odd {n}." for n in range(10)]
    assert "and 4 more findings" in more
    assert "and 2 more warnings" in more
    assert "more" not in ten
    assert ten.count("odd") == 10


def test_printing_a_result_lists_its_findings() -> None:
    """Each with its sign, its label, and why."""
    result = Faithfulness.grade(
        answer="The tower is in Paris. It is 500 m tall.",
        context=["The tower is in Paris.", "It is 330 m tall."],
        client="embedded",
    )

    assert str(result).splitlines() == [
        "VerifiedFaithfulnessResult(score=0.50; 1 supported, 1 not supported; judge: embedded)",
        "+  The tower is in Paris.  [supported, chunk 0]  all 2 content words are in chunk 0",
        "-  It is 500 m tall.  [not supported]  '500' is not in any chunk; chunk 1 says '330'",
    ]


class Dividing(Result):
    """A result whose score fails without words."""

    words: list[str]

    @property
    def score(self) -> float:
        return 1 / len(self.words)


def test_a_score_that_fails_hides_no_result() -> None:
    """A debugger and a notebook still show the fields."""
    result = Dividing(words=[])

    assert repr(result) == str(result) == "Dividing(words=[])"
    assert result._repr_html_() is None


def test_a_short_line_of_an_example_changes_no_fingerprint() -> None:
    """A grader's fingerprint counts the whole of its examples, as it always did."""
    examples = [{"answer": "a", "context": [{"text": "c", "source": "s"}, "d"]}]
    whole = [{**one, "result": {"statements": []}} for one in examples]
    grader = base.ContextEvaluation("Judge.", FaithfulnessResult, examples=whole)
    longer = [{**one, "answer": "a" * 100} for one in whole]
    longest = [{**one, "answer": "a" * 101} for one in whole]

    assert written_out(grader._examples[0]) == (
        "Example(sample=Sample(question=None, answer='a', context=(Chunk(id=0, text='c', "
        "metadata={'source': 's'}), Chunk(id=1, text='d', metadata={})), reference=None, id=None, "
        "language=None, relevant_ids=None, turns=()), "
        'result=\'{"s0": {"claims_nothing": "It claims nothing."}}\', '
        "statements=())"
    )
    assert (
        base.ContextEvaluation("Judge.", FaithfulnessResult, examples=longer).fingerprint()
        != base.ContextEvaluation("Judge.", FaithfulnessResult, examples=longest).fingerprint()
    )
