"""A refusal ends a run that nobody has answered yet; later it is the failure of its row."""

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Outcome, evaluate
from rag_evals.core import Usage
from rag_evals.errors import (
    JudgeOutputError,
    JudgeRejectedError,
    JudgeUnreachableError,
    RagEvalsError,
    TooManyFailuresError,
)
from rag_evals.run.engine.evaluate import Refusals
from rag_evals.run.record.outcome import ErrorRecord
from rag_evals.testing import HttpError, JudgeRequest, Script, ScriptedJudge
from tests.conftest import statement

Start = Callable[[Script], ScriptedJudge]
GOOD = {"statements": [statement()]}


def rows(count: int, poisoned: Collection[int] = ()) -> list[dict[str, Any]]:
    """Make rows; those that the endpoint will refuse say so."""
    return [
        {
            "id": f"row-{n}",
            "answer": f"Answer {n} is {'poison' if n in poisoned else 'fine'}.",
            "context": ["In Paris."],
        }
        for n in range(count)
    ]


def filtering(status: int) -> Callable[[JudgeRequest], Any]:
    """Refuse what is poison, as a content filter does."""
    return lambda request: (
        HttpError(status, "filtered") if "poison" in str(request.answer) else GOOD
    )


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_poisoned_row_fails_alone(scripted: Start, status: int) -> None:
    """After the first reply, a refusal is the row's: the others are graded."""
    scripted(filtering(status))
    run = evaluate(rows(20, {5, 11}), client="openai/m", concurrency=1, out="out")

    assert [o.index for o in run.outcomes if o.status == "failed"] == [5, 11]
    assert run.outcomes[5].error is not None
    assert run.outcomes[5].error.type == "JudgeRejectedError"
    again = evaluate(rows(20, {5, 11}), client="openai/m", concurrency=1, out="out")
    assert again.graded == 2


def test_a_poisoned_row_counts_as_failed(scripted: Start) -> None:
    """`max_failures` sees refusals as it sees any failure."""
    scripted(filtering(403))
    with pytest.raises(TooManyFailuresError, match="2 of "):
        evaluate(rows(20, {5, 6}), client="openai/m", concurrency=1, max_failures=1)


def test_a_poisoned_first_row_does_not_block_the_next_start(scripted: Start) -> None:
    """The first start cannot know better and ends; the second gets past the row that it knows."""
    judge = scripted(filtering(403))
    data = rows(8, {0})
    with pytest.raises(JudgeRejectedError):
        evaluate(data, client="openai/m", concurrency=1, out="out")
    assert len(judge.requests) == 1

    run = evaluate(data, client="openai/m", concurrency=1, out="out")
    assert [o.status for o in run.outcomes] == ["failed"] + ["scored"] * 7


def test_a_wrong_key_still_ends_every_start(scripted: Start) -> None:
    """A row that is known does not hide that the next one is refused as well."""
    judge = scripted(HttpError(401, "wrong key"))
    for _ in range(3):
        with pytest.raises(JudgeRejectedError, match="rejects the key"):
            evaluate(rows(20), client="openai/m", concurrency=1, out="out")
    assert len(judge.requests) == 1 + 2 + 3


def test_ten_refusals_in_a_row_end_the_run(scripted: Start) -> None:
    """A key that is withdrawn in the middle is not tried to the end; what was graded is kept."""
    judge = scripted(filtering(401))
    data = rows(60, set(range(5, 60)))
    with pytest.raises(JudgeRejectedError, match="rejected 10 gradings in a row"):
        evaluate(data, client="openai/m", concurrency=1, out="out", max_failures="100%")
    assert len(judge.requests) == 15
    assert len(Path("out/results.jsonl").read_text().splitlines()) == 15


