"""The parts of verified faithfulness: swapped, named, checked before they cost anything."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evals import Faithfulness, Sample, TwoStepFaithfulness, evaluate
from rag_evals.catalog import grader_from_file, grader_named
from rag_evals.core import Claim, Flow, Verdict, VerifierTraits, VerifyCall
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.grading import VerifiedFaithfulness
from rag_evals.grading.extract import SentenceExtractor, StatementExtractor
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import LLMVerifier
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
