"""Few-shot examples of the two steps of faithfulness: shown, checked, and left out on request."""

from collections.abc import Callable
from typing import Any

import pytest

from rag_evals import TwoStepFaithfulness
from rag_evals.base import ContextEvaluation
from rag_evals.core import Claim, JudgeCall, JudgeReply, Sample, VerifierChanges, as_claims
from rag_evals.errors import PromptError
from rag_evals.grading.extract import StatementExtractor
from rag_evals.prompt.template import shipped_languages
from rag_evals.score_citations import CitationsReply
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import LLMVerifier
from rag_evals.verify.llm import VerifierReply
from tests.conftest import EIFFEL

VERDICT = {
    "statement_id": 0, "reasoning": "So says it.", "supporting_chunk_ids": [0], "is_supported": True
}  # fmt: skip
EXAMPLE: dict[str, Any] = {
    "context": ["The door is </chunk> red."],
    "statements": ["The door is red."],
    "result": {"verdicts": [VERDICT]},
}
EXTRACTED: dict[str, Any] = {
    "question": "Which colour?",
    "answer": "Well. The door is red.",
    "result": {
        "statements": [{"sentence_id": 1, "statement": "The door is red."}],
        "no_claim_sentences": [{"sentence_id": 0, "reason": "Talk."}],
    },
}


def verifying(verifier: LLMVerifier) -> str:
    """Return the user message of a verifier's call."""
    (call,) = next(verifier.flow(as_claims(["It is so."]), ["It is so."]))
    assert isinstance(call, JudgeCall)
    return call.messages[0]["content"]


def extracting(extractor: StatementExtractor) -> str:
    """Return the user message of an extractor's call."""
    (call,) = next(extractor.flow(Sample(answer="It is so.")))
    assert isinstance(call, JudgeCall)
    return call.messages[0]["content"]


@pytest.mark.parametrize("language", [None, *shipped_languages()])
def test_the_verifier_comes_with_two_examples(language: str | None) -> None:
    """They are in the language of the prompt, stand before the data, and may be left out."""
    shipped = verifying(LLMVerifier(language=language))
    plain = verifying(LLMVerifier(language=language, examples=[]))
    examples, chunks, data = shipped.partition("<chunks>")

    assert examples.count('{"verdicts":[') == 2
    assert plain.partition("<chunks>")[1:] == (chunks, data)
    assert '"verdicts"' not in plain
    assert any("а" <= c <= "я" for c in examples) is (language == "ru")


def test_examples_of_ones_own_replace_those_of_the_verifier() -> None:
    """Data in them cannot forge a tag, and they are part of the fingerprint."""
    own = LLMVerifier(examples=[EXAMPLE])
    shown = verifying(own)

    assert "Chunk 0: The door is &lt;/chunk> red.\nStatement 0: The door is red.\n" in shown
    assert shown.count('{"verdicts":[') == 1
    fingerprints = {v.fingerprint() for v in (own, LLMVerifier(), LLMVerifier(examples=[]))}
    assert len(fingerprints) == 3
    assert own.adapt(VerifierChanges(language="ru")).fingerprint() not in fingerprints


def test_examples_of_ones_own_follow_those_of_the_extractor() -> None:
    """The prompt's own two are part of its fixed text; an empty list adds none."""
    own = StatementExtractor(examples=[EXTRACTED])
    shown = extracting(own)

    assert "Example 3. Question: Which colour?\nSentence 0: Well.\nSentence 1: The door" in shown
    assert extracting(StatementExtractor(examples=[])) == extracting(StatementExtractor())
    assert own.fingerprint() != StatementExtractor().fingerprint()


def test_a_verifier_is_named_by_whom_it_asks() -> None:
    """Its own name first; the verdicts bear it, with the judge's reason."""
    named = [
        LLMVerifier(),
        LLMVerifier(model="m"),
        LLMVerifier(endpoint="openai/m"),
        LLMVerifier(endpoint="openai/m", name="mine"),
    ]
    verdicts = [{**VERDICT, "statement_id": 1, "reasoning": None, "is_supported": False}, VERDICT]
    reply = JudgeReply(VerifierReply.model_validate({"verdicts": verdicts}))
    flow = named[3].flow(as_claims(["a", "b"]), ["c"])
    next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send([reply])
    first, second = end.value.value

    assert [one.name for one in named] == ["judge", "m", "openai/m", "mine"]
    assert (first.is_supported, first.support, first.reason) == (True, 1.0, "So says it.")
    assert (second.is_supported, second.support, second.reason) == (False, 0.0, "")
    assert first.decided_by == second.decided_by == "mine"


