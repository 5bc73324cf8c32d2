"""The audited grader: a judge must show its work, and code checks the work."""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import AuditedFaithfulness, AuditedFaithfulnessResult, FaithfulnessResult
from rag_evals.catalog import grader_from_file
from rag_evals.errors import (
    CanaryError,
    ConfigurationError,
    JudgeOutputError,
    NotScorableError,
    PromptError,
)
from rag_evals.judge.ask import DEFAULT_REASKS
from rag_evals.run import evaluate
from rag_evals.score_citations import CitationGrader
from rag_evals.score_faithfulness_audited import AuditedGrader
from rag_evals.testing import Answer, JudgeRequest, Script, ScriptedJudge
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]


def claim(
    number: int, text: str, verdict: str = "supported", *quotes: tuple[int, str]
) -> dict[str, Any]:
    """Return one claim as a judge would send it."""
    return {
        "sentence_ids": [number],
        "statement": text,
        "reasoning": "So says the chunk.",
        "evidence": [{"chunk_id": chunk_id, "quote": quote} for chunk_id, quote in quotes],
        "verdict": verdict,
    }


PARIS = claim(
    0, "The Eiffel Tower stands in Paris.", "supported", (0, "Eiffel Tower stands in Paris")
)
WRONG_YEAR = claim(
    1,
    "The Eiffel Tower was completed in 1923.",
    "contradicted",
    (1, "It was completed in 1889."),
)
GOOD: dict[str, Any] = {"statements": [PARIS, WRONG_YEAR], "no_claim_sentences": []}


def changed(place: str, value: Any) -> dict[str, Any]:
    """Return the good reply with one part of it changed."""
    reply = copy.deepcopy(GOOD)
    part: Any = reply
    *path, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    for step in path:
        part = part[step]
    part[last] = value
    return reply


