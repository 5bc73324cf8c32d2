"""Verdicts by construction: what a judge cannot leave out, correct, repeat or make up."""

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import instructor
import openai
import pytest
from pydantic import BaseModel, Field

from rag_evals import (
    AuditedFaithfulness,
    ContextRecall,
    Faithfulness,
    FaithfulnessResult,
    TwoStepFaithfulness,
    base,
    evaluate,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, NotScorableError
from rag_evals.judge.clients.build import REPLY_FORMS
from rag_evals.response_models.statements import EXACT, ReplyForm, ReplyShape, keyed_reply
from rag_evals.text import split_sentences
from tests.conftest import EIFFEL, Command
from tests.scripted import JudgeRequest, ScriptedJudge, fill_by_words

Start = Callable[..., ScriptedJudge]

FIRST, SECOND = "The Eiffel Tower stands in Paris.", "It was completed in 1923."
ROW: dict[str, Any] = {**EIFFEL, "reference": EIFFEL["answer"]}
YES: dict[str, Any] = {"reasoning": "Chunk 0 says so.", "verdict": {"supported_by": [0]}}
NO = {"reasoning": "Chunk 1 differs.", "verdict": {"not_supported_because": "contradicted"}}

Said = Sequence[tuple[str, bool]]
BAD: dict[str, Said] = {
    "leaves a sentence out": [(FIRST, True)],
    "corrects a number": [(FIRST, True), ("It was completed in 1889.", True)],
    "repeats what is true": [*[(FIRST, True)] * 9, (SECOND, False)],
    "speaks of something else": [("Bananas are yellow.", True)],
    "finds nothing": [],
    "says yes and no": [(FIRST, False), (SECOND, True), (SECOND, False)],
}
"""What judges say of the two sentences, with their verdicts; at most half of it is true."""


def keyed(said: Said) -> dict[str, Any]:
    """Write it as a reply by sentence."""
    own: dict[str, list[dict[str, Any]]] = {}
    for text, verdict in said:
        key = "s1" if "completed" in text else "s0"
        own.setdefault(key, []).append({"statement": text, **(YES if verdict else NO)})
    return {key: {"claims": claims} for key, claims in own.items()} or {
        key: {"claims_nothing": "Nothing is claimed."} for key in ("s0", "s1")
    }


def listed(said: Said, label: str = "is_supported") -> dict[str, Any]:
    """Write it as a list of statements."""
    return {
        "statements": [
            {
                "statement": text,
                "reasoning": "r",
                "supporting_chunk_ids": [0] if verdict else [],
                label: verdict,
            }
            for text, verdict in said
        ]
    }


def extracted(said: Said) -> dict[str, Any]:
    """Write it as the first of two steps."""
    claimed = [{"sentence_id": int("completed" in text), "statement": text} for text, _ in said]
    return {"statements": claimed, **passed_over({one["sentence_id"] for one in claimed})}


def audited(said: Said) -> dict[str, Any]:
    """Write it with quotes."""
    quote = {"chunk_id": 0, "quote": "The Eiffel Tower stands in Paris"}
    claimed = [
        {
            "sentence_ids": [int("completed" in text)],
            "statement": text,
            "reasoning": "r",
            "evidence": [quote] if verdict else [],
            "verdict": "supported" if verdict else "not_in_context",
        }
        for text, verdict in said
    ]
    return {
        "statements": claimed,
        **passed_over({one["sentence_ids"][0] for one in claimed}),
    }


def passed_over(claimed: set[Any]) -> dict[str, Any]:
    """Say that the other sentences claim nothing."""
    rest = [{"sentence_id": n, "reason": "It claims nothing."} for n in {0, 1} - claimed]
    return {"no_claim_sentences": rest}


class Checked(BaseModel):
    """A claim in a user's own words."""

    statement: str
    why: str = Field(default="", description="Why.")
    holds: bool


class Checks(BaseModel):
    """A user's own model with statements."""

    checks: list[Checked]

    @property
    def score(self) -> float:
        """The share that holds."""
        return sum(one.holds for one in self.checks) / len(self.checks) if self.checks else 1.0


def checks(said: Said) -> dict[str, Any]:
    """Write it in the user's own model."""
    return {"checks": [{"statement": text, "why": "", "holds": verdict} for text, verdict in said]}


OWN_PROMPT = "{{ answer }} {% for c in chunks %}{{ c.text }}{% endfor %}"
GRADERS: dict[str, tuple[Any, Callable[[Said], dict[str, Any]]]] = {
    "one call": (Faithfulness, keyed),
    "one call, listed": (Faithfulness, listed),
    "by sentence": (Faithfulness.with_unit("sentence"), keyed),
    "instructions": (base.ContextEvaluation("Be strict.", FaithfulnessResult), keyed),
    "own prompt": (base.ContextEvaluation(OWN_PROMPT, FaithfulnessResult), listed),
    "own model": (base.ContextEvaluation("Check it.", Checks), checks),
    "two steps": (TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier()), extracted),
    "audited": (AuditedFaithfulness, audited),
    "recall": (ContextRecall, keyed),
    "recall, listed": (ContextRecall, lambda said: listed(said, "is_covered")),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("grader", GRADERS)
def test_no_judge_talks_an_answer_up(scripted: Start, grader: str, bad: str) -> None:
    """Asked again once; whoever insists gets no more than half, or no score."""
    asked, write = GRADERS[grader]
    judge = scripted(lambda _: write(BAD[bad]))
    (outcome,) = evaluate([ROW], asked, "openai/m", progress=False).outcomes

    assert outcome.status in ("scored", "not_scorable")
    assert (outcome.score or 0.0) <= 0.5
    # The first of two steps gives no verdicts: it only repeats itself.
    repeats = bad == "repeats what is true" or (grader, bad) == ("two steps", "says yes and no")
    assert len(judge.requests) == (1 if repeats else 2)
    if outcome.status == "not_scorable":
        assert outcome.reason == "answer_not_covered"


@pytest.mark.parametrize("grader", GRADERS)
def test_an_honest_judge_is_asked_once(scripted: Start, grader: str) -> None:
    """Right or wrong, a verdict on each sentence is no fault."""
    asked, write = GRADERS[grader]
    judge = scripted(lambda _: write([(FIRST, True), (SECOND, False)]))
    (outcome,) = evaluate([ROW], asked, "openai/m", progress=False).outcomes

    assert (outcome.score, len(judge.requests)) == (0.5, 1)
    known = (None, None) if grader.startswith("recall") else (2, 1)
    assert (outcome.facts.statements, outcome.facts.supported) == known


MODES = ("TOOLS", "TOOLS_STRICT", "JSON", "MD_JSON", "JSON_SCHEMA", "RESPONSES_TOOLS")


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_guarded(scripted: Start, mode: str, bad: str) -> None:
    """A client of the user's own may ask in any way."""
    dialect = "responses" if mode == "RESPONSES_TOOLS" else "openai"
    judge = scripted(lambda _: json_of(mode, keyed(BAD[bad])), dialect=dialect)
    with openai.OpenAI(base_url=judge.base_url, max_retries=0) as sdk, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = instructor.from_openai(sdk, mode=instructor.Mode[mode])
        result = Faithfulness.grade(**EIFFEL, client=client, model="m")

    assert result.score <= 0.5


def json_of(mode: str, reply: dict[str, Any]) -> Any:
    """Write a reply as a model does in a mode."""
    return f"```json\n{json.dumps(reply)}\n```" if mode == "MD_JSON" else reply


def test_what_a_judge_insists_on_is_unverified(scripted: Start) -> None:
    """The finding says so, where it is in the answer, with the first fault; gates see the score."""
    scripted(lambda _: keyed([(FIRST, True), ("It was not completed in 1889.", True)]))
    result = Faithfulness.grade(**EIFFEL, client="openai/m")
    finding = result.findings[1]

    assert (finding.label, finding.verdict) == ("unverified", False)
    assert EIFFEL["answer"][finding.start : finding.end] == SECOND
    assert "1889, which sentence 1 does not say" in str(finding.reasoning)
    assert result.statements[1].supporting_chunk_ids == []


def test_a_fault_behind_repeated_statements_is_that_of_its_own_statement(scripted: Start) -> None:
    """Statements are counted without repeats, and their faults as well."""
    scripted(lambda _: keyed([(FIRST, True), (FIRST, True), *BAD["corrects a number"][1:]]))
    result = Faithfulness.grade(**EIFFEL, client="openai/m")

    assert [one.is_supported for one in result.statements] == [True, False]
    assert "1889" in str(result.statements[1].fault)


def test_the_fault_is_told_exactly_and_the_second_reply_counts(scripted: Start) -> None:
    """The judge sees its reply, of which code filled nothing in, and what is wrong with it."""
    first = keyed(BAD["corrects a number"])
    judge = scripted([first, {"s0": YES, "s1": NO}])
    result = Faithfulness.grade(**EIFFEL, client="openai/m")
    *_, said, asked = judge.requests[1].messages

    assert said["role"] == "assistant"
    assert json.loads(said["content"]) == first
    assert "changed number: statement 'It was completed in 1889.' has 1889" in asked["content"]
    assert (result.score, result.drift) == (0.5, [])


def test_an_answer_that_is_not_covered_fails_a_gate(scripted: Start, command: Command) -> None:
    """It has no score: too few rows are scored, unless the reason is counted as a number."""
    scripted(lambda _: {"s0": YES})
    run = evaluate([EIFFEL], client="openai/m", progress=False)
    (outcome,) = run.outcomes

    assert (outcome.status, outcome.reason) == ("not_scorable", "answer_not_covered")
    assert run.summary().graders["faithfulness"].scored == 0
    Path("d.jsonl").write_text(json.dumps(EIFFEL))
    gated = ("grade", "d.jsonl", "--judge", "openai/m", "--fail-under", "0.4")
    assert command(*gated).code == 1
    assert command(*gated, "--count", "answer_not_covered=1").code == 0


def test_an_own_model_that_insists_has_no_score(scripted: Start) -> None:
    """A result of a user's own cannot say that it is not scorable; the grader does."""
    scripted(lambda _: checks(BAD["leaves a sentence out"]))
    with pytest.raises(NotScorableError, match="answer_not_covered"):
        base.ContextEvaluation("Check it.", Checks).grade(**EIFFEL, client="openai/m")


def test_a_row_without_a_score_still_counts_its_calls(scripted: Start) -> None:
    """What the judge was paid for is in the outcome and in the summary."""
    judge = scripted(lambda _: checks(BAD["leaves a sentence out"]))
    own = base.ContextEvaluation("Check it.", Checks)
    run = evaluate([EIFFEL], own, "openai/gpt-4o-mini", progress=False)
    (outcome,) = run.outcomes

    assert (outcome.status, outcome.attempts) == ("not_scorable", len(judge.requests))
    assert outcome.usage.calls == run.summary().usage.calls == len(judge.requests) == 2
    assert outcome.usage.prompt_tokens > 0


def schema_of(judge: ScriptedJudge) -> Any:
    """Return the schema of the last request."""
    return judge.requests[-1].schema


def objects_in(node: Any) -> list[Any]:
    """Return every object of a schema."""
    if isinstance(node, list):
        return [one for each in node for one in objects_in(each)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [one for each in node.values() for one in objects_in(each)]


@pytest.mark.parametrize("unit", ["claims", "sentence", "answer"])
def test_a_schema_leaves_no_choice_but_the_verdict(scripted: Start, unit: Any) -> None:
    """Each key is required, nothing else is allowed, and branches begin with different keys."""
    judge = scripted()
    Faithfulness.with_unit(unit).grade(**EIFFEL, client="vllm/m@" + judge.base_url)
    schema = schema_of(judge)

    for one in objects_in(schema):
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False
    for choice in (node["anyOf"] for node in schema["$defs"].values() if "anyOf" in node):
        firsts = [next(iter(branch["properties"])) for branch in choice]
        assert len(set(firsts)) == len(firsts)
    keys = ["reasoning", "verdict"] if unit == "answer" else ["s0", "s1"]
    assert list(schema["properties"]) == keys
    ids = schema["$defs"]["v"]["anyOf"][0]["properties"]["supported_by"]
    assert ids == {
        "type": "array",
        "items": {"type": "integer", "enum": [0, 1]},
        "minItems": 1,
        "maxItems": 2,
    }


def test_a_host_that_compiles_schemas_sees_few() -> None:
    """A thousand rows of any length need at most forty schemas."""
    shapes = {(n % 40 + 1, n * 7 % 30 + 1) for n in range(1000)}
    for host in ("api.openai.com", "anthropic"):
        seen = {
            json.dumps(_reply(*shape).for_host(REPLY_FORMS[host]).model_json_schema())
            for shape in shapes
        }
        assert len(seen) <= 40


def _reply(sentences: int, chunks: int) -> Any:
    return keyed_reply(FaithfulnessResult, ReplyShape("claims", sentences, chunks))


def test_room_for_further_sentences_may_stay_empty() -> None:
    """Of nine sentences every one has a key; the tenth, which is not there, may be null."""
    form = _reply(9, 3).for_host(ReplyForm(padded=True)).model_json_schema()

    assert list(form["properties"]) == [f"s{n}" for n in range(10)]
    assert form["properties"]["s9"] == {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}]}
    assert form["properties"]["s8"] == {"$ref": "#/$defs/s"}


