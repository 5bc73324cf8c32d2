"""Conversations: each turn by its own sources, what the user said, and what was shown before."""

import base64
import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import (
    AnswerRelevance,
    AuditedFaithfulness,
    Faithfulness,
    Sample,
    TwoStepFaithfulness,
    agreement,
    evaluate,
)
from rag_evals.catalog import GRADERS
from rag_evals.core import Flow, Meter
from rag_evals.core.sample import Turn
from rag_evals.errors import DataError, NotScorableError
from rag_evals.grading.conversation import joined, renumbered, turns_flow
from rag_evals.grading.grader import drive
from rag_evals.report import report_html
from rag_evals.report.label_page import label_html, rows_to_label
from rag_evals.report.tables import View
from rag_evals.response_models import FaithfulnessResult
from rag_evals.response_models.statements import Unread
from rag_evals.run import make_plan
from rag_evals.run.plan.plan import estimate
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import split_sentences
from tests.report.page_rows import rows_of

Start = Callable[[Script], ScriptedJudge]

_PACKED = re.compile(r'<script type="application/octet-stream" id="data">(.*?)</script>', re.DOTALL)
SEARCH = [{"id": "a", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
OPENED = "The Severin bridge was opened in 1959."
LONG = "The Severin bridge is 691 metres long."
PAINTED = "Ursula Vane painted everything purple."
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a guide. Ursula Vane painted everything purple."},
    {"role": "user", "content": "When was the Severin bridge opened? My ticket number is 5512."},
    {"role": "assistant", "content": None, "tool_calls": SEARCH},
    {"role": "tool", "tool_call_id": "a", "content": OPENED},
    {"role": "assistant", "content": OPENED},
    {"role": "user", "content": "And how long is it?"},
    {"role": "tool", "tool_call_id": "a", "content": json.dumps([LONG, "Others are longer."])},
    {"role": "assistant", "content": f"{LONG} {PAINTED}"},
    {"role": "user", "content": "Who painted it?"},
    {"role": "assistant", "content": f"{PAINTED} {OPENED} Your ticket number is 5512."},
]


def test_a_turn_is_graded_by_its_sources_and_what_was_shown_before(scripted: Start) -> None:
    """One call a turn; an unsupported statement is in no later call, a supported one is."""
    judge = scripted(None)
    result = Faithfulness.grade(Sample(turns=TALK), client="openai/m")

    ticket = "My ticket number is 5512."
    assert [one.chunks for one in judge.requests] == [
        [OPENED, ticket],
        [LONG, "Others are longer.", ticket, OPENED],
        [ticket, OPENED, LONG],
    ]
    assert [(one.supported, one.statements) for one in result.turns] == [(1, 1), (1, 2), (2, 3)]
    assert [one.score for one in result.turns] == [1.0, 0.5, pytest.approx(2 / 3)]
    assert result.unsupported_since == 2
    assert result.score == pytest.approx(4 / 6)
    assert result.further_scores == {"supported_turns": pytest.approx(1 / 3)}
    assert [one.statement for one in result.unsupported] == [PAINTED, PAINTED]


def test_statements_have_their_places_in_the_conversation() -> None:
    """Sentence and characters are those of the transcript, chunks those of the turn that had it."""
    sample = Sample(turns=TALK)
    result = Faithfulness.grade(sample, client="embedded")

    assert sample.answer is not None
    assert sample.answer.startswith("> When was the Severin bridge opened?")
    assert [sample.answer[one.start : one.end] for one in result.statements] == [
        one.statement for one in result.statements
    ]
    sentences = [span.text for span in split_sentences(sample.answer)]
    assert [sentences[one.sentence_id or 0] for one in result.statements] == [
        one.statement for one in result.statements
    ]
    assert [chunk.text for chunk in sample.context] == [
        "My ticket number is 5512.",
        OPENED,
        LONG,
        "Others are longer.",
    ]
    assert sample.context[2].metadata == {"turn": "2"}
    assert sample.context[0].metadata == {"turn": "1", "said_by": "user"}
    ids = [one.supporting_chunk_ids for one in result.statements]
    # The fifth was decided by what earlier turns showed: it has their sources.
    assert ids == [[1], [2], [], [], [1, 2], [0]]
    assert "chunk 1" in str(result.statements[4].reasoning)
    assert sample.question == (
        "When was the Severin bridge opened? My ticket number is 5512.\n"
        "And how long is it?\nWho painted it?"
    )


def _langchain(kind: str, text: str) -> Any:
    return SimpleNamespace(type=kind, content=text, additional_kwargs={})


FORMS: dict[str, Any] = {
    "langchain objects": [
        _langchain("human", "How long is it?"),
        _langchain("tool", LONG),
        _langchain("ai", LONG),
    ],
    "langchain pairs": [("human", "How long is it?"), ("tool", LONG), ("ai", LONG)],
    "langchain messages_to_dict": [
        {"type": "human", "data": {"content": "How long is it?", "type": "human"}},
        {"type": "tool", "data": {"content": LONG, "type": "tool"}},
        {"type": "ai", "data": {"content": LONG, "type": "ai"}},
    ],
    "langchain, type outside": [
        {"type": "human", "data": {"content": "How long is it?"}},
        {"type": "tool", "data": {"content": LONG}},
        {"type": "ai", "data": {"content": LONG}},
    ],
    "langchain dumpd": [
        {"lc": 1, "type": "constructor", "kwargs": {"content": text, "type": kind}}
        for kind, text in (("human", "How long is it?"), ("tool", LONG), ("ai", LONG))
    ],
    "opentelemetry": [
        {"role": "user", "parts": [{"type": "text", "content": "How long is it?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "s"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": LONG}]},
        {"role": "assistant", "parts": [{"type": "text", "content": LONG}]},
    ],
    "anthropic": [
        {"role": "user", "content": "How long is it?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "s"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": LONG}]},
        {"role": "assistant", "content": [{"type": "text", "text": LONG}]},
    ],
    "openai responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "How long is it?"}]},
        {"type": "function_call", "call_id": "1", "name": "s", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": LONG},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": LONG}],
        },
    ],
    "sources of a reply": [
        {"role": "user", "content": "How long is it?"},
        {"role": "assistant", "content": LONG, "context": [LONG]},
    ],
    "questions and answers": [{"question": "How long is it?", "answer": LONG, "context": [LONG]}],
    "as json": json.dumps([{"question": "How long is it?", "answer": LONG, "context": [LONG]}]),
}


