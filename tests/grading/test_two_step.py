"""The parts of verified faithfulness: swapped, named, checked before they cost anything."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, Sample, TwoStepFaithfulness, evaluate
from rag_evals.cache import StatementCache
from rag_evals.catalog import grader_from_file, grader_named
from rag_evals.core import (
    Claim,
    Flow,
    JudgeCall,
    JudgeReply,
    LocalCall,
    Verdict,
    VerifierTraits,
    VerifyCall,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.grading import VerifiedFaithfulness
from rag_evals.grading.extract import (
    ExtractedStatement,
    Extraction,
    Extractor,
    SentenceExtractor,
    StatementExtractor,
)
from rag_evals.grading.two_step import VerifiedFaithfulnessResult, VerifiedStatement
from rag_evals.prompt import Prompt
from rag_evals.prompt.template import PromptHeader
from rag_evals.response_models import PassedOverSentence
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import Span
from rag_evals.verify import LLMVerifier
from rag_evals.verify.llm import StatementVerdict, VerifierReply
from tests.conftest import EIFFEL, PlainVerifier

Start = Callable[[Script], ScriptedJudge]


class Short(PlainVerifier):
    """A verifier that loses a verdict, in a flow of its own."""

    name = "short"

    def fingerprint(self) -> str:
        return "short"

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        call = VerifyCall(EmbeddedVerifier(), claims, chunks)
        (reply,) = yield [call]
        return call.read(reply)[1:]


def test_a_verifier_that_loses_a_verdict_fails_the_row() -> None:
    """The message says how many there are and how many there must be."""
    grader = TwoStepFaithfulness.with_parts(verifier=Short())

    with pytest.raises(VerifierError, match="1 verdicts for 2 statements; expected one for each"):
        grader.grade(**EIFFEL, client="embedded")


def test_a_call_of_a_verifier_has_a_verdict_on_each_claim_or_fails() -> None:
    """Before anybody reads them, whoever drives the call."""

    class Loses:
        def verify(self, claims: Sequence[Claim], chunks: Sequence[str]) -> list[Verdict]:
            return EmbeddedVerifier().verify(claims, chunks)[1:]

    claims = [Claim(text, text) for text in ("It is in Paris.", "It is old.")]
    with pytest.raises(VerifierError, match="1 verdicts for 2 statements"):
        VerifyCall(Loses(), claims, ["It is in Paris."]).run()


def test_a_sentence_that_is_left_out_does_not_claim_nothing_too(scripted: Start) -> None:
    """The judge says twice that a sentence with a year claims nothing: it is left out, once."""
    said = [{"sentence_id": 0, "statement": "The Eiffel Tower stands in Paris."}]
    silent = [{"sentence_id": 1, "reason": "an aside"}]
    judge = scripted({"statements": said, "no_claim_sentences": silent})
    grader = TwoStepFaithfulness.with_parts(
        extractor=StatementExtractor(), verifier=EmbeddedVerifier()
    )
    with pytest.warns(UserWarning, match="answer_not_covered"):
        result = grader.grade(**EIFFEL, client="openai/m")

    assert len(judge.requests) == 2
    assert (result.left_out, result.no_claim_sentences) == ([1], [])


def test_a_given_verifier_stays_whatever_the_judge() -> None:
    """`client="embedded"` decides nothing where another verifier was given."""
    grader = TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier(threshold=0.0))

    assert grader.grade(**EIFFEL, client="embedded").score == 1.0
    assert TwoStepFaithfulness.grade(**EIFFEL, client="embedded").score == 0.5


@pytest.mark.parametrize(
    "grader",
    [
        TwoStepFaithfulness.with_parts(extractor=StatementExtractor()),
        TwoStepFaithfulness.with_parts(verifier=LLMVerifier()),
    ],
)
def test_a_part_that_asks_a_judge_needs_one(grader: VerifiedFaithfulness) -> None:
    """The embedded judge cannot stand in for a model that was asked for."""
    with pytest.raises(ConfigurationError, match="calls a judge model, and 'embedded' is not one"):
        grader.grade(**EIFFEL, client="embedded")


def test_a_verifier_may_have_a_judge_of_its_own(scripted: Start) -> None:
    """One model extracts, another verifies."""
    judge = scripted(None)
    verifier = LLMVerifier(endpoint="openai/careful")
    result = TwoStepFaithfulness.with_parts(verifier=verifier).grade(
        **EIFFEL, client="openai/quick"
    )

    assert [r.body["model"] for r in judge.requests] == ["quick", "careful"]
    assert {s.decided_by for s in result.statements} == {"openai/careful"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpoint": "embedded"}, "'embedded'"),
        ({"endpoint": "openaii/m"}, "openaii"),
        ({"endpoint": "openai/m", "model": "n"}, "and model='n' both specify a model"),
        (
            {"prompt": "Decide."},
            "the template does not show the statements and the con",
        ),
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
        VerifiedFaithfulness(**settings)
    with pytest.raises(ConfigurationError, match=r"cache is 'x.sqlite3'; expected a Statement"):
        TwoStepFaithfulness.with_cache("x.sqlite3")  # type: ignore[arg-type]  # a user's mistake


def test_what_would_stop_the_verifier_is_found_before_the_first_call(scripted: Start) -> None:
    """A verifier may declare a check; a run asks it first, and so does a grade."""

    def stop() -> None:
        raise ConfigurationError("it is broken")

    class Broken(Short):
        traits = VerifierTraits(check=stop)

    judge = scripted(None)
    grader = TwoStepFaithfulness.with_parts(verifier=Broken())

    with pytest.raises(ConfigurationError, match="it is broken"):
        grader.grade(**EIFFEL, client="openai/m")
    with pytest.raises(ConfigurationError, match="it is broken"):
        evaluate([EIFFEL], [grader], "openai/m", progress=False)
    with pytest.raises(ConfigurationError, match="it is broken"):
        evaluate([EIFFEL], [grader], "openai/m", progress=False, repeat=2)
    assert judge.requests == []


def test_two_verifiers_are_compared_in_one_run(scripted: Start) -> None:
    """Two graders of one kind take two names."""
    scripted(None)
    quick = TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier(), name="quick")
    run = evaluate([EIFFEL], [quick, TwoStepFaithfulness], "openai/m", progress=False)

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
    assert grader.fingerprint() != TwoStepFaithfulness.fingerprint()
    assert grader.grade(**EIFFEL, client="embedded").score == 0.5
    with pytest.raises(ConfigurationError, match="--grader faithfulness_two_step --prompts"):
        grader_from_file(tmp_path / "extract_statements.jinja")


def test_fingerprints_tell_parts_apart() -> None:
    """Other parts, other results: a run must not go on with them."""
    graders = [
        TwoStepFaithfulness,
        TwoStepFaithfulness.with_parts(extractor=SentenceExtractor()),
        TwoStepFaithfulness.with_parts(verifier=LLMVerifier(batch_size=1)),
        TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier()),
        HHEMFaithfulness,
    ]

    assert len({grader.fingerprint() for grader in graders}) == len(graders)
    assert TwoStepFaithfulness.fingerprint() == TwoStepFaithfulness.fingerprint()


def test_with_the_embedded_judge_it_is_the_one_step_form() -> None:
    """Both faithfulness graders decide the same sentences in the same way."""
    one = Faithfulness.grade(**EIFFEL, client="embedded")
    two = TwoStepFaithfulness.grade(**EIFFEL, client="embedded")

    assert one == two


def test_a_batch_size_below_one_is_refused() -> None:
    """Checked when the verifier is made."""
    with pytest.raises(ConfigurationError, match="batch_size is 0; expected at least 1"):
        LLMVerifier(batch_size=0)


def test_a_language_must_be_a_code() -> None:
    """A language by its name is refused, as for graders with a prompt."""
    with pytest.raises(ConfigurationError, match="'Russian' is not a known code"):
        TwoStepFaithfulness.with_language("Russian")


def test_the_language_of_a_row_is_the_one_that_it_names() -> None:
    """It is not guessed from the answer."""
    with pytest.warns(UserWarning, match="unread_language"):
        result: Any = TwoStepFaithfulness.grade(Sample(**EIFFEL, language="de"), client="embedded")

    assert result.language == "de"


def test_settings_add_up_and_the_last_ones_count(scripted: Start) -> None:
    """In both steps, and in a verifier that takes the place of the default one."""
    judge = scripted(None)
    grader = TwoStepFaithfulness.with_settings(temperature=0.5, seed=7).with_settings(seed=8)
    wanted = {"temperature": 0.5, "seed": 8}
    grader.grade(**EIFFEL, client="openai/m")
    grader.with_verifier(LLMVerifier(settings={"seed": 9, "top_p": 0.9})).grade(
        **EIFFEL, client="openai/m"
    )

    assert grader.settings == wanted
    sent = [{k: r.body[k] for k in (*wanted, "top_p") if k in r.body} for r in judge.requests]
    assert sent == [wanted, wanted, wanted, wanted | {"top_p": 0.9}]


def test_a_changed_grader_keeps_everything_else() -> None:
    """Name, description, language, prompts, settings, cache and the parts that were given."""
    cache, extractor = StatementCache(), SentenceExtractor()
    prompts = {"verify_statements": Prompt(Prompt.shipped("verify_statements").text + " Go.")}
    grader = VerifiedFaithfulness(
        extractor=extractor,
        cache=cache,
        name="own",
        description="It is mine.",
        language="ru",
        prompts=prompts,
        settings={"seed": 7},
    )
    changed = [
        grader.with_settings(seed=7),
        grader.with_language("ru"),
        grader.with_cache(cache),
        grader.with_parts(extractor=extractor),
        grader.with_tunings([]),
    ]
    for one in changed:
        assert (one.name, one.description, one.language) == ("own", "It is mine.", "ru")
        assert (one.settings, one.cache) == ({"seed": 7}, cache)
        assert isinstance(one.extractor, SentenceExtractor)
        assert one.fingerprint() == grader.fingerprint()
    assert grader.fingerprint() != VerifiedFaithfulness(language="ru").fingerprint()
    kept: Any = grader.with_tunings([]).verifier
    assert isinstance(kept.verifier, LLMVerifier)


@pytest.mark.parametrize(
    ("extractor", "verifier", "asks", "rounds", "wants"),
    [
        (None, None, True, 2, True),
        (None, EmbeddedVerifier(), True, 1, False),
        (SentenceExtractor(), None, True, 1, True),
        (SentenceExtractor(), EmbeddedVerifier(), False, 0, False),
        (SentenceExtractor(), LLMVerifier(endpoint="openai/m"), False, 1, True),
        (None, LLMVerifier(endpoint="openai/m"), True, 2, True),
    ],
)
def test_what_a_grader_asks_is_what_its_parts_ask(
    extractor: Any, verifier: Any, asks: bool, rounds: int, wants: bool
) -> None:
    """A judge of its own is a round too; a cache is of use where verdicts take longer."""
    grader = VerifiedFaithfulness(extractor=extractor, verifier=verifier)

    assert (grader.asks_judge, grader.judge_rounds, grader.wants_cache) == (asks, rounds, wants)
    own = () if verifier is None or not verifier.traits.endpoints else ("openai/m",)
    assert tuple(grader.endpoints) == own
    assert not grader.with_cache(StatementCache()).wants_cache


def verified(decided_by: str, **more: Any) -> VerifiedStatement:
    """Return a supported statement and who decided it."""
    return VerifiedStatement(statement="s", is_supported=True, decided_by=decided_by, **more)


@pytest.mark.parametrize(
    ("cache", "made", "saved", "more"),
    [
        (None, 0, 0, {}),
        (None, 2, 0, {"calls saved": (0, 2)}),
        (None, 0, 2, {"calls saved": (2, 2)}),
        (None, 3, 2, {"calls saved": (2, 5)}),
        ("exact", 0, 0, {"from the cache": (2, 5)}),
        (
            "semantic",
            1,
            3,
            {
                "from the cache": (2, 5),
                "by a similar statement": (3, 5),
                "calls saved": (3, 4),
            },
        ),
    ],
)
def test_who_decided_how_many_and_what_it_saved_is_counted(
    cache: Any, made: int, saved: int, more: dict[str, tuple[int, int]]
) -> None:
    """Statements that the cache had, those of a similar one, and calls out of all that could be."""
    statements = [
        verified("a"),
        verified("b", from_cache=True),
        verified("a", from_cache=True, taken_from="t"),
        verified("a", taken_from="t"),
        verified("", taken_from=""),
    ]
    result = VerifiedFaithfulnessResult(
        statements=statements,
        deciders=["a", "b", "c"],
        cache=cache,
        verification_calls=made,
        calls_saved=saved,
    )
    by = {"decided by a": (3, 5), "decided by b": (1, 5), "decided by c": (0, 5)}

    assert result.tallies == by | more


@pytest.mark.parametrize(
    ("left_out", "statements", "is_unread", "reason"),
    [
        ([0], [verified("a")], True, "answer_not_covered"),
        ([], [], True, "no_statements"),
        ([], [verified("a")], True, "unread_language"),
        ([], [verified("a")], False, None),
    ],
)
def test_an_unread_language_is_the_last_reason_for_no_score(
    left_out: list[int], statements: list[VerifiedStatement], is_unread: bool, reason: str | None
) -> None:
    """What is missing from the answer is told first."""
    result = VerifiedFaithfulnessResult(
        statements=statements, left_out=left_out, is_unread=is_unread, language_warning="odd"
    )

    assert result.not_scorable == reason
    assert result.warnings[-1] == "odd"


EXAMPLE = {
    "context": ["It is red."],
    "statements": ["It is red."],
    "result": {
        "verdicts": [
            {
                "statement_id": 0,
                "reasoning": "r",
                "supporting_chunk_ids": [0],
                "is_supported": True,
            }
        ]
    },
}


def test_a_verifier_is_another_one_with_anything_else_that_is_asked() -> None:
    """Its name is not asked; the versions of its prompt in other languages are."""
    shipped = Prompt.shipped("verify_statements")
    alone = Prompt(shipped.text, header=shipped.header)
    makes: list[dict[str, Any]] = [
        {},
        {"batch_size": 5},
        {"model": "m"},
        {"endpoint": "openai/m"},
        {"language": "ru"},
        {"settings": {"seed": 7}},
        {"examples": [EXAMPLE]},
        {"prompt": Prompt(f"{shipped.text} Go.")},
        {"prompt": Prompt(shipped.text, header=PromptHeader(examples=[EXAMPLE]))},
        {"prompt": Prompt(shipped.text, header=PromptHeader())},
        {"prompt": alone, "examples": []},
        {"examples": []},
    ]
    found = [LLMVerifier(**given).fingerprint() for given in makes]

    assert len(set(found)) == len(makes)
    assert LLMVerifier(name="n").fingerprint() == found[0]
    assert LLMVerifier(batch_size=10).fingerprint() == found[0]


def test_a_verifier_is_another_one_with_another_form_of_reply() -> None:
    """The schema is part of what is asked."""

    class Longer(VerifierReply):
        remark: str = ""

    class Other(LLMVerifier):
        reply_model = Longer

    assert Other(examples=[]).fingerprint() != LLMVerifier(examples=[]).fingerprint()


@pytest.mark.parametrize(
    ("given", "name", "asks", "endpoints"),
    [
        ({}, "judge", True, ()),
        ({"model": "m"}, "m", True, ()),
        ({"endpoint": "openai/e"}, "openai/e", False, ("openai/e",)),
        ({"endpoint": "openai/e", "name": "n"}, "n", False, ("openai/e",)),
        ({"model": "m", "name": "n", "batch_size": 3}, "n", True, ()),
    ],
)
def test_a_verifier_is_called_by_what_is_known_of_it(
    given: dict[str, Any], name: str, asks: bool, endpoints: tuple[str, ...]
) -> None:
    """Ten statements go into one call, unless told otherwise."""
    verifier = LLMVerifier(**given)
    size = given.get("batch_size", 10)

    assert verifier.name == name
    assert verifier.traits == VerifierTraits(
        asks_judge=asks, endpoints=endpoints, batches=((name, size),)
    )


def test_a_call_has_the_facts_of_its_own_statements() -> None:
    """Claims that lean on others bring them; verdicts come in the order of the statements."""
    verifier = LLMVerifier(batch_size=2, model="m", settings={"seed": 7}, name="n")
    claims = [
        Claim("The tower is red."),
        Claim("It is <old>.", "And it is old.", "The tower is red.", "How old?"),
        Claim("Cats purr."),
    ]
    flow = verifier.flow(claims, ["a", "b"])
    calls: Any = next(flow)

    assert [(one.model, one.endpoint, one.settings) for one in calls] == [
        ("m", None, {"seed": 7})
    ] * 2
    assert [one.facts for one in calls] == [
        {"chunks": ["a", "b"], "chunk_count": 2, "statements": texts, "statement_count": len(texts)}
        for texts in (["The tower is red.", "It is <old>."], ["Cats purr."])
    ]
    text = calls[0].messages[0]["content"]
    assert [words in text for words in ("How old?", "And it is old.")] == [True, True]
    assert "How old?" not in calls[1].messages[0]["content"]

    def verdict(number: int, *ids: int) -> StatementVerdict:
        return StatementVerdict(
            statement_id=number, supporting_chunk_ids=list(ids), is_supported=bool(ids)
        )

    replies = [
        VerifierReply(verdicts=[verdict(1), verdict(0, 1, 0, 1)]),
        VerifierReply(verdicts=[verdict(0, 1)]),
    ]
    with pytest.raises(StopIteration) as stop:
        flow.send([JudgeReply(one) for one in replies])
    assert stop.value.value == [
        Verdict(1.0, True, (1, 0), "", decided_by="n"),
        Verdict(0.0, False, (), "", decided_by="n"),
        Verdict(1.0, True, (1,), "", decided_by="n"),
    ]


class Given(Extractor):
    """Five statements, of which one differs from the answer."""

    def fingerprint(self) -> str:
        return "given"

    def flow(self, sample: Sample) -> Flow[Extraction]:
        yield from ()
        made = [
            ExtractedStatement(
                f"s{n}", Claim(f"s{n}"), n, Span(n, n + 1, f"t{n}"), "odd" if not n else None
            )
            for n in range(5)
        ]
        silent = [PassedOverSentence(sentence_id=n, reason="r", text="t") for n in (6, 5)]
        return Extraction(tuple(made), tuple(silent), ("merged: x",), (7,))


class Batched(PlainVerifier):
    """Asks in batches of two and of three; its fifth verdict is somebody else's."""

    name = "own"

    def __init__(self, calls: int, languages: frozenset[str | None] | None = None) -> None:
        self.calls = calls
        self.traits = VerifierTraits(
            batches=(("a", 2), ("b", 3)), languages=languages, answer_support=sum
        )

    def fingerprint(self) -> str:
        return "batched"

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        call = JudgeCall(({"role": "user", "content": "a"},), VerifierReply)
        local = LocalCall(lambda _: 1, 1)
        yield [*[call] * self.calls, local]
        doubts: list[Any] = [None, None, "yes_no", "pronoun", None]
        return [
            Verdict(2**-n, n != 1, (n % 2,), f"r{n}", doubt=doubts[n], windows=n,
                    decided_by="other" if n == 4 else None)
            for n in range(5)
        ]  # fmt: skip


