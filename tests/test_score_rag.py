"""Every RAG number from one table: asked once, by RAGChecker's definitions, kept in the run."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, evaluate, load_run
from rag_evals.core import Claim, Verdict
from rag_evals.errors import UnknownNameError
from rag_evals.grading.extract import ExtractedStatement
from rag_evals.matrix import _REFERENCE, MatrixClaim, _find_contradicted, _verified
from rag_evals.score_rag import Rag, RagGrader, RagResult
from rag_evals.testing import JudgeRequest, Script, ScriptedJudge
from rag_evals.text import Span

Start = Callable[[Script], ScriptedJudge]
ROW: dict[str, Any] = {
    "question": "Where is the Eiffel Tower, and when was it finished?",
    "answer": "The Eiffel Tower stands in Paris. It was completed in 1889. It is painted brown.",
    "context": ["The Louvre holds the Mona Lisa.", "The Eiffel Tower stands in Paris."],
    "reference": "The Eiffel Tower stands in Paris. It was completed in 1889. It is 330 m tall.",
}
NUMBERS = (
    *("precision", "recall", "f_score", "claim_recall", "chunk_precision", "faithfulness"),
    *("context_utilization", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
    *("hallucination", "self_knowledge"),
)

# The two checked rows of RAGChecker's examples/checking_outputs.json (Apache 2.0): for each claim
# whether the other text entails it, and the chunks that do, with the numbers published there.
RIVER = (
    ("n" + "y" * 8 + "nn", [[1], [], [], [], [], [], [1], [], [0, 3], [3], []]),
    (
        "yyyyyynnyynnnnnynnnnyy",
        [[1], [], [], [0], [0, 1], [0, 3], *[[] for _ in range(15)], [1]],
    ),
    4,
    {
        "precision": 0.7272727272727273,
        "recall": 0.5,
        "claim_recall": 0.22727272727272727,
        "chunk_precision": 0.75,
        "faithfulness": 0.36363636363636365,
        "noise_sensitivity_relevant": 0.18181818181818182,
        "noise_sensitivity_irrelevant": 0.0,
        "f_score": 0.5925925925925926,
        "hallucination": 0.09090909090909091,
        "self_knowledge": 0.5454545454545454,
        "context_utilization": 1.0,
    },
)
FLAG = (
    ("nyyyy", [[1], [1, 2], [1, 2], [0, 2], [1, 2]]),
    ("yynynyyy", [[1], [1, 2], [1], [1, 2], [2], [0, 2], [0, 1, 2], [1, 2]]),
    3,
    {
        "precision": 0.8,
        "recall": 0.75,
        "claim_recall": 1.0,
        "chunk_precision": 1.0,
        "faithfulness": 1.0,
        "noise_sensitivity_relevant": 0.2,
        "noise_sensitivity_irrelevant": 0.0,
        "f_score": 0.7741935483870969,
        "hallucination": 0.0,
        "self_knowledge": 0.0,
        "context_utilization": 0.75,
    },
)


def side(marks: str, chunks: list[list[int]]) -> list[MatrixClaim]:
    """Make rows of the table: `y` where the other text says it, and the chunks of each."""
    return [
        MatrixClaim(statement=f"claim {n}", chunk_ids=own, is_in_other=mark == "y")
        for n, (mark, own) in enumerate(zip(marks, chunks, strict=True))
    ]


@pytest.mark.parametrize("example", [RIVER, FLAG], ids=["river", "flag"])
def test_the_worked_example_of_ragchecker_has_its_numbers(example: Any) -> None:
    """All eleven that it publishes, to 1e-9."""
    answer, reference, count, published = example
    result = RagResult(claims=side(*answer), reference_claims=side(*reference), chunk_count=count)

    found = {name: getattr(result, name) for name in NUMBERS}
    assert found == pytest.approx(published, abs=1e-9)


def by_sets(answer: Any, reference: Any, count: int) -> dict[str, float | None]:
    """Compute the numbers from sets of places, another way than the package does."""
    (marks, chunks), (own_marks, own_chunks) = answer, reference
    everything = set(range(len(marks)))
    right = {n for n in everything if marks[n] == "y"}
    grounded = {n for n in everything if chunks[n]}
    relevant = {chunk for own in own_chunks for chunk in own}
    near = {n for n in grounded if relevant & set(chunks[n])}
    wrong = everything - right
    said = {n for n in range(len(own_marks)) if own_marks[n] == "y"}
    found = {n for n in range(len(own_marks)) if own_chunks[n]}
    precision, recall = len(right) / len(everything), len(said) / len(own_marks)
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f_score": 2 * precision * recall / both if both else 0.0,
        "claim_recall": len(found) / len(own_marks),
        "chunk_precision": len(relevant) / count,
        "faithfulness": len(grounded) / len(everything),
        "context_utilization": len(found & said) / len(found) if found else None,
        "noise_sensitivity_relevant": len(wrong & near) / len(everything),
        "noise_sensitivity_irrelevant": len(wrong & (grounded - near)) / len(everything),
        "hallucination": len(wrong - grounded) / len(everything),
        "self_knowledge": len(right - grounded) / len(everything),
    }


def test_fifty_made_rows_have_the_numbers_of_their_tables() -> None:
    """Every number of a table filled by hand, to 1e-9; each claim of the answer counts once."""
    draw = random.Random(7)
    for _ in range(50):
        count = draw.randint(1, 6)

        def filled(count: int = count) -> tuple[str, list[list[int]]]:
            marks = "".join(draw.choice("yn") for _ in range(draw.randint(1, 7)))
            return marks, [sorted(draw.sample(range(count), draw.randint(0, count))) for _ in marks]

        answer, reference = filled(), filled()
        result = RagResult(
            claims=side(*answer), reference_claims=side(*reference), chunk_count=count
        )
        found = {name: getattr(result, name) for name in NUMBERS}
        assert found == pytest.approx(by_sets(answer, reference, count), abs=1e-9)
        parts = ("noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")
        assert found["precision"] + sum(found[name] for name in parts) == pytest.approx(1)


def test_ranks_come_from_the_chunks_that_support_the_reference() -> None:
    """The order of retrieval counts, without gold ids."""
    result = RagResult(
        claims=side("y", [[1]]), reference_claims=side("yn", [[1], [3]]), chunk_count=4
    )

    assert result.relevant_chunks == [False, True, False, True]
    assert result.rank_precision == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert [result.reciprocal_rank, result.hit_at(1), result.hit_at(9)] == [0.5, 0.0, 1.0]
    assert [result.recall_at(k) for k in (1, 2, 3, 4)] == [0.0, 0.5, 0.5, 1.0]


def test_a_search_that_found_nothing_relevant_has_the_ranks_of_none() -> None:
    """0, so that its row lowers the mean; None only where there is nothing to find."""
    lost = RagResult(claims=side("y", [[1]]), reference_claims=side("n", [[]]), chunk_count=2)
    alone = RagResult(claims=side("y", [[1]]), chunk_count=2)

    ranks = ("rank_precision", "reciprocal_rank")
    assert [getattr(lost, name) for name in ranks] == [0.0, 0.0]
    assert [lost.hit_at(2), lost.ndcg_at(2), lost.recall_at(2)] == [0.0, 0.0, 0.0]
    assert [getattr(alone, name) for name in ranks] == [None, None]
    assert "rank_precision" in lost.further_scores


def test_numbers_that_need_a_reference_are_none_without() -> None:
    """And the result says so; with one, or where no chunks are read, there is nothing to say."""
    alone = RagResult(claims=side("n", [[0]]), chunk_count=1)
    both = RagResult(claims=side("y", [[0]]), reference_claims=side("y", [[0]]), chunk_count=1)
    no_chunks = RagResult(claims=side("y", [[]]), reference_claims=side("y", [[]]))
    needing = set(NUMBERS) - {"faithfulness"}

    assert [getattr(alone, name) for name in needing] == [None] * len(needing)
    assert [alone.recall_at(1), alone.hit_at(1), alone.ndcg_at(1)] == [None] * 3
    assert alone.warnings == ["no reference, so the metrics that need one are left out"]
    assert both.warnings == no_chunks.warnings == []
    assert [no_chunks.faithfulness, no_chunks.recall_at(1), no_chunks.hit_at(1)] == [None] * 3
    assert (no_chunks.f_score, no_chunks.hallucination) == (1.0, None)


TOGETHER = Verdict(0.9, True, (0, 2), "the chunks say so")
ELSEWHERE = Verdict(0.8, True, (0,), "chunk 0 says so")


@pytest.mark.parametrize(
    ("together", "single", "fault", "ids"),
    [
        (TOGETHER, [1, 2], None, [1, 2]),
        (TOGETHER, [], None, [0, 2]),
        (replace(TOGETHER, is_supported=False), [1], None, []),
        (TOGETHER, [1], "it adds a number", []),
        (None, [], None, []),
    ],
)
def test_chunks_that_show_a_claim_alone_are_its_chunks(
    together: Verdict | None, single: list[int], fault: str | None, ids: list[int]
) -> None:
    """Else those of the common verdict; none where the claim is not supported, or was changed."""
    statement = ExtractedStatement("s", Claim("s"), 3, Span(5, 6, "s"), fault)
    claim = _verified(statement, together, None, single, {})
    in_other = _verified(statement, together, ELSEWHERE, single, _REFERENCE)

    assert (claim.chunk_ids, claim.is_in_other, claim.fault) == (ids, None, fault)
    assert (in_other.chunk_ids, in_other.is_in_other) == (ids, fault is None)
    assert (claim.sentence_id, claim.start, claim.end) == (3, 5, 6)
    assert claim.reasoning == (None if together is None else "the chunks say so")
    assert in_other.reasoning == "the reference says so"


def test_faults_are_counted_in_the_text_that_they_are_of() -> None:
    """What retrieval lost among the reference's claims, all others among the answer's."""
    result = RagResult(
        claims=side("ynny", [[0], [1], [], []]),
        reference_claims=side("ynn", [[0], [1], []]),
        chunk_count=2,
    )
    alone = RagResult(claims=side("nnn", [[0], [], []]), chunk_count=2)
    ignored = RagResult(
        claims=side("y", [[0]]), reference_claims=side("yn", [[0], [1]]), chunk_count=2
    )

    assert result.tallies == {
        "retrieval missed it": (1, 3),
        "retrieved and ignored": (1, 3),
        "invented": (1, 4),
        "from a chunk, not in the reference": (1, 4),
        "right but not from the sources": (1, 4),
    }
    assert [one.label for one in result.findings] == [
        "retrieval missed it",
        *("correct", "from a chunk, not in the reference", "invented"),
        "right but not from the sources",
        *("said", "retrieved and ignored", "retrieval missed it"),
    ]
    assert (ignored.diagnosis, alone.diagnosis, alone.tallies) == (
        "retrieved and ignored", "invented", {},
    )  # fmt: skip
    assert [(one.label, one.verdict) for one in alone.findings[1:]] == [
        ("supported", True), ("not supported", False), ("not supported", False),
    ]  # fmt: skip


def test_no_fault_at_all_is_the_best_score() -> None:
    """A number of faults is turned round at 0 too."""
    parts: dict[str, Any] = {"claims": side("y", [[0]]), "reference_claims": side("y", [[0]])}
    result = RagResult(**parts, chunk_count=1, number="hallucination")

    assert (result.hallucination, result.score) == (0.0, 1.0)


def verdict(*ids: int) -> dict[str, Any]:
    """Return a verdict of a judge."""
    if ids:
        return {"reasoning": "r", "verdict": {"supported_by": list(ids)}}
    return {"reasoning": "r", "verdict": {"not_supported_because": "not_in_context"}}


def compared(request: JudgeRequest) -> dict[str, Any]:
    """Fill the table of ROW: chunk 1 has Paris, the other text (2) has Paris and the year."""
    if len(request.chunks) == 2:
        return {"s0": verdict(1), "s1": verdict(), "s2": verdict()}
    return {"s0": verdict(1, 2), "s1": verdict(2), "s2": verdict()}


def test_two_calls_fill_the_table_of_a_row(scripted: Start) -> None:
    """Every number, a label for each claim, and what is wrong first."""
    judge = scripted(compared)
    result = Rag.grade(**ROW, client="openai/m")

    assert len(judge.requests) == 2
    assert sorted(one.chunks[2] for one in judge.requests) == [ROW["reference"], ROW["answer"]]
    assert result.further_scores == pytest.approx(
        {
            "faithfulness": 1 / 3,
            "precision": 2 / 3,
            "recall": 2 / 3,
            "f_score": 2 / 3,
            "claim_recall": 1 / 3,
            "chunk_precision": 1 / 2,
            "rank_precision": 1 / 2,
            "reciprocal_rank": 1 / 2,
            "context_utilization": 1.0,
            "chunk_use": 1 / 2,
            "noise_sensitivity_relevant": 0.0,
            "noise_sensitivity_irrelevant": 0.0,
            "hallucination": 1 / 3,
            "self_knowledge": 1 / 3,
        }
    )
    assert result.diagnosis == "retrieval missed it"
    assert [one.label for one in result.findings] == [
        "retrieval missed it",
        *("correct", "right but not from the sources", "invented"),
        *("said", "said", "retrieval missed it"),
    ]


def test_the_embedded_judge_fills_the_same_table_without_a_call(scripted: Start) -> None:
    """Each chunk is decided by itself."""
    judge = scripted(None)
    result = Rag.grade(**ROW, client="embedded")

    assert judge.requests == []
    assert [(one.chunk_ids, one.is_in_other) for one in result.claims] == [
        ([1], True),
        ([], True),
        ([], False),
    ]
    assert [bool(one.chunk_ids) for one in result.reference_claims or ()] == [True, False, False]


def test_each_chunk_that_shows_a_claim_is_named(scripted: Start) -> None:
    """Together they need only one of them; by itself each of both shows it."""
    context = [
        "It rains.",
        "The Eiffel Tower stands in Paris.",
        "In Paris stands the Eiffel Tower.",
    ]
    result = Rag.grade(**{**ROW, "context": context}, client="embedded")

    assert result.claims[0].chunk_ids == [1, 2]
    assert result.relevant_chunks == [False, True, True]


def test_a_reason_is_that_of_the_verdict_that_counts() -> None:
    """About the other text where there is one, and else about the chunks."""
    alone = {name: value for name, value in ROW.items() if name != "reference"}
    both, only = (Rag.grade(**row, client="embedded").claims[1] for row in (ROW, alone))

    assert str(both.reasoning).endswith("in the reference")
    assert only.reasoning == "no chunk shares a content word with the statement"


def test_without_a_reference_it_asks_as_faithfulness_does(scripted: Start) -> None:
    """One call; numbers that need a reference are left out."""
    judge = scripted(compared)
    row = {name: value for name, value in ROW.items() if name != "reference"}
    result = Rag.grade(**row, client="openai/m")

    assert len(judge.requests) == 1
    Faithfulness.grade(**row, client="openai/m")
    assert judge.requests[0].instructions == judge.requests[1].instructions
    assert set(result.further_scores) == {"faithfulness", "chunk_use"}
    assert result.score == pytest.approx(1 / 3)
    assert result.diagnosis == "invented"


def test_several_numbers_in_one_run_ask_once(scripted: Start) -> None:
    """Two calls a row, whichever numbers are wanted; a number of faults is turned round."""
    judge = scripted(compared)
    names = ("claim_recall", "hallucination", "context_utilization")
    graders = [Rag, *(Rag.only(name) for name in names)]
    run = evaluate([{**ROW, "id": str(n), "question": f"q{n}"} for n in range(5)], graders,
                   client="openai/m")  # fmt: skip

    assert len(judge.requests) == 10
    assert run.summary().usage.calls == 10
    scores = {one.grader: one.score for one in run.outcomes if one.sample_id == "3"}
    assert scores == pytest.approx(
        {"rag": 2 / 3, "claim_recall": 1 / 3, "hallucination": 2 / 3, "context_utilization": 1.0}
    )


def test_graders_of_two_models_share_no_call(scripted: Start) -> None:
    """Each table is filled by the model that its grader names."""
    judge = scripted(compared)
    graders = [RagGrader(model=model, name=model) for model in ("small", "large")]
    run = evaluate([ROW], graders, client="openai/m")

    assert (
        sorted(str(request.body["model"]) for request in judge.requests)
        == ["large"] * 2 + ["small"] * 2
    )
    assert [one.usage.calls for one in run.outcomes] == [2, 2]


def test_repeats_of_a_row_share_no_call(scripted: Start) -> None:
    """Each repeat is asked anew; two numbers of the same repeat are still asked once."""
    judge = scripted(compared)
    graders = [Rag.only(name) for name in ("claim_recall", "hallucination")]
    run = evaluate([ROW], graders, client="openai/m", repeat=3)

    assert len(judge.requests) == run.summary().usage.calls == 6


def test_many_rows_share_their_calls_too(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest replies are forgotten, and not the one that the next grader needs."""
    monkeypatch.setattr("rag_evals.judge.session._MOST_SHARED", 2)
    judge = scripted(compared)
    graders = [Rag.only(name) for name in ("claim_recall", "hallucination")]
    rows = [{**ROW, "id": str(n), "question": f"q{n}"} for n in range(5)]
    evaluate(rows, graders, client="openai/m", concurrency=1)

    assert len(judge.requests) == 10


