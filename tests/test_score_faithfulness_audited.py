"""The audited grader: a judge must show its work, and code checks the work."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rag_evals import AuditedFaithfulness, FaithfulnessResult
from rag_evals.errors import NotScorableError, PromptError
from rag_evals.run import evaluate
from rag_evals.score_citations import CitationGrader
from rag_evals.score_faithfulness_audited import (
    AuditedClaim,
    AuditedFaithfulnessResult,
    AuditedGrader,
    AuditedStatement,
    ClaimedQuote,
    NoClaimSentence,
    _statement,
)
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import split_sentences
from tests.audited import GOOD, PARIS, changed, claim, grade
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]


def test_the_result_serves_as_a_faithfulness_result(scripted: Start) -> None:
    """Scores, verdicts and chunk ids are where users of Faithfulness look for them."""
    result = grade(scripted(GOOD))

    assert isinstance(result, FaithfulnessResult)
    assert result.score == 0.5
    assert [s.is_supported for s in result.statements] == [True, False]
    assert [s.supporting_chunk_ids for s in result.statements] == [[0], []]
    assert [s.statement for s in result.unsupported] == ["The Eiffel Tower was completed in 1923."]
    assert result.contradiction_rate == 0.5
    assert result.coverage == 1.0


def test_evidence_has_offsets_into_the_chunk(scripted: Start) -> None:
    """What is shown to a reader is the chunk's own text, not the judge's copy of it."""
    reply = changed("statements.0.evidence.0.quote", "“Eiffel  Tower” … Paris")
    context = ["The ‘Eiffel Tower’ stands in Paris.", EIFFEL["context"][1]]
    scripted(reply)
    result = AuditedFaithfulness.grade(**EIFFEL | {"context": context}, client="openai/m")
    quotes = result.statements[0].evidence

    assert [quote.text for quote in quotes] == ["‘Eiffel Tower’", "Paris"]
    assert all(context[q.chunk_id][q.start : q.end] == q.text for q in quotes)
    assert result.statements[1].evidence[0].text == "It was completed in 1889."


def test_a_statement_of_two_sentences_covers_both_in_the_answer(scripted: Start) -> None:
    """A reader sees it marked from the first word of one to the last of the other."""
    text = "The Eiffel Tower stands in Paris and was completed in 1923."
    both = claim(0, text, "contradicted", (1, "It was completed in 1889."))
    scripted({"statements": [both | {"sentence_ids": [1, 0]}], "no_claim_sentences": []})
    (statement,) = AuditedFaithfulness.grade(**EIFFEL, client="openai/m").statements

    assert (statement.sentence_id, statement.start) == (0, 0)
    assert statement.end == len(EIFFEL["answer"])


def test_a_judge_may_quote_what_a_reader_sees_of_a_table(scripted: Start) -> None:
    """Signs of the document do not count, and offsets are those of the document."""
    context = ["| City | Tower |\n|---|---|\n| Paris | **Eiffel** Tower |", EIFFEL["context"][1]]
    scripted(changed("statements.0.evidence.0.quote", "Paris | Eiffel Tower"))
    result = AuditedFaithfulness.grade(**EIFFEL | {"context": context}, client="openai/m")
    quote = result.statements[0].evidence[0]

    assert quote.text == "Paris | **Eiffel** Tower"
    assert context[0][quote.start : quote.end] == quote.text


def test_a_quote_that_jumps_a_denial_is_asked_again(scripted: Start) -> None:
    """The judge reads which word its ellipsis hides."""
    context = ["The Eiffel Tower does not stand in Paris.", EIFFEL["context"][1]]
    good = changed("statements.0.evidence.0.quote", "Eiffel Tower does not stand in Paris")
    reply = changed("statements.0.evidence.0.quote", "The Eiffel Tower ... stand in Paris")
    judge = scripted([reply, good])
    AuditedFaithfulness.grade(**EIFFEL | {"context": context}, client="openai/m")

    assert "leaves out 'not'" in str(judge.requests[1].messages[-1]["content"])


def test_sentences_and_chunks_go_in_numbered(scripted: Start) -> None:
    """The judge sees each sentence in a tag with its id."""
    judge = scripted(GOOD)
    grade(judge)

    assert judge.requests[0].sentences == [
        "The Eiffel Tower stands in Paris.",
        "It was completed in 1923.",
    ]
    assert judge.requests[0].chunks == EIFFEL["context"]
    assert '<sentence id="1">\nIt was completed in 1923.\n</sentence>' in judge.requests[0].data


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        (
            "Он родился в 1879 г. в Ульме. А. Эйнштейн — физик!",
            ["Он родился в 1879 г. в Ульме.", "А. Эйнштейн — физик!"],
        ),
        (
            "富士山は高い。日本にある！そうですか？",
            ["富士山は高い。", "日本にある！", "そうですか？"],
        ),
        ("长城很长。它在中国。", ["长城很长。", "它在中国。"]),
    ],
)
def test_sentences_of_any_language_are_numbered(
    scripted: Start, answer: str, sentences: list[str]
) -> None:
    """Russian abbreviations do not end a sentence; Chinese and Japanese stops do."""
    judge = scripted(
        {
            "statements": [],
            "no_claim_sentences": [
                {"sentence_id": n, "reason": "r"} for n in range(len(sentences))
            ],
        }
    )
    result = AuditedFaithfulness.grade(answer=answer, context=["c"], client="openai/m")

    assert judge.requests[0].sentences == sentences
    assert result.sentence_count == len(sentences)


FAULTS = {
    "an invented quote": (
        changed("statements.0.evidence.0.quote", "The tower is in the heart of Paris"),
        "the quote 'The tower is in the heart of Paris' does not occur in chunk 0",
    ),
    "a quote of another chunk": (
        changed("statements.0.evidence.0.chunk_id", 1),
        "does not occur in chunk 1; it occurs in chunk 0",
    ),
    "a chunk that does not exist": (
        changed("statements.0.evidence.0.chunk_id", 99),
        "chunk id 99 does not exist; ids run from 0 to 1",
    ),
    "a quote that shows nothing": (
        changed("statements.0.evidence.0.quote", "Paris"),
        "the quote 'Paris' is too short to show anything",
    ),
    "a quote of function words": (
        changed("statements.1.evidence.0.quote", "It was ... in"),
        "the quote 'It was ... in' is too short to show anything",
    ),
    "a skipped sentence": (
        {"statements": [PARIS], "no_claim_sentences": []},
        "sentences [1] have no statement; break them into statements, or list them",
    ),
    "a sentence that does not exist": (
        changed("statements.0.sentence_ids", [0, 7]),
        "sentence id 7 does not exist; ids run from 0 to 1",
    ),
    "a claim from nowhere": (
        changed("statements.0.sentence_ids", []),
        "sentence_ids is empty",
    ),
    "support without evidence": (
        changed("statements.0.evidence", []),
        "the verdict is supported, yet evidence is empty",
    ),
    "a contradiction without evidence": (
        changed("statements.1.evidence", []),
        "the verdict is contradicted, yet evidence is empty",
    ),
    "evidence for nothing": (
        changed("statements.1.verdict", "not_in_context"),
        "the verdict is not_in_context, yet evidence is quoted",
    ),
    "a sentence in both lists": (
        changed("no_claim_sentences", [{"sentence_id": 1, "reason": "It is a joke."}]),
        "sentences [1] have statements and are in no_claim_sentences",
    ),
    "a sentence left out twice": (
        {"statements": [PARIS], "no_claim_sentences": [{"sentence_id": 1, "reason": "r"}] * 2},
        "sentences [1] are listed twice in no_claim_sentences",
    ),
    "a sentence left out without a reason": (
        {"statements": [PARIS], "no_claim_sentences": [{"sentence_id": 1, "reason": " "}]},
        "sentence 1 is left out without a reason",
    ),
    "an empty statement": (changed("statements.0.statement", " "), "a statement is empty"),
    "a fourth verdict": (
        changed("statements.0.verdict", "mostly"),
        "Input should be 'supported', 'contradicted' or 'not_in_context'",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_asked_again_by_name(scripted: Start, name: str) -> None:
    """The second request says exactly what was wrong; the second reply counts."""
    reply, fault = FAULTS[name]
    judge = scripted([reply, GOOD])
    result = grade(judge)

    assert result.score == 0.5
    assert len(judge.requests) == 2
    assert fault in str(judge.requests[1].messages[-1]["content"])


UNVERIFIED = {
    "an invented quote": (
        FAULTS["an invented quote"][0],
        "the judge says supported, but the quote 'The tower is in the heart of Paris' does not "
        "occur in chunk 0",
    ),
    "a quote that shows nothing": (
        FAULTS["a quote that shows nothing"][0],
        "the judge says supported, but the quote 'Paris' is too short to show anything",
    ),
    "support without evidence": (
        FAULTS["support without evidence"][0],
        "the judge says supported, but it quotes nothing",
    ),
}


@pytest.mark.parametrize("name", UNVERIFIED)
def test_a_judge_that_cannot_show_its_work_leaves_the_statement_unverified(
    scripted: Start, name: str
) -> None:
    """After the last attempt it is not supported, with its fault; the rest of the row counts."""
    reply, fault = UNVERIFIED[name]
    judge = scripted(reply)
    result = grade(judge)
    first = result.statements[0]

    assert len(judge.requests) == 2
    assert [s.verdict for s in result.statements] == ["unverified", "contradicted"]
    assert (first.is_supported, first.supporting_chunk_ids, first.evidence) == (False, [], [])
    assert first.fault == fault
    assert result.warnings == [f"statement 0 is unverified: {fault}"]
    assert (result.score, result.contradiction_rate) == (0.0, 0.5)
    assert (first.finding.label, first.finding.verdict) == ("unverified", False)
    assert first.finding.reasoning == f"{fault}. So says the chunk."


def test_a_true_quote_does_not_carry_an_invented_one(scripted: Start) -> None:
    """Each quote must stand in its chunk; the good one is still shown."""
    quotes = ((0, "Eiffel Tower stands in Paris"), (1, "It is the tallest in Europe"))
    reply = changed("statements.0", claim(0, PARIS["statement"], "supported", *quotes))
    (first, _) = grade(scripted(reply)).statements

    assert (first.verdict, first.is_supported) == ("unverified", False)
    assert [quote.text for quote in first.evidence] == ["Eiffel Tower stands in Paris"]
    assert "the quote 'It is the tallest in Europe' does not occur in chunk 1" in str(first.fault)


def test_a_statement_of_ones_own_is_not_searched_for_its_quotes() -> None:
    """Only a judge's reply is checked against the chunks of its call."""
    made = ClaimedQuote(chunk_id=7, quote="whatever")

    assert NoClaimSentence(sentence_id=0, reason=" ").reason == " "
    assert made == ClaimedQuote.model_validate({"chunk_id": 7, "quote": "whatever"})