def flowed(grader: VerifiedFaithfulness, row: Sample) -> VerifiedFaithfulnessResult:
    """Run a grading whose calls have no replies."""
    flow = grader.flow(row)
    steps = next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.send([None] * len(steps))
    result: VerifiedFaithfulnessResult = stop.value.value
    return result


@pytest.mark.parametrize(("calls", "saved"), [(0, 5), (1, 4), (5, 0), (7, 0)])
def test_a_result_is_what_was_extracted_and_decided(calls: int, saved: int) -> None:
    """Calls are saved out of those that each batch would have taken, and other steps are none."""
    grader = VerifiedFaithfulness(extractor=Given(), verifier=Batched(calls))
    found = flowed(grader, Sample(answer="It is so.", context=["c", "d"]))

    assert [
        (one.statement, one.is_supported, one.supporting_chunk_ids, one.decided_by, one.fault)
        for one in found.statements
    ] == [
        ("s0", False, [], "own", "odd"),
        ("s1", False, [1], "own", None),
        ("s3", True, [1], "own", None),
        ("s4", True, [0], "other", None),
    ]
    assert [(one.support, one.windows, one.reasoning) for one in found.statements] == [
        (1.0, 0, "r0"),
        (0.5, 1, "r1"),
        (0.125, 3, "r3"),
        (0.0625, 4, "r4"),
    ]
    assert [(one.sentence_id, one.start, one.end) for one in found.statements] == [
        *((0, 0, 1), (1, 1, 2), (3, 3, 4), (4, 4, 5))
    ]
    assert [(one.sentence_id, one.reason, one.text) for one in found.no_claim_sentences] == [
        *((2, "unclear_yes_no", "t2"), (5, "r", "t"), (6, "r", "t"))
    ]
    assert (found.drift, found.left_out, found.verifier) == (["merged: x"], [7], "own")
    assert found.answer_support == 1.6875
    assert (found.verification_calls, found.calls_saved) == (calls, saved)
    assert (found.cache, found.deciders) == (None, [])


RUSSIAN = "Башня стоит в Париже, и она очень старая."


@pytest.mark.parametrize(
    ("of_row", "of_grader", "answer", "language", "is_unread"),
    [
        ("de", "fr", RUSSIAN, "de", True),
        (None, "fr", RUSSIAN, "fr", True),
        (None, "en", RUSSIAN, "ru", False),
        (None, None, RUSSIAN, "ru", False),
        ("en", None, RUSSIAN, "en", True),
        (None, None, "Riga.", None, True),
    ],
)
def test_the_language_of_an_answer_is_told_or_read(
    of_row: str | None, of_grader: str | None, answer: str, language: str | None, is_unread: bool
) -> None:
    """The row's, then the grader's unless that names only its prompts, then that of the text."""
    verifier = Batched(1, frozenset({"ru"}))
    grader = VerifiedFaithfulness(extractor=Given(), verifier=verifier, language=of_grader)
    found = flowed(grader, Sample(answer=answer, context=["7"] * 2, language=of_row))

    assert (found.language, found.is_unread) == (language, is_unread)
    anywhere = VerifiedFaithfulness(extractor=Given(), verifier=Batched(1), language=of_grader)
    assert not flowed(anywhere, Sample(answer=answer, context=["7"] * 2)).is_unread