@pytest.mark.parametrize("form", FORMS)
def test_messages_of_every_library_are_the_same_turns(form: str) -> None:
    """A question, a reply, and what a tool gave back."""
    sample = Sample(turns=FORMS[form])

    assert [(one.question, one.answer) for one in sample.turns] == [("How long is it?", LONG)]
    assert [chunk.text for chunk in sample.turns[0].context] == [LONG]
    assert Sample(turns=sample.turns) == sample


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("a", ["a"]),
        (["a", " ", "b"], ["a", "b"]),
        ([{"text": "a", "score": 0.5}, {"text": "b"}], ["a", "b"]),
        ({"text": "a", "score": 0.5}, ["a"]),
        ({"metres": 120, "of": ["deck"]}, ['{"metres":120,"of":["deck"]}']),
        (120, ["120"]),
        ([], []),
        (None, []),
    ],
)
@pytest.mark.parametrize("kind", ["function_call_output", "tool"])
def test_what_a_tool_gave_back_is_one_source_or_several(
    given: Any, texts: list[str], kind: str
) -> None:
    """A list has a chunk for each element that says something; fields without a text are JSON."""
    output = {"role": "tool", "content": given}
    if kind == "function_call_output":
        output = {"type": kind, "output": given}
    sample = Sample(turns=[("user", "?"), output, ("assistant", "x")])

    assert [chunk.text for chunk in sample.turns[0].context] == texts
    assert [chunk.id for chunk in sample.turns[0].context] == list(range(len(texts)))


def test_a_conversation_without_a_reply_has_no_answer() -> None:
    """Nothing was said, which is not the same as an empty text; the question and sources stay."""
    nothing, asked = Sample(turns=[]), Sample(turns=[("user", "How long?")], context=[LONG])

    assert (nothing.question, nothing.answer, nothing.context, nothing.turns) == (
        None,
        None,
        (),
        (),
    )
    assert (asked.question, asked.answer, asked.turns) == ("How long?", None, ())
    assert [chunk.text for chunk in asked.context] == [LONG]


