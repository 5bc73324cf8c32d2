"""A guardrail decides the sentences of an answer, whole or while it is written."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import Faithfulness, guard, guard_stream, guard_sync
from rag_evals.errors import ConfigurationError, DataError, RagEvalsError
from rag_evals.verify.guarding import Guarded, GuardedSentence, MinSupport

CONTEXT = ["The Eiffel Tower stands in Paris.", "It was completed in 1889. It is 330 m high."]
ANSWER = (
    "Hello! The Eiffel Tower stands in Paris. Dr. Smith says it was completed in 1923.\n\n"
    "- It is 330.0 m high, e.g. in winter.\n- Bananas are blue… Really?\n\nAsk us for more"
)
ANSWERS = {
    "prose and a list": ANSWER,
    "Russian": "Башня стоит в Париже. Она построена в 1923 г. в Париже, т. е. давно. Это всё.",
    "Chinese": "塔在巴黎。它建于1923年。它很高。",
    "a code block": "It stands in Paris.\n\n```python\nprint('a. B. C')\n```\n\nIt is high.",
    "nothing": "",
    "only spaces": " \n ",
    "no end": "The tower stands in Paris",
    "emoji and joined letters": "It is high 👍🏽. नमस्ते दुनिया. It stands in Paris.",
}


async def pieces(text: str, size: int) -> AsyncIterator[str | None]:
    """Write a text in pieces, as a model does."""
    yield None
    for start in range(0, len(text), size):
        yield text[start : start + size]


def streamed(text: str, size: int) -> list[GuardedSentence]:
    """Return what the stream of a text yields."""

    async def collect() -> list[GuardedSentence]:
        return [one async for one in guard_stream(pieces(text, size), CONTEXT)]

    return asyncio.run(collect())


def test_every_sentence_gets_its_verdict() -> None:
    """Supported, not supported, or claims nothing; places are those of the answer."""
    guarded = asyncio.run(guard(ANSWER, CONTEXT))

    assert [(one.text, one.is_supported) for one in guarded.sentences[:3]] == [
        ("Hello!", None),
        ("The Eiffel Tower stands in Paris.", True),
        ("Dr. Smith says it was completed in 1923.", False),
    ]
    assert all(ANSWER[one.start : one.end] == one.text for one in guarded.sentences)
    assert "'1923' is not in any chunk" in guarded.unsupported[0].reason
    assert guarded.sentences[1].chunk_ids == (0,)
    assert not guarded.passed
    assert guarded.support == min(one.support for one in guarded.sentences if one.support)
    assert list(map(repr, guarded.sentences[:3])) == [
        "GuardedSentence('Hello!', claims nothing)",
        "GuardedSentence('The Eiffel Tower stands in Paris.', supported)",
        "GuardedSentence('Dr. Smith says it was completed in 1923.', not supported)",
    ]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_guardrail_decides_as_the_grader(answer: str) -> None:
    """Its verdicts are those of faithfulness with the embedded judge."""
    guarded = guard_sync(answer, CONTEXT)
    decided = [one for one in guarded.sentences if one.is_supported is not None]
    if decided:
        result = Faithfulness.grade(answer=answer, context=CONTEXT, client="embedded")
        assert [one.is_supported for one in result.statements] == [
            one.is_supported for one in decided
        ]
    else:
        assert guarded.passed


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 1000])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_stream_decides_as_the_whole(answer: str, size: int) -> None:
    """Whatever the pieces, the same sentences with the same verdicts."""
    assert streamed(answer, size) == list(guard_sync(answer, CONTEXT).sentences)


def test_a_sentence_is_decided_before_the_answer_has_ended() -> None:
    """The first verdict is there once the second sentence has its first word."""
    given: list[str] = []

    async def tokens() -> AsyncIterator[str]:
        for word in "It stands in Paris. It was completed in 1923.".split():
            given.append(word)
            yield f"{word} "

    async def first() -> GuardedSentence:
        async for one in guard_stream(tokens(), CONTEXT):
            return one
        raise AssertionError("nothing was decided")

    assert asyncio.run(first()).text == "It stands in Paris."
    assert given[-1] == "It"


def test_a_short_answer_is_read_with_its_question() -> None:
    """A date claims something only with what was asked."""
    asked, context = (
        "When was the Eiffel Tower completed?",
        ["The Eiffel Tower, completed in 1889."],
    )

    assert guard_sync("In 1889.", context, question=asked).passed
    assert not guard_sync("In 1923.", context, question=asked).passed


@pytest.mark.parametrize("min_support", [0.0, 0.5, "strict"])
def test_without_context_no_claim_passes(min_support: MinSupport) -> None:
    """Nothing carries a claim then, whatever was asked."""
    assert not guard_sync("The tower is high.", [], min_support=min_support).passed
    assert not guard_sync("The context does not mention Rome.", []).passed
    assert guard_sync("Hello!", []).passed


LONG = " ".join(f"It is {n} m high." for n in range(330, 360))


def bounded_stream(**bounds: Any) -> list[GuardedSentence]:
    """Guard the long answer while it is written."""

    async def collect() -> list[GuardedSentence]:
        return [one async for one in guard_stream(pieces(LONG, 7), CONTEXT, **bounds)]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("bounds", "decided", "said"),
    [
        ({"most_sentences": 3}, 3, "not decided: more than 3 sentences"),
        ({"most_sentences": 20}, 20, "not decided: more than 20 sentences"),
        ({"deadline_seconds": 1e-9}, 8, "not decided within 1e-09 s"),
    ],
)
def test_a_bound_is_said_and_what_is_behind_it_does_not_pass(
    bounds: dict[str, Any], decided: int, said: str
) -> None:
    """The rest of the answer is one sentence that nobody looked at."""
    guarded = guard_sync(LONG, CONTEXT, **bounds)
    rest = guarded.sentences[-1]

    assert (len(guarded.sentences), guarded.bound, guarded.passed) == (decided + 1, said, False)
    assert all(one.is_decided for one in guarded.sentences[:-1])
    assert (rest.is_decided, rest.reason, rest.text) == (False, said, LONG[rest.start :])
    assert said in repr(guarded)
    streamed = bounded_stream(**bounds)
    assert not streamed[-1].is_decided
    assert LONG.startswith(streamed[-1].text, streamed[-1].start)
    if "most_sentences" in bounds:
        assert len(streamed) == decided + 1


def test_the_time_of_all_sentences_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each eight take a second: after three times eight, two and a half seconds are over."""
    seconds = count()
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr("rag_evals.verify.guarding.time", clock)
    guarded = guard_sync(LONG, CONTEXT, deadline_seconds=2.5)

    assert (len(guarded.sentences), guarded.bound) == (25, "not decided within 2.5 s")
    guarded = guard_sync(LONG, CONTEXT, deadline_seconds=2)
    assert (len(guarded.sentences), guarded.bound) == (17, "not decided within 2 s")