def test_a_stretch_of_poison_is_passed_in_the_end(scripted: Start) -> None:
    """Each start gets further: rows that were refused before end no run."""
    scripted(filtering(403))
    data = rows(40, set(range(5, 30)))
    for _ in range(2):
        with pytest.raises(JudgeRejectedError, match="in a row"):
            evaluate(data, client="openai/m", concurrency=1, out="out", max_failures="100%")
    run = evaluate(data, client="openai/m", concurrency=1, out="out", max_failures="100%")

    assert run.summary().graders["faithfulness"].scored == 15
    assert run.summary().failed == 25


def test_a_success_between_starts_the_count_again(scripted: Start) -> None:
    """Every second row refused: the run goes to its end."""
    scripted(filtering(403))
    run = evaluate(
        rows(40, set(range(1, 40, 2))), client="openai/m", concurrency=1, max_failures="100%"
    )
    assert run.summary().failed == 20


def test_a_server_that_is_gone_ends_the_next_start(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No connection is never one row's fault: scores of an earlier start do not hide it."""
    judge = scripted(lambda request: HttpError(400) if request.number == 3 else GOOD)
    evaluate(rows(4), client="openai/m", concurrency=1, out="out")
    judge.__exit__(None, None, None)

    with pytest.raises(JudgeUnreachableError):
        evaluate(rows(4), client="openai/m", concurrency=1, out="out")


def test_replies_that_were_no_use_do_not_hide_a_wrong_key(scripted: Start) -> None:
    """No row was ever graded, so the first refusal of the next start ends it."""
    replies: list[Any] = [{"nothing": "of use"}]
    judge = scripted(lambda request: replies[-1])
    data = rows(4)
    run = evaluate(data, client="openai/m", concurrency=1, out="out", max_failures="100%")
    assert run.summary().failed == 4
    assert run.summary().usage.calls == len(judge.requests) > 0

    replies.append(HttpError(401, "wrong key"))
    before = len(judge.requests)
    with pytest.raises(JudgeRejectedError, match="rejects the key"):
        evaluate(data, client="openai/m", concurrency=1, out="out", max_failures="100%")
    assert len(judge.requests) == before + 1


def ended(calls: int, error: type[Exception] | None = None) -> Outcome:
    """Make an outcome that so many calls were made for."""
    outcome = Outcome(0, "a", "g", "scored", score=1.0, usage=Usage(calls))
    if error is None:
        return outcome
    fault = ErrorRecord(error.__name__, "no")
    return replace(outcome, status="failed", score=None, error=fault)


REJECTED, ANSWERED = ended(1, JudgeRejectedError), ended(1)


@pytest.mark.parametrize(
    ("before", "last", "raised"),
    [
        ([], REJECTED, "no"),
        # A row that needed no call does not prove that the key works.
        ([ended(0)], REJECTED, "no"),
        ([ended(1, JudgeOutputError)], REJECTED, "no"),
        ([ANSWERED], REJECTED, None),
        ([ANSWERED, *[REJECTED] * 8], REJECTED, None),
        ([ANSWERED, *[REJECTED] * 9], REJECTED, "the endpoint rejected 10 gradings in a row"),
        ([ANSWERED, *[REJECTED] * 9, ended(1, JudgeOutputError)], REJECTED, "10 gradings in a row"),
        ([ANSWERED, *[REJECTED] * 9, ended(0)], REJECTED, "10 gradings in a row"),
        ([ANSWERED, *[REJECTED] * 9, ANSWERED], REJECTED, None),
        ([], ended(1, JudgeUnreachableError), "no"),
        ([ended(0)], ended(1, JudgeUnreachableError), "no"),
        ([ANSWERED], ended(1, JudgeUnreachableError), None),
        ([], ended(2, JudgeOutputError), None),
    ],
)
def test_only_a_reply_proves_that_an_endpoint_can_be_used(
    before: list[Outcome], last: Outcome, raised: str | None
) -> None:
    """Ten refusals in a row are too many, whatever failed or needed no call in between."""
    refusals = Refusals(None)
    for outcome in before:
        refusals.check(outcome)

    expected: Any = nullcontext() if raised is None else pytest.raises(RagEvalsError, match=raised)
    with expected:
        refusals.check(last)