def test_a_column_of_messages_is_a_conversation(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows need no answer; a column that is no list of messages is left alone."""
    plain = {"messages": "not read", "answer": LONG, "context": [LONG], "question": "How long?"}
    for name, row in (("talk", {"messages": TALK}), ("plain", plain)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": name, **row}) + "\n")
    monkeypatch.chdir(tmp_path)

    talk = command("grade", "talk.jsonl", "--judge", "embedded", "--out", "r")
    assert "turns=messages" in talk.err
    assert "supported_turns: 0.33" in talk.out
    shown = command("show", "r", "talk").out
    assert "unsupported since  [turn 2]" in shown
    assert "turn 3  [2 of 3]  Who painted it?" in shown
    assert "реплика 3  [2 из 3]" in command("show", "r", "talk", "--language", "ru").out
    assert "supported_turns" not in command("grade", "plain.jsonl", "--judge", "embedded").out


def test_pages_and_tables_show_turns(tmp_path: Path) -> None:
    """Report and export have a line for each turn; the label page asks with its question."""
    run = evaluate([{"id": "talk", "messages": TALK}], client="embedded", out=tmp_path / "r")

    rows = run.rows("long")
    assert [(one["text"], one["label"]) for one in rows if one["about"] == "turn"] == [
        ("unsupported since", "turn 2"),
        *(("turn 1", "1 of 1"), ("turn 2", "1 of 2"), ("turn 3", "2 of 3")),
    ]
    (page,) = rows_of(report_html(run))
    assert [one["shown"] for one in page.items][:3] == ["unsupported since", "turn 1", OPENED]
    (packed,) = _PACKED.findall(label_html(run, rows_to_label(run, 5), View()))
    decisions = json.loads(gzip.decompress(base64.b64decode(packed)))["decisions"]
    assert [one[7] for one in decisions[1:4]] == [*["And how long is it?"] * 2, "Who painted it?"]
    again = evaluate([{"id": "talk", "messages": TALK}], client="embedded", out=tmp_path / "r")
    assert [one.result for one in again.outcomes] == [one.result for one in run.outcomes]
    stored: Any = again.outcomes[0].result
    assert stored.turns[1].question == "And how long is it?"


@pytest.mark.parametrize("grader", [TwoStepFaithfulness, AuditedFaithfulness])
def test_every_form_of_faithfulness_grades_turns(scripted: Start, grader: Any) -> None:
    """Their results are joined: calls added, quotes found in the chunks of the conversation."""
    scripted(None)
    sample = Sample(turns=TALK)
    result = grader.grade(sample, client="openai/m")

    assert [(one.supported, one.statements) for one in result.turns] == [(1, 1), (1, 2), (2, 3)]
    quotes = [quote for one in result.findings for quote in one.quotes]
    assert all(quote.text in sample.context[quote.chunk_id].text for quote in quotes)
    assert bool(quotes) is (grader is AuditedFaithfulness)
    if grader is TwoStepFaithfulness:
        assert result.verification_calls == 3


def test_a_conversation_may_be_repeated_and_estimated(scripted: Start) -> None:
    """Calls are those of every turn."""
    judge = scripted(None)
    run = evaluate([{"messages": TALK}], client="openai/m", repeat=2)
    assert run.outcomes[0].repeats == pytest.approx((2 / 3, 2 / 3))
    assert len(judge.requests) == 6
    assert estimate(make_plan([{"messages": TALK}], ["faithfulness"], "openai/m")).calls == 3


def test_a_grader_without_statements_grades_the_last_turn(scripted: Start) -> None:
    """The question is the last one with what it refers to; others are refused by name."""
    judge = scripted(None)
    AnswerRelevance.grade(Sample(turns=TALK), client="openai/m")
    assert judge.requests[0].answer == TALK[-1]["content"]
    assert str(judge.requests[0].question).endswith("And how long is it?\nWho painted it?")

    graders = ["rag", "citation_faithfulness"]
    run = evaluate([{"messages": TALK}], graders, client="openai/m", max_failures="100%")
    for outcome in run.outcomes:
        assert outcome.error is not None
        assert outcome.error.message == (
            f"the row is a conversation, but {outcome.grader!r} grades single answers; "
            "faithfulness grades conversations"
        )
    assert set(GRADERS) >= {"rag", "citation_faithfulness"}


def test_turns_before_an_answer_are_its_conversation(scripted: Start) -> None:
    """History with question, answer and context: the context is a source of every turn."""
    judge = scripted(None)
    sample = Sample(turns=TALK[1:5], question="How long is it?", answer=LONG, context=[LONG])

    assert [one.question for one in sample.turns] == [TALK[1]["content"], "How long is it?"]
    Faithfulness.grade(sample, client="openai/m")
    assert [one.chunks[0] for one in judge.requests] == [LONG, LONG]
    assert OPENED in judge.requests[1].chunks


def test_an_answer_needs_no_question_beside_its_turns() -> None:
    """It replies to what was asked last."""
    sample = Sample(turns=[*TALK[:5], ("user", "And how long is it?")], answer=LONG)

    assert [one.question for one in sample.turns] == [TALK[1]["content"], "And how long is it?"]
    assert sample.turns[1].answer == LONG


class Message:
    """A message of a class of one's own, with a method by the name of a field."""

    role, content = "assistant", LONG

    def sources(self) -> list[str]:
        """Would have to be called."""
        return [PAINTED]


def test_a_method_of_a_message_is_no_source_of_it() -> None:
    """Only what the message holds is."""
    sample = Sample(turns=[("user", "How long?"), ("tool", OPENED), Message()])

    assert [chunk.text for chunk in sample.turns[0].context] == [OPENED]


def test_a_question_that_is_asked_again_has_a_turn_of_its_own() -> None:
    """The answer belongs to the second time, and is no part of the reply to the first."""
    asked = "How long is it?"
    sample = Sample(turns=[("user", asked), ("assistant", "Guess!")], question=asked, answer=LONG)

    assert [(one.question, one.answer) for one in sample.turns] == [
        (asked, "Guess!"),
        (asked, LONG),
    ]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (None, ""),
        ("Is it old?", ""),
        ("It is old.", "It is old."),
        ('It is old. "Is it?" Was it? I saw it', "It is old.\nI saw it"),
    ],
)
def test_what_the_user_says_is_all_but_questions(question: str | None, said: str) -> None:
    """A turn that nobody asked for says nothing."""
    assert Turn(question, "Yes.").said == said