def test_what_nobody_looked_at_does_not_pass() -> None:
    """Though everything before it is supported."""
    guarded = guard_sync("It is 330 m high. It is 330 m high.", CONTEXT, most_sentences=1)

    assert [one.is_supported for one in guarded.sentences] == [True, False]
    assert [one.is_decided for one in guarded.sentences] == [True, False]
    assert not guarded.passed


def test_an_answer_within_its_bounds_is_decided_whole() -> None:
    """As many sentences as are allowed reach no bound; by default 200 are."""
    assert guard_sync(LONG, CONTEXT, most_sentences=30, deadline_seconds=60).bound is None
    assert len(bounded_stream(most_sentences=30)) == 30
    assert guard_sync(" ".join([LONG] * 7), CONTEXT).bound == (
        "not decided: more than 200 sentences"
    )


def test_only_what_was_not_decided_is_warned_of() -> None:
    """The reasons of verdicts are no warnings; a sentence that nobody reads is one, once."""
    german = "Der Turm wurde im Jahr 1889 von Gustav Eiffel gebaut und steht noch heute in Paris."
    guarded = guard_sync(f"{ANSWER}\n\n{german}\n\n{german}", CONTEXT)
    unread = [one for one in guarded.sentences if one.text == german]

    assert guard_sync(ANSWER, CONTEXT).warnings == ()
    assert [(one.is_supported, one.is_decided) for one in unread] == [(False, False)] * 2
    assert guarded.warnings == (unread[0].reason,)
    assert guarded.warnings[0].startswith("the answer is in German")
    (copied,) = guard_sync(german, [german]).sentences
    assert (copied.is_supported, copied.is_decided) == (False, False)
    assert (copied.support or 0) > 0.8
    (read,) = guard_sync(german, [german], languages=["de"]).sentences
    assert (read.is_supported, read.is_decided, read.support) == (True, True, copied.support)


def test_an_answer_without_sentences_has_no_warning() -> None:
    """A question in other letters than the chunks matters only where something is decided."""
    question = "Где она?"

    assert guard_sync("", CONTEXT, question=question).warnings == ()
    (warning,) = guard_sync("It is 330 m high.", CONTEXT, question=question).warnings
    assert "the question is in Cyrillic letters, but chunk 0 is in Latin" in warning