def test_numbers_of_an_empty_result_are_nought() -> None:
    """No statements are not all of them contradicted, and no sentences not all covered."""
    result = AuditedFaithfulnessResult(statements=[])

    assert (result.contradiction_rate, result.coverage, result.score) == (0.0, 0.0, 0.0)
    own: dict[str, Any] = {"statement": "s", "sentence_ids": [1], "is_supported": False}
    statements = [
        AuditedStatement(**own, verdict=verdict)
        for verdict in ("contradicted", "not_in_context", "unverified")
    ]
    result = AuditedFaithfulnessResult(statements=statements, sentence_count=4)
    assert result.tallies == {"contradicted": (1, 3), "sentences covered": (1, 4)}


def test_numbers_that_are_missing_are_told_in_order() -> None:
    """Those of a supported statement alone: what is contradicted lacks them anyway."""
    numbers: dict[str, Any] = {"statement": "In 1923, 7 of 45 came.", "evidence": []}
    supported = AuditedStatement(is_supported=True, verdict="supported", **numbers)
    contradicted = AuditedStatement(is_supported=False, verdict="contradicted", **numbers)

    assert supported.missing_numbers == ["1923", "45", "7"]
    assert contradicted.missing_numbers == []


def test_a_russian_statement_is_told_in_russian_why_it_is_unverified(scripted: Start) -> None:
    """The words that people read are in the statement's language; so on page and terminal."""
    reply = {
        "statements": [claim(0, "Башня стоит в Риме.", "supported", (0, "Башня стоит в Риме"))],
        "no_claim_sentences": [],
    }
    scripted(reply)
    row = {"answer": "Башня стоит в Риме.", "context": ["Башня стоит в Париже."]}
    run = evaluate([row], [AuditedFaithfulness], "openai/m")
    finding = run.outcomes[0].findings[0]

    assert finding.label == "unverified"
    assert finding.reasoning == (
        "судья отвечает «подтверждено», но цитаты «Башня стоит в Риме» нет во фрагменте 0. "
        "So says the chunk."
    )
    assert run.outcomes[0].score == 0.0
    assert "1 warning" in str(run.summary())


