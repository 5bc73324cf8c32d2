"""Audited faithfulness measures its judge: samples of one verdict, and a false sentence."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals import AuditedFaithfulness
from rag_evals.catalog import grader_from_file
from rag_evals.errors import CanaryError, PromptError
from rag_evals.run import evaluate
from rag_evals.score_citations import CitationGrader
from rag_evals.score_faithfulness_audited import AuditedGrader
from rag_evals.testing import JudgeRequest, Script, ScriptedJudge
from rag_evals.testing.wire import Answer
from tests.audited import GOOD, claim, grade
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]


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
    from rag_evals.core import JudgeCall, JudgeReply
    from rag_evals.score_faithfulness_audited import AuditReply

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

    with pytest.raises(CanaryError, match="supports a made-up sentence"):
        grader.grade(**EIFFEL, client="openai/m")
    run = evaluate([EIFFEL], [grader], "openai/m", max_failures="100%")
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