def grade(judge: ScriptedJudge, grader: Any = AuditedFaithfulness) -> AuditedFaithfulnessResult:
    """Grade the Eiffel Tower row."""
    result = grader.grade(**EIFFEL, client="openai/gpt-4o-mini")
    assert isinstance(result, AuditedFaithfulnessResult)
    return result


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
    assert result.flip_rate is None


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
        "does not occur in chunk 1; it stands in chunk 0",
    ),
    "a chunk that does not exist": (
        changed("statements.0.evidence.0.chunk_id", 99),
        "chunk id 99 does not exist; ids run from 0 to 1",
    ),
    "a quote that shows nothing": (
        changed("statements.0.evidence.0.quote", "Paris"),
        "the quote 'Paris' is too short to show anything",
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


def test_a_judge_that_cannot_show_its_work_fails_the_row(scripted: Start) -> None:
    """After the last attempt an invented quote is an error, never a repaired result."""
    judge = scripted(FAULTS["an invented quote"][0])

    with pytest.raises(JudgeOutputError, match="does not occur in chunk 0"):
        grade(judge)
    assert len(judge.requests) == 1 + DEFAULT_REASKS


def test_sentences_without_a_claim_lower_coverage_only(scripted: Start) -> None:
    """They stand in the result with the judge's reason, and do not count in the score."""
    scripted({"statements": [PARIS], "no_claim_sentences": [{"sentence_id": 1, "reason": "Hi."}]})
    result = AuditedFaithfulness.grade(**EIFFEL, client="openai/m")

    assert result.score == 1.0
    assert result.coverage == 0.5
    assert result.no_claim_sentences[0].reason == "Hi."


def test_what_counts_against_the_score_is_a_switch(scripted: Start) -> None:
    """Ours: not in the context is not supported. deepeval's: only a contradiction counts."""
    scripted(
        {"statements": [PARIS, claim(1, "It is old.", "not_in_context")]}
        | {"no_claim_sentences": []}
    )
    lenient = AuditedFaithfulness.with_options(counts_against="contradicted")

    assert AuditedFaithfulness.grade(**EIFFEL, client="openai/m").score == 0.5
    result = lenient.grade(**EIFFEL, client="openai/m")
    assert (result.score, result.contradiction_rate) == (1.0, 0.0)
    assert result.unsupported[0].statement == "It is old."


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


def sampling(*rounds: tuple[str, str]) -> Callable[[JudgeRequest], Answer]:
    """Answer the first call well, then each round with one verdict for each statement."""
    evidence = {
        "supported": [{"chunk_id": 0, "quote": "The Eiffel Tower stands in Paris."}],
        "contradicted": [{"chunk_id": 1, "quote": "It was completed in 1889."}],
        "not_in_context": [],
    }
    left = list(rounds)

    def answer(request: JudgeRequest) -> Answer:
        if not request.statements:
            return GOOD
        verdicts = left.pop(0)
        return {
            "verdicts": [
                {
                    "statement_id": number,
                    "reasoning": f"It is {verdict}.",
                    "evidence": evidence[verdict],
                    "verdict": verdict,
                }
                for number, verdict in enumerate(verdicts)
            ]
        }

    return answer


def test_samples_are_put_to_the_vote(scripted: Start) -> None:
    """Verdicts are asked k times of numbered statements; the majority counts, doubts are shown."""
    judge = scripted(
        sampling(
            ("supported", "contradicted"),
            ("supported", "not_in_context"),
            ("supported", "contradicted"),
        )
    )
    result = grade(judge, AuditedFaithfulness.with_options(samples=3))

    assert len(judge.requests) == 4
    assert judge.requests[1].statements == [s["statement"] for s in GOOD["statements"]]
    assert judge.requests[1].answer is None
    assert judge.requests[1].body == judge.requests[3].body
    assert [s.verdict for s in result.statements] == ["supported", "contradicted"]
    assert [s.agreement for s in result.statements] == [1.0, pytest.approx(2 / 3)]
    assert result.statements[1].reasoning == "It is contradicted."
    assert result.flip_rate == 0.5
    assert result.tallies["flipped"] == (1, 2)


def test_a_tie_is_decided_against_the_answer(scripted: Start) -> None:
    """Of equally frequent verdicts the one that is worst for the answer counts."""
    scripted(sampling(("supported", "not_in_context"), ("not_in_context", "contradicted")))
    result = AuditedFaithfulness.with_options(samples=2).grade(**EIFFEL, client="openai/m")

    assert [s.verdict for s in result.statements] == ["not_in_context", "contradicted"]


def test_samples_of_one_statement_are_calls_of_their_own() -> None:
    """A cache tells them apart by their index; all else is equal."""
    from rag_evals import Sample
    from rag_evals.audit import AuditReply
    from rag_evals.judge import JudgeCall, JudgeReply

    flow = AuditedFaithfulness.with_options(samples=3).flow(Sample(**EIFFEL))
    next(flow)
    calls = flow.send([JudgeReply(AuditReply.model_validate(GOOD))])

    assert [call.sample_index for call in calls if isinstance(call, JudgeCall)] == [0, 1, 2]
    assert len({str(call.messages) for call in calls if isinstance(call, JudgeCall)}) == 1


def test_samples_are_asked_by_the_users_own_criteria(scripted: Start) -> None:
    """A prompt file's criteria, settings, language and model count in the second round too."""
    judge = scripted(None)
    Path("strict.jinja").write_text(
        "---\nresponse_model: faithfulness_audited\nsettings: {temperature: 0.7}\n---\n"
        '{% extends "score_faithfulness_audited.jinja" %}'
        "{% block criteria %}MY CRITERIA{% endblock %}"
    )
    strict = grader_from_file(Path("strict.jinja"))
    assert isinstance(strict, AuditedGrader)
    result = strict.with_options(samples=2).grade(**EIFFEL, client="openai/m")

    assert result.statements[0].agreement == 1.0
    first, second, third = judge.requests
    assert "MY CRITERIA" in first.instructions
    assert "Go through the numbered sentences" in first.instructions
    assert "MY CRITERIA" in second.instructions
    assert "has been broken into numbered statements" in second.instructions
    assert second.body["temperature"] == third.body["temperature"] == 0.7


def test_samples_are_asked_in_the_graders_language(scripted: Start) -> None:
    """Both rounds are in Russian where the grader is."""
    judge = scripted(None)
    russian = AuditedFaithfulness.with_language("ru").with_options(samples=2)
    row = {"answer": "Башня стоит в Париже.", "context": ["Башня стоит в Париже."]}
    russian.grade(**row, client="openai/m")  # type: ignore[arg-type]  # a table's row

    assert all("Вы проверяете" in request.instructions for request in judge.requests)
    assert "Ответ уже разбит" in judge.requests[2].instructions


def test_own_words_without_a_task_are_sampled_with_ours(scripted: Start) -> None:
    """A prompt that cannot be told to skip the splitting leaves the second round to ours."""
    judge = scripted(None)
    grader = AuditedGrader("Check the answer.").with_options(samples=2)
    grader.grade(**EIFFEL, client="openai/m")

    assert judge.requests[0].instructions == "Check the answer."
    assert "has been broken into numbered statements" in judge.requests[1].instructions


def test_a_template_must_show_what_the_reply_names() -> None:
    """Sentence ids in the reply need sentences in the prompt."""
    with pytest.raises(PromptError, match="names sentences by id, but the template does not"):
        AuditedGrader("{{ answer }}")
    with pytest.raises(PromptError, match="names statements by id"):
        CitationGrader("{% for s in sentences %}{{ s.id }}{% endfor %}")


@pytest.mark.parametrize(
    ("verdicts", "fault"),
    [
        ([0], "statements [1] have no verdict"),
        ([0, 1, 5], "statements [5] do not exist"),
        ([0, 1, 1], "statements [1] have two verdicts"),
    ],
)
def test_every_statement_gets_one_verdict(scripted: Start, verdicts: list[int], fault: str) -> None:
    """A sample that leaves one out, repeats one or invents one is asked again."""
    wrong = {
        "verdicts": [
            {"statement_id": n, "reasoning": "r", "evidence": [], "verdict": "not_in_context"}
            for n in verdicts
        ]
    }
    good = sampling(("supported", "contradicted"), ("supported", "contradicted"))
    judge = scripted(
        lambda request: wrong if request.number == 1 else good(request)  # sync: in order
    )
    grade(judge, AuditedFaithfulness.with_options(samples=2))

    assert fault in str(judge.requests[2].messages[-1]["content"])


def canary_judge(verdict: str) -> Callable[[JudgeRequest], Answer]:
    """Answer well, and say `verdict` of the sentence that is not the answer's."""

    def answer(request: JudgeRequest) -> Answer:
        own = ["The Eiffel Tower stands in Paris.", "It was completed in 1923."]
        reply: dict[str, Any] = {"statements": [], "no_claim_sentences": []}
        for number, sentence in enumerate(request.sentences):
            if sentence in own:
                made = copy.deepcopy(GOOD["statements"][own.index(sentence)])
                reply["statements"].append(made | {"sentence_ids": [number]})
            elif verdict == "no_claim":
                reply["no_claim_sentences"].append({"sentence_id": number, "reason": "r"})
            else:
                quotes = [] if verdict == "not_in_context" else [(0, "The Eiffel Tower stands")]
                reply["statements"].append(claim(number, sentence, verdict, *quotes))
        return reply

    return answer


@pytest.mark.parametrize("verdict", ["not_in_context", "contradicted", "no_claim"])
def test_a_canary_is_planted_and_taken_out(scripted: Start, verdict: str) -> None:
    """The judge sees one sentence more; the result reads as if it had not been there."""
    judge = scripted(canary_judge(verdict))
    result = grade(judge, AuditedFaithfulness.with_options(canary=True))

    assert len(judge.requests[0].sentences) == 3
    assert [s.sentence_ids for s in result.statements] == [[0], [1]]
    assert (result.score, result.sentence_count, result.coverage) == (0.5, 2, 1.0)
    assert result.no_claim_sentences == []
    assert result.canary == verdict
    assert len(result.warnings) == (verdict == "no_claim")


def test_a_judge_that_supports_the_canary_fails_the_row(scripted: Start) -> None:
    """None of its verdicts count; in a run the row is failed, and named so."""
    scripted(canary_judge("supported"))
    grader = AuditedFaithfulness.with_options(canary=True)

    with pytest.raises(CanaryError, match="supports a sentence that was made up"):
        grader.grade(**EIFFEL, client="openai/m")
    run = evaluate([EIFFEL], [grader], "openai/m")
    assert run.outcomes[0].error is not None
    assert (run.outcomes[0].status, run.outcomes[0].error.type) == ("failed", "CanaryError")


def test_the_canary_may_not_be_mixed_with_other_sentences(scripted: Start) -> None:
    """A claim of the planted sentence and another could not be taken out again."""
    honest = canary_judge("not_in_context")

    def mixed(request: JudgeRequest) -> Answer:
        reply = honest(request)
        assert isinstance(reply, dict)
        if not request.is_reask:
            reply["statements"] = [
                made | {"sentence_ids": [0, 1, 2]} for made in reply["statements"]
            ]
        return reply

    judge = scripted(mixed)
    result = grade(judge, AuditedFaithfulness.with_options(canary=True))

    assert "statements of its own" in str(judge.requests[1].messages[-1]["content"])
    assert len(result.statements) == 2


def test_the_canary_stands_anywhere_and_speaks_the_answers_language(scripted: Start) -> None:
    """Its place varies from row to row; a Russian answer gets a Russian sentence."""
    judge = scripted(
        lambda request: {
            "statements": [],
            "no_claim_sentences": [
                {"sentence_id": n, "reason": "r"} for n in range(len(request.sentences))
            ],
        }
    )
    grader = AuditedFaithfulness.with_options(canary=True)
    places = set()
    for number in range(12):
        answer = f"Башня {number} стоит в Париже. Она высокая."
        grader.grade(answer=answer, context=["c"], client="openai/m")
        planted = [s for s in judge.requests[-1].sentences if "Башня" not in s and "Она" not in s]
        assert len(planted) == 1
        assert "а" in planted[0]
        places.add(judge.requests[-1].sentences.index(planted[0]))

    assert places == {0, 1, 2}


def test_a_run_adds_up_what_results_count(scripted: Start) -> None:
    """Contradictions, coverage and flips of all rows stand in the summary."""
    scripted(GOOD)
    run = evaluate([EIFFEL, EIFFEL | {"question": "?"}], [AuditedFaithfulness], "openai/m")
    of_grader = run.summary().graders["faithfulness_audited"]

    assert of_grader.tallies == {"contradicted": (2, 4), "sentences covered": (4, 4)}
    assert "contradicted 2 of 4; sentences covered 4 of 4" in str(run.summary())


def test_sync_and_async_are_the_same(scripted: Start) -> None:
    """Samples side by side give what samples one after the other give."""
    scripted(None)
    grader = AuditedFaithfulness.with_options(samples=3)

    async def graded() -> AuditedFaithfulnessResult:
        return await grader.agrade(**EIFFEL, client="openai/m")

    assert asyncio.run(graded()) == grader.grade(**EIFFEL, client="openai/m")


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


@pytest.mark.parametrize(
    "options", [{"samples": 0}, {"counts_against": "all"}], ids=["samples", "counts_against"]
)
def test_an_option_that_does_not_exist_is_refused(options: dict[str, Any]) -> None:
    """The message has the value."""
    with pytest.raises(ConfigurationError, match="is 0|is 'all'"):
        AuditedFaithfulness.with_options(**options)


def test_options_make_another_grader() -> None:
    """Each option is part of the fingerprint; the grader they came from stays as it is."""
    changed_ones = [
        AuditedFaithfulness.with_options(samples=2),
        AuditedFaithfulness.with_options(canary=True),
        AuditedFaithfulness.with_options(counts_against="contradicted"),
        AuditedFaithfulness,
    ]

    assert len({grader.fingerprint() for grader in changed_ones}) == 4
    assert AuditedFaithfulness.samples == 1