def test_a_model_is_made_once_for_equal_rows() -> None:
    """Making one costs milliseconds; most rows are alike."""
    assert _reply(3, 4) is _reply(3, 4)
    assert _reply(3, 4).for_host(EXACT) is _reply(3, 4)
    assert _reply(3, 4) is not _reply(3, 5)


LONG = " ".join(f"House number {n} is {n + 3} metres tall." for n in range(300))


def test_a_long_answer_is_graded_in_calls_of_forty_sentences(scripted: Start) -> None:
    """300 sentences: eight calls, places of the whole answer, and the result says so."""
    judge = scripted()
    result = Faithfulness.grade(answer=LONG, context=[LONG], client="openai/m")

    assert len(judge.requests) == 8
    assert all(len(request.sentences) <= 40 for request in judge.requests)
    assert [one.sentence_id for one in result.statements] == list(range(300))
    assert all(LONG[one.start : one.end] == one.statement for one in result.statements)
    assert result.warnings == ["the answer is long: it was graded in 8 calls"]


def test_a_template_need_not_show_a_long_answer_beside_its_sentences(scripted: Start) -> None:
    """Each call has its own sentences, and not the end of the answer."""
    judge = scripted()
    prompt = "Chunks: {{ context }}\nThe answer begins: {{ answer[:200] }}\n{{ sentences }}"
    grader = base.ContextEvaluation(prompt, FaithfulnessResult)
    answer = f"{LONG} There the quiet street ends at a river."
    result = grader.grade(answer=answer, context=["A tower stands."], client="openai/m")

    assert len(judge.requests) == 8
    assert len(result.statements) == 301


