"""A grader is used as it is, and changed by asking for a changed copy."""

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evals import (
    AnswerRelevance,
    AuditedFaithfulness,
    ContextEvaluation,
    Faithfulness,
    FaithfulnessResult,
    Sample,
    TwoStepFaithfulness,
    errors,
)
from rag_evals.cache import StatementCache
from rag_evals.catalog import GRADERS
from rag_evals.core import JudgeReply
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.grading import VerifiedFaithfulness
from rag_evals.grading.extract import ExtractionReply, SentenceExtractor, StatementExtractor
from rag_evals.grading.grader import Grader, judge_name, resolve
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import LLMVerifier
from tests.conftest import EIFFEL


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[StatementCache]:
    """Open a statement cache of its own."""
    opened = StatementCache(tmp_path / "verdicts.sqlite3")
    yield opened
    opened.close()


def test_the_two_steps_are_an_instance_like_the_others() -> None:
    """`TwoStepFaithfulness.grade` works at once; the class has a name of its own."""
    assert isinstance(TwoStepFaithfulness, VerifiedFaithfulness)
    assert TwoStepFaithfulness.grade(**EIFFEL, client="embedded").score == 0.5
    assert GRADERS["faithfulness_two_step"] is TwoStepFaithfulness
    assert GRADERS["faithfulness_hhem"] is HHEMFaithfulness


def test_parts_are_changed_in_a_copy() -> None:
    """`with_parts` takes extractor, verifier and name, and leaves the shared grader alone."""
    before = TwoStepFaithfulness.fingerprint()
    quick = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=EmbeddedVerifier(), name="quick"
    )

    assert (quick.name, quick.verifier.name) == ("quick", "embedded")
    assert TwoStepFaithfulness.fingerprint() == before != quick.fingerprint()


def test_a_grader_shows_what_it_needs() -> None:
    """Each field, with "and" before the last; a setting is shown where it was changed."""

    class Needy(FaithfulnessResult):
        """A result of three fields."""

        requires = ("question", "answer", "context")

    needy = ContextEvaluation("Judge.", Needy, name="own")
    assert repr(needy) == "ContextEvaluation('own', needs question, answer and context)"
    assert repr(Faithfulness.with_language("de")) == (
        "ContextEvaluation('faithfulness', needs answer and context, language de)"
    )


@pytest.mark.parametrize("grader", GRADERS.values(), ids=GRADERS)
@pytest.mark.parametrize("name", ["threshold", "modle", "name", "requires", "result_model"])
def test_a_shipped_grader_is_not_changed(grader: Grader[Any], name: str) -> None:
    """What would do nothing, or would change the grader for a whole program, is refused."""
    before = copy.copy(vars(grader))
    with pytest.raises(
        errors.FixedGraderError, match=f"{grader.name}.{name} cannot be set"
    ) as seen:
        setattr(grader, name, 3)

    assert isinstance(seen.value, AttributeError)
    assert vars(grader) == before


@pytest.mark.parametrize(
    ("grader", "name", "way"),
    [
        (Faithfulness, "model", "use model= of grade and evaluate"),
        (Faithfulness, "language", "with_language(...), which returns a changed copy"),
        (Faithfulness, "name", "the constructor of ContextEvaluation to create your own"),
        (Faithfulness, "threshold", "has no such attribute"),
        (TwoStepFaithfulness, "verifier", "with_verifier(...)"),
        (TwoStepFaithfulness, "cache", "with_cache(...)"),
    ],
)
def test_the_way_that_works_is_named(grader: Grader[Any], name: str, way: str) -> None:
    """The message says how to get a changed grader."""
    with pytest.raises(errors.FixedGraderError) as seen:
        setattr(grader, name, None)

    assert way in str(seen.value)


@pytest.mark.parametrize(
    "changed",
    [
        AuditedFaithfulness.with_language("ru"),
        TwoStepFaithfulness.with_parts(verifier=EmbeddedVerifier()),
        Faithfulness.with_language("ru"),
        pickle.loads(pickle.dumps(AuditedFaithfulness)),
    ],
)
def test_copies_are_as_fixed_as_the_original(changed: Grader[Any]) -> None:
    """A copy that `with_…` or pickle made is refused the same."""
    with pytest.raises(errors.FixedGraderError):
        changed.treshold = 3  # type: ignore[attr-defined]  # a user's mistake


class Counting(ContextEvaluation[FaithfulnessResult]):
    """A grader of a user's own, which counts."""

    def __init__(self) -> None:
        super().__init__("Count it.", FaithfulnessResult)
        self.graded = 0


def test_a_users_own_grader_may_change_what_it_has() -> None:
    """State of its own stays possible; a name that it never had is a slip."""
    counting = Counting()
    counting.graded += 1
    counting._seen = {}  # type: ignore[attr-defined]  # made when first used

    assert counting.graded == 1
    with pytest.raises(errors.FixedGraderError, match="faithfulness.grdaed"):
        counting.grdaed = 2  # type: ignore[attr-defined]  # a user's mistake


def test_a_statement_cache_that_cannot_be_used_is_refused(
    cache: StatementCache,
) -> None:
    """A judge that grades the answer in one call looks nothing up."""
    with pytest.raises(errors.ConfigurationError, match=r"use TwoStepFaithfulness\.with_cache"):
        Faithfulness.with_cache(cache)