def test_a_number_that_there_is_not_is_refused() -> None:
    """The message names the nearest one."""
    with pytest.raises(UnknownNameError, match="did you mean 'claim_recall'"):
        Rag.only("claim_recal")


def test_a_run_keeps_the_table_and_shows_every_number(tmp_path: Path) -> None:
    """The summary has means with intervals, and what is read back can be computed anew."""
    evaluate([ROW, {**ROW, "question": "q2"}], ["rag"], client="embedded", out=tmp_path / "run")
    run = load_run(tmp_path / "run")
    of_grader = run.summary().graders["rag"]

    assert of_grader.further_means()["claim_recall"].estimate == pytest.approx(1 / 3)
    assert "  self_knowledge: 0.33 (95 % interval" in str(run.summary())
    assert of_grader.tallies["retrieval missed it"] == (2, 6)
    result = run.outcomes[0].result
    assert isinstance(result, RagResult)
    assert result.recall_at(2) == pytest.approx(1 / 3)
    line = json.loads((tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()[0])
    assert line["further_scores"]["precision"] == pytest.approx(2 / 3)


def test_a_run_reads_as_it_is_meant() -> None:
    """The sum does not count beside its claims, reasons name the text, correct is not supported."""
    run = evaluate([{**ROW, "id": "a"}], ["rag"], client="embedded")
    outcome = run.outcomes[0]

    assert outcome.findings[0].verdict is None
    reasons = {one.about: one.reasoning or "" for one in outcome.findings[1:]}
    assert "the reference" in reasons["statement"]
    assert "the answer" in reasons["reference"]
    assert not any("the other text" in (one.reasoning or "") for one in outcome.findings)
    assert list(run.summary().graders["rag"].rows.sizes()) == ["statements", "words"]
    alone = {name: value for name, value in ROW.items() if name != "reference"}
    sizes = evaluate([alone], ["rag"], client="embedded").summary().graders["rag"].rows.sizes()
    assert list(sizes) == ["statements", "supported", "unsupported", "words"]


def test_a_number_without_anything_to_divide_by_is_none() -> None:
    """No claim, no claim of the reference, or chunks that nobody read."""
    one = MatrixClaim(statement="s", chunk_ids=[1], is_in_other=True)
    silent = RagResult(claims=[], reference_claims=[one], chunk_count=2)
    bare = RagResult(claims=[one], reference_claims=[], chunk_count=2)
    unread = RagResult(claims=[one], reference_claims=[one])

    assert (silent.chunk_use, silent.chunk_precision, silent.precision) == (None, 0.5, None)
    assert (bare.chunk_use, bare.chunk_precision, bare.rank_precision) == (0.5, None, None)
    assert (bare.recall, bare.claim_recall, bare.hallucination) == (None, None, 0.0)
    assert (bare.precision, bare.f_score, bare.hit_at(1)) == (1.0, None, None)
    assert (unread.faithfulness, unread.hallucination, unread.ndcg_at(1)) == (None, None, None)
    assert (unread.precision, unread.recall, unread.f_score) == (1.0, 1.0, 1.0)
    assert unread.warnings == []
    alone = RagResult(claims=[one], chunk_count=2)
    assert alone.warnings == ["no reference, so the metrics that need one are left out"]
    assert RagResult(claims=[one]).warnings == []
    assert [each.not_scorable for each in (silent, bare, alone)] == [
        *("no_statements", "no_reference_statements", None)
    ]


def test_only_what_the_reference_lacks_is_wrong_or_extra() -> None:
    """Wrong if it speaks of the same otherwise; what was not compared is neither."""
    claims = [
        MatrixClaim(
            statement=f"{other} {contradicted}", is_in_other=other, is_contradicted=contradicted
        )
        for other in (True, False, None)
        for contradicted in (True, False)
    ]
    result = RagResult(claims=claims, reference_claims=claims)

    assert [one.statement for one in result.wrong] == ["False True"]
    assert [one.statement for one in result.extra] == ["False False"]
    assert [one.statement for one in result.missing] == [
        *("False True", "False False", "None True", "None False")
    ]


def test_a_table_of_the_reference_alone_still_has_the_answers_faults() -> None:
    """A reference without claims supports none of them, and each that no chunk has is made up."""
    claims = [MatrixClaim(statement="a", chunk_ids=[0]), MatrixClaim(statement="b")]
    result = RagResult(claims=claims, reference_claims=[], chunk_count=1)

    assert (result.hallucination, result.self_knowledge) == (0.5, 0.0)
    assert (result.noise_sensitivity_relevant, result.noise_sensitivity_irrelevant) == (0.0, 0.5)
    without = RagResult(claims=claims, chunk_count=1)
    assert (without.hallucination, without.self_knowledge, without.faithfulness) == (
        None,
        None,
        0.5,
    )
    assert [one.is_in_other for one in without.claims] == [None, None]


def test_a_grader_of_tables_is_another_one_with_another_weight_metric_or_chunks() -> None:
    """Any of these is another result."""
    graders = [Rag, Rag.only("recall"), Rag.only("precision"), Rag.with_beta(2), Rag.with_beta(0.5)]
    graders += [Rag._copy_with(reads_chunks=False), Rag._copy_with(_alone=None)]

    assert len({one.fingerprint() for one in graders}) == 7
    assert Rag.with_beta(1).fingerprint() == Rag.fingerprint()
    assert [one.name for one in graders[:4]] == ["rag", "recall", "precision", "rag"]


def test_claims_of_one_subject_contradict_each_other_on_both_sides() -> None:
    """Only those that the other text does not support; half of the shorter one's words will do."""

    def side_of(*claims: tuple[str, bool | None]) -> list[MatrixClaim]:
        return [MatrixClaim(statement=text, is_in_other=other) for text, other in claims]

    ours = side_of(("Red towers stand.", False), ("Cats purr loudly.", True), ("Dogs bark.", None))
    theirs = side_of(
        ("Red towers fall.", False), ("Cats purr softly.", False), ("Dogs howl.", False)
    )
    _find_contradicted([ours, theirs])

    assert [one.is_contradicted for one in ours] == [True, False, True]
    assert [one.is_contradicted for one in theirs] == [True, False, True]
    alone = side_of(("Red towers stand.", False))
    _find_contradicted([alone])
    assert not alone[0].is_contradicted
    far = [
        side_of(("Red towers stand here.", False)),
        side_of(("Red doors open wide today.", False)),
    ]
    _find_contradicted(far)
    assert [one.is_contradicted for each in far for one in each] == [False, False]


def test_a_table_has_the_faults_of_both_its_texts(scripted: Start) -> None:
    """What either call drifts is told, and what either leaves out gives no score."""
    supported = {"reasoning": "r", "verdict": {"supported_by": [0]}}

    def script(request: JudgeRequest) -> dict[str, Any]:
        claims = [{"statement": f"{text[:-1]} of 1777.", **supported} for text in request.sentences]
        return {"s0": {"claims": claims[:1]}}

    scripted(script)
    row: dict[str, Any] = {"answer": "The tower is red.", "context": ["The tower is red."]}
    result = Rag.grade(**row, reference="The door is blue today.", client="openai/m")
    alone = Rag.grade(**row, client="openai/m")

    assert [line.partition(":")[0] for line in result.drift] == ["changed number"] * 2
    assert ["tower" in result.drift[0], "door" in result.drift[1]] == [True, True]
    assert [one.is_in_other for one in (*result.claims, *(result.reference_claims or ()))] == [
        *(False, False)
    ]
    assert [one.is_in_other for one in alone.claims] == [None]