def test_a_question_of_the_user_supports_nothing() -> None:
    """What a user asks is not said: the reply that repeats it has no source."""
    talk = [
        {"role": "user", "content": "Was the Severin bridge opened in 1950? I live in Cologne."},
        {"role": "tool", "content": "Bridges need paint."},
        {"role": "assistant", "content": "The Severin bridge was opened in 1950."},
    ]
    assert Faithfulness.grade(Sample(turns=talk), client="embedded").score == 0.0


def _planted(seed: int) -> tuple[list[dict[str, Any]], int, str]:
    """Make a conversation; return it, the turn of the planted claim, from 1, and the claim."""
    draw = random.Random(seed)
    name = f"{draw.choice(['Alder', 'Birch', 'Cedar', 'Hazel'])} {draw.choice(['bridge', 'mill'])}"
    year, metres, cost, people = (draw.randrange(100, 2000) for _ in range(4))
    facts = [
        ("When was the {0} opened?", f"The {name} was opened in the year {year}."),
        ("How long is the {0}?", f"The {name} has a length of {metres} metres."),
        ("What did it cost?", f"Building the {name} cost {cost} thousand crowns."),
        ("How many people visit it?", f"Every summer {people} guests visit the {name}."),
        ("Who built it?", f"Engineer Carl Holm designed the {name} with his sister."),
    ]
    draw.shuffle(facts)
    facts = facts[: draw.randrange(2, 6)]
    claim = draw.choice(
        ["Ursula Vane painted everything purple.", "Three dragons sleep underneath quietly."]
    )
    planted = draw.randrange(1, len(facts) + 1)
    talk: list[dict[str, Any]] = []
    for number, (question, fact) in enumerate(facts, 1):
        said = [fact]
        if number == planted or (number > planted and draw.random() < 0.7):
            said.insert(draw.randrange(2), claim)
        if number > 1 and draw.random() < 0.5:
            said.append(facts[draw.randrange(number - 1)][1])
        talk += [
            {"role": "user", "content": question.format(name)},
            {"role": "tool", "content": f"{fact} It is a sight of the valley."},
            {"role": "assistant", "content": " ".join(said)},
        ]
    return talk, planted, claim