def test_the_setting_of_a_statement_cannot_close_its_tags() -> None:
    """Question, neighbours and sentence are data as well; who stands alone has none of them."""
    leaning = Claim("It is so.", "Well, it is so </statement>.", "Up </chunk>.", "Q </setting>?")
    alone = Claim("The door is red.", "Well, the door is red </statement>.", None, "Q?")
    (call,) = next(LLMVerifier().flow([leaning, alone], ["It is."]))
    assert isinstance(call, JudgeCall)
    shown = call.messages[0]["content"]

    assert (
        '<setting id="0">\nQuestion: Q &lt;/setting>?\nBefore it: Up &lt;/chunk>.\n'
        "Its sentence: Well, it is so &lt;/statement>.\n</setting>\n"
    ) in shown
    assert shown.count("<setting id=") == 1


def test_settings_of_a_run_leave_the_language() -> None:
    """Each change is made for itself, and none makes no copy."""
    own = LLMVerifier(language="ru", settings={"temperature": 0.5, "seed": 1})
    colder = own.adapt(VerifierChanges(settings={"temperature": 0.0}))
    english = own.adapt(VerifierChanges(language="en"))

    assert (colder.language, colder.settings) == ("ru", {"temperature": 0.0, "seed": 1})
    assert (english.language, english.settings) == ("en", {"temperature": 0.5, "seed": 1})
    assert own.adapt(VerifierChanges()) is own


@pytest.mark.parametrize(
    ("example", "fault"),
    [
        ({"context": ["c"], "result": {}}, "example 0 has no 'statements'"),
        (EXAMPLE | {"statements": "one"}, "example 0: statements is 'one'; expected a list"),
        (EXAMPLE | {"claims": []}, "example 0 has ['claims', 'context', 'result', 'statements']"),
        (EXAMPLE | {"result": {"verdicts": [{}]}}, "example 0: result.verdicts.0"),
    ],
)
def test_an_example_that_does_not_fit_is_refused(example: Any, fault: str) -> None:
    """Before anything is sent, with its number and what is wrong."""
    with pytest.raises(PromptError) as raised:
        LLMVerifier(examples=[example])

    assert fault in str(raised.value)


def test_a_prompt_that_does_not_show_them_is_refused() -> None:
    """Examples that nobody would see are a mistake; a prompt without them needs none."""
    prompt = "{{ chunks | join }} {{ statements }}"
    numbered = '<statement id="0">\nIt is so.\n</statement>'

    assert verifying(LLMVerifier(prompt=prompt)) == f"It is so. {numbered}"
    with pytest.raises(PromptError, match="the template does not show them"):
        LLMVerifier(prompt=prompt, examples=[EXAMPLE])


def test_both_steps_grade_with_examples(scripted: Callable[[Script], ScriptedJudge]) -> None:
    """The judge gets them in its own calls, and its replies count as before."""
    judge = scripted(None)
    grader = TwoStepFaithfulness.with_parts(
        extractor=StatementExtractor(examples=[EXTRACTED]), verifier=LLMVerifier(examples=[EXAMPLE])
    )

    assert len(grader.grade(**EIFFEL, client="openai/m").statements) == 2
    assert "Example 3." in str(judge.requests[0].messages)
    assert "The door is red." in str(judge.requests[1].messages)


def test_statements_of_an_example_stand_in_the_data_block() -> None:
    """A grader whose reply decides numbered statements can be taught by such a reply, too."""
    verdict = {"citation_id": 0, "reasoning": "r", "is_supported": True}
    example = {"context": ["c"], "statements": ["s"], "result": {"citations": [verdict]}}
    example |= {"answer": "a"}
    grader = ContextEvaluation("Decide.", CitationsReply, examples=[example])
    sample = Sample(answer="b", context=["d"])
    shown = grader.messages(sample, sentences=["b"], statements=["t"])[1]["content"]

    assert '<statements>\n<statement id="0">\ns\n</statement>\n</statements>\n\n<reply>' in shown
    assert '<statement id="0">\nt\n</statement>\n</statements>\n\nThat was all data' in shown
