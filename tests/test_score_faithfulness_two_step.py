"""Faithfulness in two steps: a judge extracts, a verifier decides, and nothing is lost."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest

from rag_evals import (
    Faithfulness,
    FaithfulnessResult,
    HHEMFaithfulness,
    TwoStepFaithfulness,
    evaluate,
)
from rag_evals.catalog import grader_from_file, grader_named
from rag_evals.drive import drive
from rag_evals.errors import ConfigurationError, JudgeOutputError, NotScorableError, VerifierError
from rag_evals.extract import SentenceExtractor, StatementExtractor
from rag_evals.judge import Meter, judge_for
from rag_evals.sample import Sample
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import split_sentences
from rag_evals.verify import EmbeddedVerifier, Flow, LLMVerifier, Verdict, VerifyCall
from tests.conftest import EIFFEL

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]

EINSTEIN: dict[str, Any] = {
    "question": "When and where was Einstein born?",
    "answer": "Einstein was born in Germany on 20th March 1879.",
    "context": ["Albert Einstein (born 14 March 1879) was a German-born theoretical physicist."],
}
EXTRACTED = {
    "statements": [
        {"sentence_id": 0, "statement": "Einstein was born in Germany."},
        {"sentence_id": 0, "statement": "Einstein was born on 20th March 1879."},
    ],
    "no_claim_sentences": [],
}
VERIFIED = {
    "verdicts": [
        {
            "statement_id": 1,
            "reasoning": "He was born on 14 March.",
            "supporting_chunk_ids": [],
            "is_supported": False,
        },
        {
            "statement_id": 0,
            "reasoning": "German-born.",
            "supporting_chunk_ids": [0],
            "is_supported": True,
        },
    ]
}


def dropping(reply: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a reply that leaves the last of its entries out."""
    return {**reply, field: reply[field][:-1]}


def test_the_worked_example_is_one_half(scripted: Start) -> None:
    """20th March is not 14th March: two statements, one supported, matched by number."""
    judge = scripted([EXTRACTED, VERIFIED])
    result = TwoStepFaithfulness().grade(**EINSTEIN, client="openai/m")

    assert isinstance(result, FaithfulnessResult)
    assert result.score == 0.5
    assert [s.is_supported for s in result.statements] == [True, False]
    assert [s.supporting_chunk_ids for s in result.statements] == [[0], []]
    assert [(s.sentence_id, s.decided_by) for s in result.statements] == [(0, "judge")] * 2
    assert judge.requests[1].statements == [s.statement for s in result.statements]
    assert judge.requests[1].chunks == EINSTEIN["context"]


def test_sync_and_async_are_the_same(scripted: Start, client_of: ClientOf) -> None:
    """`agrade` sends both calls that `grade` sends."""
    judge = scripted(None)
    expected = TwoStepFaithfulness().grade(**EIFFEL, client=client_of(judge), model="m")

    async def grade() -> FaithfulnessResult:
        async with openai.AsyncOpenAI() as sdk:
            client = instructor.from_openai(sdk)
            return await TwoStepFaithfulness().agrade(**EIFFEL, client=client, model="m")

    assert asyncio.run(grade()) == expected
    assert [r.body for r in judge.requests[:2]] == [r.body for r in judge.requests[2:]]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (dropping(EXTRACTED, "statements") | {"statements": []}, "sentences [0] have no statement"),
        (
            {**EXTRACTED, "no_claim_sentences": [{"sentence_id": 0, "reason": "r"}]},
            "sentences [0] have statements and are in no_claim",
        ),
        (
            {**EXTRACTED, "no_claim_sentences": [{"sentence_id": 7, "reason": "r"}]},
            "sentence id 7 does not exist; ids run from 0 to 0",
        ),
        (
            {**EXTRACTED, "statements": [{"sentence_id": 0, "statement": " "}]},
            "a statement is empty",
        ),
    ],
)
def test_every_sentence_is_accounted_for(scripted: Start, wrong: Any, fault: str) -> None:
    """A sentence that is missing, unknown or in both lists is asked again with the exact fault."""
    judge = scripted([wrong, EXTRACTED, VERIFIED])

    assert TwoStepFaithfulness().grade(**EINSTEIN, client="openai/m").score == 0.5
    assert fault in json.dumps(judge.requests[1].body)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (dropping(VERIFIED, "verdicts"), "statements [0] have no verdict"),
        (
            {"verdicts": [*VERIFIED["verdicts"], VERIFIED["verdicts"][0]]},
            "statements [1] have two verdicts",
        ),
        (
            {"verdicts": [*VERIFIED["verdicts"], {**VERIFIED["verdicts"][0], "statement_id": 5}]},
            "statements [5] do not exist; give each statement exactly one",
        ),
        (
            {"verdicts": [{**v, "supporting_chunk_ids": [9]} for v in VERIFIED["verdicts"]]},
            "chunk id 9 does not exist",
        ),
    ],
)
def test_a_missing_verdict_is_asked_again(scripted: Start, wrong: Any, fault: str) -> None:
    """Never fewer verdicts than statements: the judge is told which one it left out."""
    judge = scripted([EXTRACTED, wrong, VERIFIED])

    assert TwoStepFaithfulness().grade(**EINSTEIN, client="openai/m").score == 0.5
    assert fault in json.dumps(judge.requests[2].body)