def test_a_sentence_of_a_later_call_is_left_out_in_its_own_place(scripted: Start) -> None:
    """The second call is about sentences 38 to 75; its third is number 40 of the answer."""

    def leaves_out(request: JudgeRequest) -> Any:
        reply: Any = fill_by_words(request)
        if request.sentences[2] == split_sentences(LONG)[40].text:
            return reply | {"s2": {"claims_nothing": "Nothing is claimed."}}
        return reply

    scripted(leaves_out)
    with pytest.warns(UserWarning, match="not scorable: answer_not_covered"):
        result = Faithfulness.grade(answer=LONG, context=[LONG], client="openai/m")

    assert (result.left_out, result.no_claim_sentences) == ([40], [])
    assert 40 not in {one.sentence_id for one in result.statements}


def test_a_sentence_of_a_later_call_claims_nothing_in_its_own_place(scripted: Start) -> None:
    """A greeting is number 60 of the answer; the judge passes it over in the second call."""
    sentences = [span.text for span in split_sentences(LONG)][:80]
    sentences[60] = "Hope this helps!"

    def greets(request: JudgeRequest) -> Any:
        reply: Any = fill_by_words(request)
        for number, text in enumerate(request.sentences):
            if text == sentences[60]:
                reply |= {f"s{number}": {"claims_nothing": "It is a greeting."}}
        return reply

    judge = scripted(greets)
    result = Faithfulness.grade(answer=" ".join(sentences), context=[LONG], client="openai/m")
    (silent,) = result.no_claim_sentences

    assert len(judge.requests) == 2
    assert (silent["sentence_id"], silent["text"]) == (60, sentences[60])
    assert (result.left_out, len(result.statements), result.score) == ([], 79, 1.0)