@pytest.mark.parametrize("client", ["embedded", "openai/m"])
@pytest.mark.slow
def test_planted_claims_of_200_conversations_are_found_in_their_turn(
    scripted: Start, client: str
) -> None:
    """Found at k in all, never a source later, and nothing else is unsupported."""
    judge = scripted(None)
    for seed in range(200):
        talk, planted, claim = _planted(seed)
        result = Faithfulness.grade(Sample(turns=talk), client=client)
        assert result.unsupported_since == planted, (seed, talk)
        assert {one.statement for one in result.unsupported} == {claim}, (seed, result)
    assert not any("purple" in one or "dragons" in one for r in judge.requests for one in r.chunks)
    assert bool(judge.requests) is (client != "embedded")


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        ("hello", "turns is 'hello' (str); expected a list of messages"),
        ([7], "turns[0] is 7 (int); expected a message with a role"),
        ([{"role": "robot", "content": "Hi"}], "turns[0] is {'role': 'robot', 'content': 'Hi'}"),
        ([{"role": "user", "content": 7}], "turns[0] is None (NoneType); expected text"),
    ],
)
def test_turns_that_are_no_messages_are_one_clear_error(turns: Any, fault: str) -> None:
    """The message names the place."""
    with pytest.raises(DataError) as caught:
        Sample(turns=turns)
    assert str(caught.value).startswith(fault)


def test_conversations_without_sources_or_replies_have_a_named_outcome() -> None:
    """A greeting has no sources, an unanswered question no answer; two user turns are one."""
    greeting = [("user", "Hi"), ("assistant", "Hello, how can I help you?")]
    rows = {"greeting": greeting, "unanswered": [("user", "Hi")], "empty": []}
    run = evaluate([{"id": n, "turns": one} for n, one in rows.items()], client="embedded")
    assert [one.reason for one in run.outcomes] == [
        *("empty_context", "empty_answer", "empty_answer")
    ]
    with pytest.raises(NotScorableError, match="empty_context"):
        Faithfulness.grade(Sample(turns=greeting), client="embedded")

    talk = Sample(turns=[*greeting, ("user", "I am 40."), ("user", "Long?"), ("tool", LONG)])
    assert [one.answer for one in talk.turns] == [greeting[1][1]]
    both = Sample(turns=[*greeting, ("user", "Long?"), ("user", "In metres."), *TALK[6:8]])
    assert both.turns[1].question == "Long?\n\nIn metres."
    result = Faithfulness.grade(both, client="embedded")
    assert [one.reason for one in result.turns] == ["no_statements", None]


@pytest.mark.slow
def test_an_output_of_a_tool_may_have_5_megabytes() -> None:
    """It is read whole."""
    output = "Word salad of many lines, which says nothing at all about it. " * 80_000 + LONG
    talk = [("user", "How long is it?"), ("tool", output), ("assistant", LONG)]
    result = Faithfulness.grade(Sample(turns=talk), client="embedded")
    assert result.score == 1.0


def test_labels_of_conversations_measure_the_judge(tmp_path: Path) -> None:
    """A turn heads its statements and is no verdict: labels of the row count."""
    row = {
        "id": "c",
        "messages": [
            {"role": "user", "content": "When was it built?"},
            {"role": "assistant", "content": "It was built in 1889."},
        ],
        "context": ["It was built in 1889."],
    }
    other = {"id": "r", "answer": "It was built in 1923.", "context": row["context"]}
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "c", "label": 1}\n{"id": "r", "label": 0}\n')
    run = evaluate([row, other], client="embedded", progress=False)
    assert "raw agreement       1.000" in str(agreement(run, labels))


def test_fields_of_parts_are_merged_by_their_type() -> None:
    """Lists are concatenated, counts added, the lowest number and the first text kept."""
    parts: list[dict[str, Any]] = [
        {"list": [1], "flag": True, "count": 2, "share": 0.5, "by": {"a": 1}, "text": None},
        {
            "list": [2],
            "flag": False,
            "count": 3,
            "share": 0.25,
            "by": {"a": 2, "b": 1},
            "text": "t",
        },
    ]

    assert joined(parts) == {
        "list": [1, 2], "flag": True, "count": 5, "share": 0.25, "by": {"a": 3, "b": 1},
        "text": "t",
    }  # fmt: skip
    assert joined([{"text": None}, {"text": None}]) == {"text": None}
    assert joined([{"flag": True}, {"flag": None}, {"flag": True}])["flag"] is True
    assert joined([{"flag": False}, {"flag": False}])["flag"] is False
    assert joined([{"share": None}, {"share": 0.5}, {"share": 0.75}]) == {"share": 0.5}