def test_a_model_for_an_endpoint_is_asked_instead_of_its_own(
    scripted: Callable[..., ScriptedJudge],
) -> None:
    """One string for the endpoint serves several models."""
    judge = scripted()
    for model in (None, "other"):
        Faithfulness.grade(**EIFFEL, client="openai/m", model=model)

    assert [request.body["model"] for request in judge.requests] == ["m", "other"]


@pytest.mark.parametrize("judge", ["embedded", "hf:a/b"])
def test_a_model_for_a_judge_without_one_is_refused(judge: str) -> None:
    """It would be ignored, and the caller think that the model had been asked."""
    with pytest.raises(errors.ConfigurationError, match=f"model is 'x', but the judge '{judge}'"):
        Faithfulness.grade(**EIFFEL, client=judge, model="x")


@pytest.mark.parametrize(
    ("own", "given", "window"),
    [(None, None, None), (500, None, 500), (None, 900, 900), (500, 900, 900)],
)
def test_a_window_that_is_given_counts_before_the_graders_own(
    own: int | None, given: int | None, window: int | None
) -> None:
    """A grader that shows no sources by statement needs none."""
    settings = {} if given is None else {"window": given}
    graders: list[Grader[Any]] = [Faithfulness, AnswerRelevance]
    changed = [one if own is None else one.with_settings(window=own) for one in graders]

    assert [resolve(one, "openai/m", settings=settings)[0].window for one in changed] == [
        window,
        None,
    ]


def test_options_of_calls_are_for_a_verifiers_own_endpoint_too(
    scripted: Callable[[Script], ScriptedJudge],
) -> None:
    """Whatever the judge of the grading is; without an endpoint they do nothing."""
    judge = scripted(None)
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=LLMVerifier(endpoint="openai/v")
    )
    grader.grade(**EIFFEL, client="embedded", reasks=2, timeout=30, settings={"seed": 7})

    assert [request.body.get("seed") for request in judge.requests] == [7]
    for option in ({"reasks": 2}, {"timeout": 30}):
        with pytest.raises(ConfigurationError, match="does nothing with 'embedded'"):
            Faithfulness.grade(**EIFFEL, client="embedded", **option)  # type: ignore[arg-type]  # one of two
    with pytest.raises(ConfigurationError, match=r"settings \(seed\) are given"):
        Faithfulness.grade(**EIFFEL, client="embedded", settings={"seed": 7})


def test_the_language_of_a_row_is_that_of_its_extraction() -> None:
    """Else that of the extractor; a statement has no blanks around it."""
    answer = "The tower is red."
    texts = []
    for own, row in (("ru", "en"), ("en", "ru"), ("ru", None), (None, None)):
        flow = StatementExtractor(language=own).flow(Sample(answer=answer, language=row))
        (call,) = next(flow)
        messages: Any = getattr(call, "messages", None)
        texts.append(messages[0]["content"].startswith("You"))
    assert texts == [True, False, False, True]
    said = {"statements": [{"sentence_id": 0, "statement": f" {answer}\n"}]}
    with pytest.raises(StopIteration) as stop:
        flow.send([JudgeReply(ExtractionReply.model_validate(said))])
    (found,) = stop.value.value.statements
    assert (found.text, found.claim.text, found.claim.sentence) == (answer, answer, answer)


def test_an_extraction_is_in_the_order_of_the_answer() -> None:
    """Statements and what claims nothing, however the judge gave them; settings are sent."""
    answer = "The tower is red. So there. It is old. Oh well."
    sample = Sample(answer=answer, question="What is it?")
    extractor = StatementExtractor(settings={"seed": 7}, model="m")
    flow = extractor.flow(sample)
    (call,) = next(flow)
    reply = {
        "statements": [
            {"sentence_id": 2, "statement": "The tower is old."},
            {"sentence_id": 0, "statement": "The tower is red."},
        ],
        "no_claim_sentences": [
            {"sentence_id": 3, "reason": "a sigh"},
            {"sentence_id": 1, "reason": "an aside"},
        ],
    }
    with pytest.raises(StopIteration) as stop:
        flow.send([JudgeReply(ExtractionReply.model_validate(reply))])
    found = stop.value.value

    assert [(one.sentence_id, one.text) for one in found.statements] == [
        (0, "The tower is red."),
        (2, "The tower is old."),
    ]
    assert [(one.sentence_id, one.text) for one in found.passed_over] == [
        (1, "So there."),
        (3, "Oh well."),
    ]
    last = found.statements[1]
    assert (last.claim.sentence, last.claim.before) == ("It is old.", "The tower is red.")
    assert (last.claim.question, answer[last.span.start : last.span.end]) == (
        "What is it?",
        "It is old.",
    )
    assert getattr(call, "settings", None) == {"seed": 7}
    assert getattr(call, "model", None) == "m"


@pytest.mark.parametrize(
    ("client", "model", "name"),
    [
        ("openai/m", None, "openai/m"),
        ("openai/m", "n", "openai/m (n)"),
        ("embedded", None, "embedded"),
    ],
)
def test_a_judge_is_named_with_the_model_that_is_asked(
    client: Any, model: str | None, name: str
) -> None:
    """The one that is given, beside the judge."""
    assert judge_name(client, model) == name