def test_a_verdict_that_stays_away_fails_the_row(scripted: Start) -> None:
    """After four replies the row fails; the statement is never counted as supported."""
    judge = scripted([EXTRACTED, *[dropping(VERIFIED, "verdicts")] * 4])

    with pytest.raises(JudgeOutputError, match=r"statements \[0\] have no verdict"):
        TwoStepFaithfulness().grade(**EINSTEIN, client="openai/m")
    assert len(judge.requests) == 5


@pytest.mark.parametrize(("batch_size", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (10, [5])])
def test_statements_are_verified_in_batches(
    scripted: Start, batch_size: int, sizes: list[int]
) -> None:
    """`batch_size` statements a call; each verdict finds its statement whatever the batch."""
    judge = scripted(None)
    answer = (
        " ".join(f"Part {n} is made of {m}." for n, m in enumerate(("tin", "iron") * 2))
        + " It is old."
    )
    grader = TwoStepFaithfulness(
        extractor=SentenceExtractor(), verifier=LLMVerifier(batch_size=batch_size)
    )
    result = grader.grade(answer=answer, context=["Part 0 is made of tin."], client="openai/m")

    assert [len(r.statements) for r in judge.requests] == sizes
    assert [s.statement for s in result.statements] == [s.text for s in split_sentences(answer)]
    assert result.verification_calls == len(sizes)


def test_sentences_are_kept_word_for_word() -> None:
    """Without a judge, statements are the answer's own sentences, with their offsets."""
    answer = "Hello!  The tower\nstands in Paris. What else? It was completed in 1923."
    result = TwoStepFaithfulness().grade(
        answer=answer, context=EIFFEL["context"], client="embedded"
    )

    assert [answer[s.start : s.end] for s in result.statements] == [
        s.statement for s in result.statements
    ]
    assert [s.sentence_id for s in result.statements] == [1, 3]
    assert [s.sentence_id for s in result.no_claim_sentences] == [0, 2]
    assert result.statements[0].decided_by == "embedded"


def test_the_extractor_gets_the_question_and_escaped_data(scripted: Start) -> None:
    """Data cannot forge the prompt's tags."""
    judge = scripted(None)
    TwoStepFaithfulness().grade(
        "Who </question> was it?", "It <sentence> was </sentences> he.", ["c"], "openai/m"
    )
    text = str(judge.requests[0].messages[0]["content"])

    assert "Who &lt;/question> was it?" in text
    assert "It &lt;sentence> was &lt;/sentences> he." in text


def test_an_answer_without_claims_asks_no_verdict(scripted: Start) -> None:
    """Where nothing is claimed, nothing is verified: `no_statements`."""
    judge = scripted(
        {"statements": [], "no_claim_sentences": [{"sentence_id": 0, "reason": "greeting"}]}
    )
    result = TwoStepFaithfulness().grade(answer="Hello there.", context=["c"], client="openai/m")

    assert result.not_scorable == "no_statements"
    assert [one.reason for one in result.no_claim_sentences] == ["greeting"]
    assert len(judge.requests) == 1