def test_a_sentence_too_long_for_five_claims_is_named(scripted: Start) -> None:
    """5,000 words: the result and the run's summary say so; the whole answer has no sentences."""
    scripted()
    row = {"id": "a", "answer": "A tower stands. Every " + "word " * 4999, "context": ["A tower."]}
    run, whole = (
        evaluate([row], Faithfulness.with_unit(unit), "openai/m") for unit in ("claims", "answer")
    )

    told = "long sentence: sentence 1 has 5,000 words; some claims may be missing"
    assert list(run.outcomes[0].warnings) == [told]
    assert "long sentence" in str(run.summary())
    assert not whole.outcomes[0].warnings


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("Yes", 1),
        ("!!! ...", 0),
        ("word " * 5000, 1),
        ("- Paris has a tower.\n- Rome has a wall.\n\n1. Bonn has a hall.", 3),
        ("| city | height |\n|---|---|\n| Paris | 330 m |\n| Rome | 20 m |", 3),
        ("```python\nprint(1)\n```", 1),
        ("東京は日本の首都です。大阪は西にあります。", 2),
        ("กรุงเทพเป็นเมืองหลวงของประเทศไทย เชียงใหม่อยู่ทางเหนือ", 1),
        ("القاهرة عاصمة مصر وهي مدينة كبيرة", 1),
    ],
)
def test_any_answer_is_graded_or_named(scripted: Start, answer: str, count: int) -> None:
    """Lists, tables, code and other scripts are sentences; nothing to judge asks nobody."""
    judge = scripted()
    result = Faithfulness.grade(answer=answer, context=[answer], client="openai/m")

    assert len(judge.requests) == min(count, 1)
    assert len(result.statements) == count or count > 1
    assert result.not_scorable == ("no_statements" if count == 0 else None)