def test_an_unverified_reply_is_taken_from_the_cache_too(scripted: Start, tmp_path: Path) -> None:
    """A second run asks nothing and says the same."""
    judge = scripted(FAULTS["an invented quote"][0])
    runs = [
        evaluate([EIFFEL], [AuditedFaithfulness], "openai/m", cache=tmp_path / "cache.sqlite")
        for _ in range(2)
    ]

    assert len(judge.requests) == 2
    assert runs[0].outcomes[0].score == runs[1].outcomes[0].score == 0.0


def test_sentences_without_a_claim_lower_coverage_only(scripted: Start) -> None:
    """They stand in the result with the judge's reason, and do not count in the score."""
    scripted({"statements": [PARIS], "no_claim_sentences": [{"sentence_id": 1, "reason": "Hi."}]})
    row = {**EIFFEL, "answer": "The Eiffel Tower stands in Paris. Hope this helps!"}
    result = AuditedFaithfulness.grade(**row, client="openai/m")

    assert result.score == 1.0
    assert result.coverage == 0.5
    assert result.no_claim_sentences[0].reason == "Hi."


def test_numbers_that_the_quotes_lack_are_warned_of(scripted: Start) -> None:
    """A supported statement whose number stands in no quote is flagged."""
    number = claim(1, "It was completed in 1923.", "supported", (1, "It was completed"))
    scripted({"statements": [PARIS, number], "no_claim_sentences": []})
    result = AuditedFaithfulness.grade(**EIFFEL, client="openai/m")

    assert result.warnings == ["statement 1 is supported, but its quotes lack 1923"]