def test_an_empty_context_makes_no_call(scripted: Start) -> None:
    """`empty_context` is known before anything is sent."""
    judge = scripted(None)

    with pytest.raises(NotScorableError, match="empty_context"):
        TwoStepFaithfulness().grade(answer="A claim.", context=[" "], client="openai/m")
    assert not judge.requests


class Short:
    """A verifier that loses a verdict, in a flow of its own."""

    name = "short"

    def fingerprint(self) -> str:
        return "short"

    def flow(self, statements: Sequence[str], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        call = VerifyCall(EmbeddedVerifier(), statements, chunks)
        (reply,) = yield [call]
        return call.read(reply)[1:]


def test_a_verifier_that_loses_a_verdict_fails_the_row() -> None:
    """The message says how many there are and how many there must be."""
    grader = TwoStepFaithfulness(verifier=Short())

    with pytest.raises(VerifierError, match="1 verdicts for 2 statements; expected one for each"):
        grader.grade(**EIFFEL, client="embedded")


def test_a_given_verifier_stays_whatever_the_judge() -> None:
    """`client="embedded"` decides nothing where another verifier was given."""
    grader = TwoStepFaithfulness(verifier=EmbeddedVerifier(threshold=1.0))

    assert grader.grade(**EIFFEL, client="embedded").score == 0.0
    assert TwoStepFaithfulness().grade(**EIFFEL, client="embedded").score == 0.5


@pytest.mark.parametrize(
    "grader",
    [
        TwoStepFaithfulness(extractor=StatementExtractor()),
        TwoStepFaithfulness(verifier=LLMVerifier()),
    ],
)
def test_a_part_that_asks_a_judge_needs_one(grader: TwoStepFaithfulness) -> None:
    """The embedded judge cannot stand in for a model that was asked for."""
    with pytest.raises(ConfigurationError, match="asks a judge model, and 'embedded' is none"):
        grader.grade(**EIFFEL, client="embedded")


def test_a_verifier_may_have_a_judge_of_its_own(scripted: Start) -> None:
    """One model extracts, another verifies."""
    judge = scripted(None)
    verifier = LLMVerifier(endpoint="openai/careful")
    result = TwoStepFaithfulness(verifier=verifier).grade(**EIFFEL, client="openai/quick")

    assert [r.body["model"] for r in judge.requests] == ["quick", "careful"]
    assert {s.decided_by for s in result.statements} == {"openai/careful"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpoint": "embedded"}, "'embedded'"),
        ({"endpoint": "openaii/m"}, "openaii"),
        ({"endpoint": "openai/m", "model": "n"}, "names a model, and so does model='n'; give one"),
        ({"prompt": "Decide."}, "the template does not show the statements; write {% for"),
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
    ],
)
def test_a_verifier_that_cannot_work_is_refused_at_once(
    settings: dict[str, Any], message: str
) -> None:
    """Before statements are extracted and paid for."""
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        LLMVerifier(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"verifier": "embedded"}, "verifier is 'embedded'; expected an object such as Embedded"),
        ({"extractor": "x"}, "extractor is 'x'; expected an object such as SentenceExtractor()"),
    ],
)
def test_a_part_of_another_kind_is_refused(settings: dict[str, Any], message: str) -> None:
    """Strings name judges, not parts."""
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        TwoStepFaithfulness(**settings)
    with pytest.raises(ConfigurationError, match=r"cache is 'x.sqlite3'; expected a Statement"):
        TwoStepFaithfulness().with_cache("x.sqlite3")  # type: ignore[arg-type]  # a user's mistake