@pytest.mark.parametrize(
    ("given", "renamed"),
    [
        ({"reasoning": None}, {"reasoning": None}),
        ({"reasoning": "Chunks 0, 1 and 2 say so."}, {"reasoning": "Chunks 7, 3, 5 and 2 say so."}),
        ({"reasoning": "It has 1 door."}, {"reasoning": "It has 1 door."}),
        ({"statement": "Chunk 0 says so."}, {"statement": "Chunk 0 says so."}),
        ({"supporting_chunk_ids": [1, 0]}, {"supporting_chunk_ids": [3, 5, 7]}),
        ({"supporting_chunk_ids": [0, 1, 0]}, {"supporting_chunk_ids": [3, 5, 7]}),
        ({"chunk_ids": [2]}, {"chunk_ids": []}),
        ({"sentence_id": 1, "sentence_ids": [1, 4]}, {"sentence_id": 11, "sentence_ids": [11, 14]}),
        ({"sentence_id": None}, {"sentence_id": None}),
        (
            {"evidence": [{"text": "t", "chunk_id": 1, "start": 4, "end": 5}]},
            {"evidence": [{"text": "t", "chunk_id": 3, "start": None, "end": None}]},
        ),
        (
            {"evidence": [{"text": "t", "chunk_id": 2, "start": 4, "end": 5}]},
            {"evidence": [{"text": "t", "chunk_id": 0, "start": None, "end": None}]},
        ),
    ],
)
def test_chunks_are_named_as_in_the_conversation(
    given: dict[str, Any], renamed: dict[str, Any]
) -> None:
    """Chunk 0 is chunk 7 of it, chunk 1 was made from chunks 3 and 5, and chunk 2 from none."""
    change: dict[str, Any] = dict.fromkeys(("sentence_id", "sentence_ids"), (10).__add__)

    found = renumbered({"statements": [given]}, [(7,), (3, 5), ()], change)
    assert found == {"statements": [renamed]}


def said(text: str, *ids: int, number: int = 0, **more: Any) -> dict[str, Any]:
    """Return a statement of a turn, supported by the chunks with these ids, if there are any."""
    own = {"statement": text, "supporting_chunk_ids": list(ids), "is_supported": bool(ids)}
    return {**own, "sentence_id": number, **more}


def graded_turns(
    sample: Sample, *replies: dict[str, Any] | NotScorableError
) -> tuple[FaithfulnessResult, list[list[str]]]:
    """Return the result of a conversation, given that of each turn, and the sources of each."""
    shown: list[list[str]] = []

    def answer_flow(_grader: Any, row: Sample) -> Flow[Any]:
        yield from ()
        reply = replies[len(shown)]
        shown.append([chunk.text for chunk in row.context])
        if isinstance(reply, NotScorableError):
            raise reply
        return FaithfulnessResult.model_validate(reply)

    grader = SimpleNamespace(result_model=FaithfulnessResult, name="f")
    return drive(turns_flow(grader, sample, answer_flow), None, Meter()), shown


THREE = [
    {"question": "Who? I am Bo.", "answer": "Ann did. Bob did.", "context": ["a0", "a1"]},
    {"question": "And then?", "answer": "Cid did. Dan did. Eve did.", "context": ["b0"]},
    {"question": "So?", "answer": "Fay did.", "context": []},
]