def test_an_answer_without_sentences_needs_no_call(scripted: Start) -> None:
    """Signs alone claim nothing; an empty answer is refused as everywhere."""
    judge = scripted(GOOD)

    assert (
        AuditedFaithfulness.grade(answer="!!!", context=["c"], client="openai/m").statements == []
    )
    with pytest.raises(NotScorableError):
        AuditedFaithfulness.grade(answer=" ", context=["c"], client="openai/m")
    assert judge.requests == []


def test_a_run_adds_up_what_results_count(scripted: Start) -> None:
    """The summary shows contradictions and coverage of all rows."""
    scripted(GOOD)
    run = evaluate([EIFFEL, EIFFEL | {"question": "?"}], [AuditedFaithfulness], "openai/m")
    of_grader = run.summary().graders["faithfulness_audited"]

    assert of_grader.tallies == {"contradicted": (2, 4), "sentences covered": (4, 4)}
    assert "contradicted 2 of 4; sentences covered 4 of 4" in str(run.summary())


def test_sync_and_async_are_the_same(scripted: Start) -> None:
    """Both ways give one result."""
    scripted(None)

    async def graded() -> AuditedFaithfulnessResult:
        return await AuditedFaithfulness.agrade(**EIFFEL, client="openai/m")

    assert asyncio.run(graded()) == AuditedFaithfulness.grade(**EIFFEL, client="openai/m")