@pytest.mark.parametrize("bounds", [{"most_sentences": 0}, {"deadline_seconds": 0}])
def test_a_bound_that_lets_nothing_be_decided_is_refused(bounds: dict[str, Any]) -> None:
    """With its name."""
    with pytest.raises(ConfigurationError, match=next(iter(bounds))):
        guard_sync(LONG, CONTEXT, **bounds)


WRONG = [
    (5, CONTEXT, 0.5, "answer"),
    (None, CONTEXT, 0.5, "answer is None; expected a string"),
    ("It.", CONTEXT, 90, "min_support is 90"),
    ("It.", CONTEXT, "careful", "careful"),
    ("It \ud800.", CONTEXT, 0.5, "surrogate"),
    ("It.", [None], 0.5, "None"),
]


@pytest.mark.parametrize(("answer", "context", "min_support", "said"), WRONG)
def test_what_cannot_be_guarded_is_refused(
    answer: str, context: list[str], min_support: MinSupport, said: str
) -> None:
    """With the value that is wrong."""
    with pytest.raises(RagEvalsError, match=said):
        guard_sync(answer, context, min_support=min_support)


def test_a_stream_is_asynchronous() -> None:
    """A list or a text is refused with the way to guard it."""

    async def guarded() -> None:
        async for _ in guard_stream(["It is high."], CONTEXT):  # type: ignore[arg-type]
            pass

    with pytest.raises(ConfigurationError, match=r"tokens is list; .* guard\(answer, context\)"):
        asyncio.run(guarded())


def test_a_stream_of_halves_of_pairs_is_refused() -> None:
    """As the whole answer would be."""
    with pytest.raises(DataError, match="surrogate"):
        streamed("It is \ud800 high", 3)


def found(supported: bool | None, support: float | None = None, **more: Any) -> GuardedSentence:
    """Return a sentence with its verdict."""
    return GuardedSentence("s", 0, 1, supported, support, **more)


LIMIT = found(False, reason="not decided: more than 2 sentences", is_decided=False)
GERMAN = found(False, 0.7, reason="German", is_decided=False)


@pytest.mark.parametrize(
    ("sentences", "passed", "support", "bound", "shown"),
    [
        ([], True, None, None, "passed: 0 of 0"),
        ([found(None)], True, None, None, "passed: 0 of 0"),
        ([found(True, 0.9), found(None), found(True, 0.8)], True, 0.8, None, "passed: 0 of 2"),
        ([found(True, 0.9), found(False, 0.2)], False, 0.2, None, "not passed: 1 of 2"),
        ([found(True, 0.9), GERMAN], False, 0.7, None, "not passed: 1 of 2"),
        (
            [found(None), GERMAN, found(False, 0.8), LIMIT],
            False,
            0.7,
            LIMIT.reason,
            "not passed: 3 of 3",
        ),
    ],
)
def test_an_answer_passes_with_each_of_its_claims(
    sentences: list[GuardedSentence],
    passed: bool,
    support: float | None,
    bound: str | None,
    shown: str,
) -> None:
    """What claims nothing is not counted; a language that is not read is no limit."""
    guarded = Guarded(tuple(sentences))
    more = f"; {bound}" if bound else ""

    assert (guarded.passed, guarded.support, guarded.bound) == (passed, support, bound)
    assert repr(guarded) == f"Guarded({shown} claims not supported{more})"
    assert guarded.unsupported == tuple(one for one in sentences if one.is_supported is False)


def test_a_limit_is_no_warning() -> None:
    """It is told with the answer; a language that is not read is told once."""
    limited = guard_sync("It stands in Paris. It is high. It is old.", CONTEXT, most_sentences=2)
    german = guard_sync("Der Turm ist sehr alt. Der Turm ist auch sehr hoch.", CONTEXT)

    assert [one.is_decided for one in limited.sentences] == [True, True, False]
    assert limited.warnings == ()
    assert limited.bound == "not decided: more than 2 sentences"
    assert [one.is_decided for one in german.sentences] == [False, False]
    assert (len(german.warnings), german.bound) == (1, None)


def test_a_short_sentence_is_in_the_language_of_what_it_is_about() -> None:
    """Its sources tell, or its question; alone nobody knows, and it is not decided."""
    source, question = (
        "The tower of Bauska is there and is very old.",
        "Where does the tower stand?",
    )
    found = [
        guard_sync("Riga.", [source]),
        guard_sync("Riga.", ["Bauska."], question=f"{question} And how old is it?"),
        guard_sync("Riga.", ["Bauska."]),
    ]

    assert [[one.is_decided for one in each.sentences] for each in found] == [
        *([True], [True], [False])
    ]