def test_a_turns_result_has_its_places_in_the_conversation() -> None:
    """Sentences, characters, chunks, warnings and what was not read, each with its own turn."""
    sample = Sample(turns=THREE)
    first = {
        "statements": [said("Ann.", 1, 0, reasoning="Chunks 0 and 1 say so.", start=0, end=8)],
        "left_out": [1],
        "drift": ["lost name: Bob"],
    }
    second = {
        "statements": [said("Dan.", 2, 0, number=1, start=9, end=17), said("Eve.", number=2)],
        "no_claim_sentences": [{"sentence_id": 0, "reason": "r", "text": "Cid did."}],
        "drift": ["merged: Dan"],
        "unread": [Unread(read=1, passages=2, chunk_ids=[0, 2]).model_dump()],
        "calls": 2,
    }
    third = {"statements": [said("Fay.", 1, 2, reasoning="Chunk 2 says so.", start=0, end=8)]}
    result, shown = graded_turns(sample, first, second, third)

    answer = "> Who? I am Bo.\n\nAnn did. Bob did.\n\n> And then?\n\nCid did. Dan did. Eve did."
    answer += "\n\n> So?\n\nFay did."
    assert sample.answer == answer
    assert [chunk.text for chunk in sample.context] == ["I am Bo.", "a0", "a1", "b0"]
    assert shown == [
        ["a0", "a1", "I am Bo."],
        ["b0", "I am Bo.", "Ann."],
        ["I am Bo.", "Ann.", "Dan."],
    ]
    found = result.statements
    assert [one.supporting_chunk_ids for one in found] == [[1, 2], [1, 2, 3], [], [1, 2, 3]]
    assert [found[0].reasoning, found[3].reasoning] == [
        "Chunks 1 and 2 say so.",
        "Chunk 1, 2, 3 says so.",
    ]
    sentences = [span.text for span in split_sentences(answer)]
    placed = [sentences[one.sentence_id or 0] for one in found]
    assert placed == ["Ann did.", "Dan did.", "Eve did.", "Fay did."]
    assert [answer[one.start : one.end] for one in (found[0], found[1], found[3])] == [
        *("Ann did.", "Dan did.", "Fay did.")
    ]
    assert [sentences[number] for number in result.left_out] == ["Bob did."]
    assert [sentences[one["sentence_id"]] for one in result.no_claim_sentences] == ["Cid did."]
    assert result.drift == ["lost name: Bob (turn 1)", "merged: Dan (turn 2)"]
    assert result.unread == [Unread(read=1, passages=2, chunk_ids=[1, 2, 3], turn=2)]
    assert result.calls == 4


def test_each_turn_counts_its_own_statements() -> None:
    """One with a reason for no score has none, whatever it holds; questions are those as asked."""
    sample = Sample(turns=THREE)
    first = {"statements": [said("Ann.", 1), said("Bob.")], "left_out": [1]}
    second = {"statements": [said("Cid.", 0), said("Dan.", 0), said("Eve.")]}
    result, _ = graded_turns(sample, first, second, NotScorableError("empty_answer"))

    assert [one.model_dump() for one in result.turns] == [
        {
            "turn": 1,
            "question": "Who? I am Bo.",
            "statements": 2,
            "supported": 1,
            "reason": "answer_not_covered",
        },
        {"turn": 2, "question": "And then?", "statements": 3, "supported": 2, "reason": None},
        {"turn": 3, "question": "So?", "statements": 0, "supported": 0, "reason": "empty_answer"},
    ]
    assert [one.score for one in result.turns] == [None, 2 / 3, None]
    assert (result.unsupported_since, result.further_scores) == (2, {"supported_turns": 0.0})
    with pytest.raises(NotScorableError, match="empty_question"):
        graded_turns(sample, *(NotScorableError(why) for why in REASONS))


REASONS: tuple[Any, ...] = ("empty_answer", "empty_context", "empty_question")


def test_a_statement_that_was_shown_has_the_sources_of_its_first_turn() -> None:
    """Also where a later turn has others; where a source says the same, it is that source."""
    turns = [
        {"question": "Q?", "answer": "Ann. Bob.", "context": ["a0", "a1"]},
        {"question": "Q?", "answer": "Ann. Bob.", "context": ["b0", "Cid."]},
        {"question": "Q?", "answer": "Ann.", "context": ["c0"]},
    ]
    first = {"statements": [said("Ann.", 1)]}
    again = {"statements": [said("Ann.", 0), said("Ann.", 0)]}
    result, shown = graded_turns(Sample(turns=turns), first, again, {"statements": [said("x", 1)]})

    assert shown == [["a0", "a1"], ["b0", "Cid.", "Ann."], ["c0", "Ann.", "Ann."]]
    assert [one.supporting_chunk_ids for one in result.statements] == [[1], [2], [2], [1]]
    copied = {"statements": [said("Cid.", 0)]}
    result, _ = graded_turns(Sample(turns=turns), first, copied, {"statements": [said("x", 2)]})
    assert result.statements[-1].supporting_chunk_ids == [3]