def test_a_unit_is_part_of_the_grader() -> None:
    """It has a fingerprint of its own; a reply of another kind has none."""
    names = {
        Faithfulness.with_unit(unit).fingerprint() for unit in ("claims", "sentence", "answer")
    }

    assert len(names) == 3
    assert Faithfulness.with_unit("claims").fingerprint() == Faithfulness.fingerprint()
    with pytest.raises(ConfigurationError, match="unit is 'words'; expected one of claims"):
        base.ContextEvaluation("x", FaithfulnessResult, unit="words")  # type: ignore[arg-type]  # wrong
    with pytest.raises(ConfigurationError, match="does not support units"):
        base.ContextEvaluation("x", Checks, unit="sentence")


def test_the_whole_answer_may_be_the_unit(scripted: Start) -> None:
    """One verdict on all of it, with its place."""
    judge = scripted({"reasoning": "1889.", "verdict": {"not_supported_because": "contradicted"}})
    result = Faithfulness.with_unit("answer").grade(**EIFFEL, client="openai/m")

    assert len(judge.requests) == 1
    assert [one.statement for one in result.statements] == [EIFFEL["answer"]]
    assert (result.score, result.statements[0].end) == (0.0, len(EIFFEL["answer"]))


def test_a_statement_that_drops_the_denial_of_its_sentence_is_unverified(scripted: Start) -> None:
    """What the answer denies is not counted as supported because a chunk says it."""
    claim = {
        "statement": "The tower was completed in 1889.",
        "reasoning": "Chunk 0 says so.",
        "verdict": {"supported_by": [0]},
    }
    judge = scripted({"s0": {"claims": [claim]}})
    result = Faithfulness.grade(
        answer="The tower was not completed in 1889.",
        context=["The tower was completed in 1889."],
        client="openai/m",
    )
    (found,) = result.statements

    assert len(judge.requests) == 2
    assert result.drift == [
        "lost negation: sentence 0 denies something, but none of its statements does"
    ]
    assert (found.is_supported, found.supporting_chunk_ids, result.score) == (False, [], 0.0)
    assert "denies something" in str(found.fault)