def test_a_result_survives_a_file() -> None:
    """Written as JSON and read again it is the same, scores included."""
    result = AuditedFaithfulnessResult.model_validate(
        {
            "statements": [
                {
                    "statement": "s",
                    "is_supported": True,
                    "verdict": "supported",
                    "evidence": [{"chunk_id": 0, "start": 0, "end": 1, "text": "s"}],
                }
            ],
            "sentence_count": 1,
        }
    )

    assert AuditedFaithfulnessResult.model_validate_json(result.model_dump_json()) == result


def test_a_template_must_show_what_the_reply_names() -> None:
    """Sentence ids in the reply need sentences in the prompt."""
    with pytest.raises(PromptError, match="refers to sentences by id, but the template does not"):
        AuditedGrader("{{ answer }}")
    with pytest.raises(PromptError, match="refers to statements by id"):
        CitationGrader("{% for s in sentences %}{{ s.id }}{% endfor %}")


@pytest.mark.parametrize(
    ("quote", "told", "elsewhere"),
    [
        ("It was old.", "copy the chunk's own words", True),
        ("It was new.", "copy the chunk's own words", False),
        ("It", "quote at least", False),
    ],
)
def test_a_quote_of_another_chunk_is_told_where_it_is(
    quote: str, told: str, elsewhere: bool
) -> None:
    """Only where its own chunk has it not; too short it is everywhere."""
    chunks = ["It stands in Paris today.", "Cats purr.", "It was old."]
    facts = {"chunk_count": 3, "chunks": chunks}
    with pytest.raises(ValidationError) as caught:
        ClaimedQuote.model_validate({"chunk_id": 0, "quote": quote}, context=facts)

    assert told in str(caught.value)
    assert ("it occurs in chunk 2" in str(caught.value)) is elsewhere
    last = {**facts, "is_last_attempt": True}
    assert ClaimedQuote.model_validate({"chunk_id": 0, "quote": quote}, context=last).quote == quote


def test_a_statement_of_several_sentences_spans_them_all() -> None:
    """From the first to the last, whatever the order in which the judge named them."""
    sentences = ["It is in Paris.", "It is old.", "It is tall."]
    spans = split_sentences(" ".join(sentences))
    given = AuditedClaim(
        sentence_ids=[2, 1, 2],
        statement="It is old and tall.",
        evidence=[
            ClaimedQuote(chunk_id=1, quote="very old and tall"),
            ClaimedQuote(chunk_id=1, quote="old and tall"),
        ],
        verdict="supported",
    )
    chunks = ["No.", "It is very old and tall."]
    found = _statement(given, None, chunks, spans)
    denied = _statement(given.model_copy(update={"verdict": "contradicted"}), None, chunks, spans)
    faulty = _statement(given, "It is odd", chunks, spans)

    assert (found.sentence_ids, found.sentence_id) == ([2, 1], 1)
    assert (found.start, found.end) == (spans[1].start, spans[2].end)
    assert (found.supporting_chunk_ids, found.is_supported, found.verdict) == (
        [1],
        True,
        "supported",
    )
    assert [quote.text for quote in found.evidence] == ["very old and tall", "old and tall"]
    assert (denied.supporting_chunk_ids, denied.is_supported) == ([], False)
    assert (denied.verdict, len(denied.evidence)) == ("contradicted", 2)
    assert (faulty.verdict, faulty.fault, faulty.is_supported) == ("unverified", "It is odd", False)
    assert faulty.supporting_chunk_ids == []