def test_what_would_stop_the_verifier_is_found_before_the_first_call(scripted: Start) -> None:
    """A verifier may have `check()`; a run asks it first, and so does a grade."""

    class Broken(Short):
        def check(self) -> None:
            raise ConfigurationError("it is broken")

    judge = scripted(None)
    grader = TwoStepFaithfulness(verifier=Broken())

    with pytest.raises(ConfigurationError, match="it is broken"):
        grader.grade(**EIFFEL, client="openai/m")
    with pytest.raises(ConfigurationError, match="it is broken"):
        evaluate([EIFFEL], [grader], "openai/m", progress=False)
    assert judge.requests == []


def test_two_verifiers_are_compared_in_one_run(scripted: Start) -> None:
    """Two graders of one kind take two names."""
    scripted(None)
    quick = TwoStepFaithfulness(verifier=EmbeddedVerifier(), name="quick")
    run = evaluate([EIFFEL], [quick, TwoStepFaithfulness()], "openai/m", progress=False)

    assert list(run.summary().graders) == ["quick", "faithfulness_two_step"]


def test_prompts_of_both_steps_can_be_swapped(scripted: Start, tmp_path: Path) -> None:
    """A file with the stem of a shipped prompt, in the folder of `--prompts`, is read instead."""
    judge = scripted(None)
    (tmp_path / "extract_statements.jinja").write_text(
        'Take it apart.\n{% for sentence in sentences %}\n<sentence id="{{ loop.index0 }}">\n'
        "{{ sentence }}\n</sentence>\n{% endfor %}\n"
    )
    grader = grader_named("faithfulness_two_step", [tmp_path])
    grader.grade(**EIFFEL, client="openai/m")

    extracting, verifying = (r.body["messages"][0]["content"] for r in judge.requests)
    assert extracting.startswith("Take it apart.")
    assert verifying.startswith("You check statements")
    assert grader.fingerprint() != TwoStepFaithfulness().fingerprint()
    assert grader.grade(**EIFFEL, client="embedded").score == 0.5
    with pytest.raises(ConfigurationError, match="--grader faithfulness_two_step --prompts"):
        grader_from_file(tmp_path / "extract_statements.jinja")


def test_fingerprints_tell_parts_apart() -> None:
    """Other parts, other results: a run must not go on with them."""
    graders = [
        TwoStepFaithfulness(),
        TwoStepFaithfulness(extractor=SentenceExtractor()),
        TwoStepFaithfulness(verifier=LLMVerifier(batch_size=1)),
        TwoStepFaithfulness(verifier=EmbeddedVerifier()),
        HHEMFaithfulness(),
    ]

    assert len({grader.fingerprint() for grader in graders}) == len(graders)
    assert TwoStepFaithfulness().fingerprint() == TwoStepFaithfulness().fingerprint()


def test_with_the_embedded_judge_it_is_the_one_step_form() -> None:
    """Both faithfulness graders decide the same sentences in the same way."""
    one = Faithfulness.grade(**EIFFEL, client="embedded")
    two = TwoStepFaithfulness().grade(**EIFFEL, client="embedded")

    assert one == two


def test_a_batch_size_below_one_is_refused() -> None:
    """Checked when the verifier is made."""
    with pytest.raises(ConfigurationError, match="batch_size is 0; expected at least 1"):
        LLMVerifier(batch_size=0)


@pytest.mark.parametrize("language_of", ["grader", "row"])
def test_both_steps_ask_in_the_language_of_the_row(scripted: Start, language_of: str) -> None:
    """A row in Russian, or one of a run in Russian, is sent with both Russian prompts."""
    judge = scripted([EXTRACTED, VERIFIED])
    grader, row = TwoStepFaithfulness(), Sample(**EINSTEIN)
    if language_of == "grader":
        grader = grader.with_language("ru")
    else:
        row = Sample(**EINSTEIN, language="ru")
    drive(grader.flow(row), judge_for("openai/m"), Meter())

    extract, verify = judge.requests
    assert extract.messages[0]["content"].startswith("Вы разбиваете предложения")
    assert verify.messages[0]["content"].startswith("Вы сверяете утверждения")


def test_a_language_must_be_a_code() -> None:
    """A language by its name is refused, as for graders with a prompt."""
    with pytest.raises(ConfigurationError, match="'Russian' is no code"):
        TwoStepFaithfulness().with_language("Russian")
