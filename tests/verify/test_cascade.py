"""A cascade: the cheap verifier decides what it is sure of, the other one the rest."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rag_evals
from rag_evals import Faithfulness, TwoStepFaithfulness, evaluate
from rag_evals.core import (
    Claim,
    Flow,
    Meter,
    Verdict,
    VerifiedTexts,
    VerifierChanges,
    VerifierTraits,
    as_claims,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.grader import drive
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.verify import (
    CascadeVerifier,
    ClassifierVerifier,
    LLMVerifier,
    read_judge,
    verifier_from_string,
)
from rag_evals.verify.cascade import described_stages
from rag_evals.verify.judge_string import KINDS, _options
from tests.conftest import PlainVerifier

Start = Callable[[Script], ScriptedJudge]

ROW: dict[str, Any] = {
    "answer": "The tower stands in Paris. The tower was finished in 1923. Cats purr at home.",
    "context": ["The tower stands in Paris. It was finished in 1889."],
}


class Fixed(PlainVerifier):
    """Gives each statement the support that stands in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[list[str]] = []

    def fingerprint(self) -> str:
        return self.name

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        yield from ()
        self.seen.append([claim.text for claim in claims])
        return [Verdict(float(c.text), float(c.text) >= 0.5, (), "as written") for c in claims]


def test_only_the_unsure_go_on() -> None:
    """Both ends of the band are unsure; order is kept and each verdict says who decided."""
    first, then = Fixed("first"), Fixed("then")
    cascade = CascadeVerifier(first, then, unsure=(0.2, 0.8))
    claims = as_claims(["0.1", "0.2", "0.5", "0.8", "0.9"])
    verdicts = drive(cascade.flow(claims, ["c"]), None, Meter())

    assert then.seen == [["0.2", "0.5", "0.8"]]
    assert [v.support for v in verdicts] == [0.1, 0.2, 0.5, 0.8, 0.9]
    assert [v.decided_by for v in verdicts] == ["first", "then", "then", "then", "first"]


def test_what_a_verifier_says_of_its_own_sureness_comes_first() -> None:
    """Unsure at a support of 1 goes on, sure at 0.5 stays, and what is in doubt always goes on."""

    class Telling(Fixed):
        def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
            yield from ()
            return [
                Verdict(1.0, True, (), "r", is_sure=False),
                Verdict(0.5, True, (), "r", is_sure=True),
                Verdict(1.0, True, (), "r", is_sure=True, doubt="declined"),
            ]

    then, claims = Fixed("then"), as_claims(["0.1", "0.2", "0.3"])
    drive(CascadeVerifier(Telling("first"), then).flow(claims, ["c"]), None, Meter())

    assert then.seen == [["0.1", "0.3"]]


@pytest.mark.parametrize("reading", ["first", "then", None])
def test_a_cascade_reads_the_question_where_one_of_its_verifiers_does(reading: str | None) -> None:
    """Whichever of the two it is: a cached verdict is then one of its question alone."""
    both = Fixed("first"), Fixed("then")
    for one in both:
        one.traits = VerifierTraits(reads_question=one.name == reading)

    assert CascadeVerifier(*both).traits.reads_question is (reading is not None)


def test_without_a_band_only_supported_is_decided_alone() -> None:
    """On labelled sets "not supported" is wrong too often at any support to be left at that."""
    then = Fixed("then")
    claims = as_claims(["0.0", "0.1", "0.8", "0.81"])
    verdicts = drive(CascadeVerifier(Fixed("first"), then).flow(claims, ["c"]), None, Meter())

    assert then.seen == [["0.0", "0.1", "0.8"]]
    assert verdicts[3].decided_by == "first"


def test_a_run_with_another_band_is_another_run(scripted: Start) -> None:
    """Other statements go on, so verdicts may differ: what one band graded, the other does not."""
    judge = scripted(None)
    for last in (0.8, 0.9):
        cascade = CascadeVerifier(EmbeddedVerifier(), LLMVerifier(), unsure=(0.0, last))
        grader = TwoStepFaithfulness.with_verifier(cascade)
        if last == 0.9:
            with pytest.raises(ConfigurationError, match="'out' has a different run"):
                evaluate([ROW], [grader], "openai/m", out="out")
        else:
            evaluate([ROW], [grader], "openai/m", out="out")
            asked = len(judge.requests)
    assert len(judge.requests) == asked


def test_the_fingerprint_is_of_both_verifiers_in_order_and_of_the_band() -> None:
    """Another first one, another second one, both the other way round, or another limit."""
    a, b, c = (Fixed(name) for name in "abc")
    bands = [(0.0, 0.8), (0.0, 0.9), (0.1, 0.8)]
    pairs = [(a, b), (a, c), (c, b), (b, a)]
    found = [CascadeVerifier(*pair, unsure=bands[0]).fingerprint() for pair in pairs]
    found += [CascadeVerifier(a, b, unsure=band).fingerprint() for band in bands[1:]]

    assert len(set(found)) == 6
    assert CascadeVerifier(Fixed("a"), Fixed("b")).fingerprint() == found[0]


def test_the_traits_are_those_of_both_in_order() -> None:
    """Warnings are those of the first, which judges most; languages those of the last."""
    both = Fixed("first"), Fixed("then")
    checked: list[str] = []
    for one in both:
        one.traits = VerifierTraits(
            endpoints=(f"openai/{one.name}",),
            batches=((one.name, 3),),
            untuned=(one.name,),
            threshold=0.5,
            is_instant=True,
            warn=lambda _, name=one.name: [f"{name} is unsure"],  # type: ignore[misc]  # bound now
            check=lambda name=one.name: checked.append(name),  # type: ignore[misc]  # as above
            languages=frozenset({one.name}),
            answer_support=min,
        )
    traits = CascadeVerifier(*both, unsure=(0.2, 0.7)).traits

    assert replace(traits, warn=None, check=None) == VerifierTraits(
        endpoints=("openai/first", "openai/then"),
        batches=(("first", 3), ("then", 3)),
        untuned=("first", "then"),
        stages=both,
        unsure=((0.2, 0.7),),
        languages=frozenset({"then"}),
    )
    assert traits.deciders == ["first", "then"]
    assert traits.warn is not None
    texts = VerifiedTexts(question=None, answer="a", chunks=["c"], language="en")
    assert traits.warn(texts) == ["first is unsure"]
    assert traits.check is not None
    traits.check()
    assert checked == ["first", "then"]


def test_the_bands_of_cascades_in_a_cascade_are_in_the_order_of_their_stages() -> None:
    """Of the first cascade, between the two, of the second."""
    one = CascadeVerifier(Fixed("a"), Fixed("b"), unsure=(0.1, 0.9))
    two = CascadeVerifier(Fixed("c"), Fixed("d"), unsure=(0.2, 0.8))
    traits = CascadeVerifier(one, two, unsure=(0.3, 0.7)).traits

    assert traits.unsure == ((0.1, 0.9), (0.3, 0.7), (0.2, 0.8))
    assert traits.deciders == ["a", "b", "c", "d"]


def test_changes_reach_both_verifiers() -> None:
    """The first one may decline in any case, since another one comes after it."""

    class Changing(Fixed):
        def adapt(self, changes: VerifierChanges) -> "Changing":
            changed = Changing(f"{self.name} {changes.language} {changes.may_decline}")
            changed.traits = self.traits
            return changed

    cascade = CascadeVerifier(Changing("a"), Changing("b"))
    adapted = cascade.adapt(VerifierChanges(language="ru"))

    assert cascade.name == "a None True>b"
    assert adapted.name == "a None True ru False None True>b ru False"
    assert adapted.unsure == cascade.unsure


def test_nobody_unsure_nobody_asked() -> None:
    """The second verifier is not started for nothing."""
    then = Fixed("then")
    cascade = CascadeVerifier(Fixed("first"), then, unsure=(0.2, 0.8))
    drive(cascade.flow(as_claims(["0.0", "1.0"]), ["c"]), None, Meter())

    assert then.seen == []


def test_a_lost_verdict_is_an_error() -> None:
    """A verifier inside a cascade cannot drop a statement either."""

    class Lazy(Fixed):
        def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
            return (yield from super().flow(claims[:-1], chunks))

    with pytest.raises(VerifierError, match="1 verdicts for 2 statements"):
        drive(
            CascadeVerifier(Lazy("a"), Fixed("b")).flow(as_claims(["0.1", "0.9"]), []),
            None,
            Meter(),
        )


@pytest.mark.parametrize("unsure", [(0.8, 0.2), (-0.1, 0.5), (0.5, 1.5)])
def test_a_band_outside_is_refused(unsure: tuple[float, float]) -> None:
    """Two numbers from 0 to 1, the lower one first."""
    with pytest.raises(ConfigurationError, match="expected two numbers from 0 to 1"):
        CascadeVerifier(EmbeddedVerifier(), LLMVerifier(), unsure=unsure)


def test_embedded_then_a_model(scripted: Start) -> None:
    """`client="embedded>openai/m"` asks the model only for what words leave open."""
    judge = scripted(None)
    result: Any = Faithfulness.grade(**ROW, client="embedded>openai/m")

    assert [len(r.statements) for r in judge.requests] == [
        sum(s.decided_by == "openai/m" for s in result.statements)
    ]
    assert {s.decided_by for s in result.statements} == {"embedded", "openai/m"}


def test_the_summary_counts_saved_calls(scripted: Start) -> None:
    """A row that words decide alone costs no call, and the summary says so."""
    judge = scripted(None)
    sure = {"answer": "The tower stands in Paris.", "context": ["The tower stands in Paris."]}
    run = evaluate([sure, ROW], ["faithfulness"], "embedded>openai/m", progress=False)
    tallies = run.summary().graders["faithfulness"].tallies

    assert len(judge.requests) == 1
    assert tallies["calls saved"] == (1, 2)
    assert tallies["decided by embedded"][0] + tallies["decided by openai/m"][0] == 4
    assert "statements decided by embedded " in str(run.summary())
    assert "calls saved 1 of 2" in str(run.summary())


@pytest.mark.parametrize("unsure", [0.2, (0.8, 0.2), (0.1, 0.2, 0.3), ("a", "b")])
def test_a_band_is_two_numbers(unsure: Any) -> None:
    """Whatever else is given is named in one error."""
    with pytest.raises(ConfigurationError, match="unsure is .*; expected two numbers from 0 to 1"):
        CascadeVerifier(EmbeddedVerifier(), LLMVerifier(), unsure=unsure)


@pytest.mark.parametrize("support", ["nan", "inf", "-3", "1.7"])
def test_a_support_that_is_none_is_an_error(scripted: Start, support: str) -> None:
    """NaN is neither sure nor unsure: it must not pass for either, here or in a grader."""
    scripted(None)
    cascade = CascadeVerifier(Fixed("first"), Fixed("then"))
    expected = "a support of .*; expected a number from 0 to 1"

    with pytest.raises(VerifierError, match=expected):
        drive(cascade.flow([Claim(support)], ["c"]), None, Meter())
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=Fixed("alone"))
    with pytest.raises(VerifierError, match=expected):
        grader.grade(answer=support, context=["c"], client="openai/m")


def test_a_chunk_id_that_does_not_exist_is_an_error() -> None:
    """Nothing invents a chunk."""

    class Inventive(Fixed):
        def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
            yield from ()
            return [Verdict(1.0, True, (0, 7), "r") for _ in claims]

    with pytest.raises(VerifierError, match=r"chunk ids \[7\]; there are 2 chunks"):
        drive(
            CascadeVerifier(Inventive("a"), Fixed("b")).flow([Claim("s")], ["c", "d"]),
            None,
            Meter(),
        )


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (EmbeddedVerifier(0.87), r"threshold of 'embedded' is 0.87, outside unsure=\(0.0, 0.8\)"),
        (EmbeddedVerifier(0.85), "choose a threshold inside, or widen unsure"),
        (LLMVerifier(), "a judge is never unsure: its support is 0 or 1"),
    ],
)
def test_a_first_that_cannot_be_unsure_or_errs_when_sure_is_refused(
    first: EmbeddedVerifier | LLMVerifier, message: str
) -> None:
    """A support of 0.85 under a threshold of 0.87 would be sure, unsupported and never asked."""
    with pytest.raises(ConfigurationError, match=message):
        CascadeVerifier(first, LLMVerifier())
    assert CascadeVerifier(first, LLMVerifier(), unsure=(0, 1)).name


@pytest.mark.parametrize("unsure", [(0.1, 1.0), (0.0, 0.9)])
def test_a_judge_that_is_never_unsure_comes_first_only_with_the_whole_band(
    unsure: tuple[float, float],
) -> None:
    """One side would do: its support is 0 or 1, so it would be sure there every time."""
    with pytest.raises(ConfigurationError, match="a judge is never unsure"):
        CascadeVerifier(LLMVerifier(), LLMVerifier(), unsure=unsure)


@pytest.mark.parametrize(
    ("unsure", "is_taken"),
    [
        ((0.5, 0.8), True),
        ((0.2, 0.5), True),
        ((0.5, 0.5), True),
        ((0.51, 0.8), False),
        ((0.2, 0.49), False),
    ],
)
def test_a_band_ends_at_the_threshold_at_the_latest(
    unsure: tuple[float, float], is_taken: bool
) -> None:
    """Both ends are unsure, so a threshold at an end is inside."""
    if is_taken:
        assert CascadeVerifier(EmbeddedVerifier(0.5), LLMVerifier(), unsure=unsure).unsure == unsure
    else:
        with pytest.raises(ConfigurationError, match="outside unsure"):
            CascadeVerifier(EmbeddedVerifier(0.5), LLMVerifier(), unsure=unsure)


@pytest.mark.parametrize("asking", ["first", "then", None])
def test_a_cascade_asks_the_judge_where_one_of_its_verifiers_does(asking: str | None) -> None:
    """Else no judge would have to be given, and a cached verdict would be anybody's."""
    both = Fixed("first"), Fixed("then")
    for one in both:
        one.traits = VerifierTraits(asks_judge=one.name == asking)

    assert CascadeVerifier(*both).traits.asks_judge is (asking is not None)


def test_each_stage_is_described_with_its_band() -> None:
    """Of three, the last decides whatever is left, and so has none."""
    inner = CascadeVerifier(EmbeddedVerifier(0.5), Fixed("then"), unsure=(0.2, 0.8))
    stages = described_stages(CascadeVerifier(inner, Fixed("last"), unsure=(0.1, 0.9)))

    assert [one["name"] for one in stages] == ["embedded", "then", "last"]
    assert [one.get("unsure") for one in stages] == [[0.2, 0.8], [0.1, 0.9], None]
    assert [one["has_support"] for one in stages] == [True, False, False]
    assert all(one["tuned"] is None for one in stages)
    assert all(one["fingerprint"] == one["as_used"] for one in stages)


@pytest.mark.parametrize("language", ["ru", None])
def test_the_second_is_asked_in_the_language_of_the_sample(
    scripted: Start, language: str | None
) -> None:
    """`with_language` and the sample's own language reach a verifier inside a cascade."""
    judge = scripted(None)
    row: dict[str, Any] = {"answer": "Башня, говорят, упала.", "context": ["Башня стоит в Париже."]}
    client = "embedded@0.5>openai/m"
    grader = Faithfulness if language is None else Faithfulness.with_language(language)
    grader.grade(**row, client=client, language="ru" if language is None else None)
    Faithfulness.grade(**row, client=client)

    russian, english = (request.body["messages"][0]["content"] for request in judge.requests)
    assert "утверждени" in russian
    assert english.startswith("You check statements")


def test_strings_name_verifiers() -> None:
    """`embedded`, `hf:MODEL`, `A>B`; anything else is a model endpoint."""
    assert isinstance(read_judge("embedded").verifier, EmbeddedVerifier)
    assert read_judge("openai/gpt-4o-mini").verifier is None
    chained = read_judge("embedded>hf:a/b>openai/m")
    assert chained.endpoint == "openai/m"
    assert chained.verifier is not None
    assert chained.verifier.name == "embedded>hf:a/b>openai/m"
    assert read_judge("embedded>hf:a/b").endpoint is None
    own = verifier_from_string("embedded>openai/m")
    assert not own.traits.asks_judge


@pytest.mark.parametrize(
    ("spec", "threshold", "languages"),
    [
        ("embedded", None, ()),
        ("embedded@0.25", 0.25, ()),
        ("embedded@strict", "strict", ()),
        ("embedded?languages=de,fr", None, ("de", "fr")),
        ("embedded@0.25?languages=any", 0.25, ("any",)),
        ("embedded@balanced?languages=de", "balanced", ("de",)),
    ],
)
def test_the_embedded_judge_has_its_settings_in_the_string(
    spec: str, threshold: Any, languages: tuple[str, ...]
) -> None:
    """A threshold by number or name, and languages besides its own two."""
    named, made = read_judge(spec).verifier, EmbeddedVerifier(threshold, languages=languages)

    assert isinstance(named, EmbeddedVerifier)
    assert (named.threshold, named.languages) == (made.threshold, made.languages)
    assert named.fingerprint() == made.fingerprint()
    assert named.traits.languages == made.traits.languages


def test_the_weights_of_the_embedded_judge_may_have_any_name(tmp_path: Path) -> None:
    """The last sign sets the threshold; a folder or a file may have one in its name too."""
    path = tmp_path / "a@b" / "w@1.json"
    path.parent.mkdir()
    weights = Path(rag_evals.__file__).parent / "_data" / "embedded_weights.json"
    path.write_bytes(weights.read_bytes())
    named = read_judge(f"embedded:{path}@0.3").verifier
    made = EmbeddedVerifier(0.3, weights=path)

    assert isinstance(named, EmbeddedVerifier)
    assert (named.name, named.threshold) == (f"embedded:{path}", 0.3)
    assert named.fingerprint() == made.fingerprint()


def test_a_chain_of_verifiers_is_read_from_left_to_right() -> None:
    """Each is followed by all that come after it; a judge at its end has its own endpoint."""
    chain = verifier_from_string("embedded@0.5 > decisions:openai/d?threshold=0.6 > openai/m")

    assert isinstance(chain, CascadeVerifier)
    assert chain.traits.deciders == ["embedded", "decisions:openai/d", "openai/m"]
    assert chain.traits.endpoints == ("decisions:openai/d", "openai/m")
    assert not chain.traits.asks_judge
    assert isinstance(chain.then, CascadeVerifier)
    assert chain.then.first.traits.threshold == 0.6
    spec = read_judge("embedded>decisions:openai/d?chunks=none>openai/m")
    assert spec.endpoint == "openai/m"
    assert spec.verifier is not None
    assert spec.verifier.traits.asks_judge
    alone = verifier_from_string("openai/m")
    assert (alone.name, alone.traits.endpoints) == ("openai/m", ("openai/m",))


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("local_files_only=TRUE", {"local_files_only": True}),
        ("local_files_only=0", {"local_files_only": False}),
        ("threshold=0.7&join=x", {"threshold": 0.7, "join": "x"}),
        ("revision=&dtype=float16", {"revision": "", "dtype": "float16"}),
        ("batch_size=07", {"batch_size": 7}),
    ],
)
def test_options_are_read_by_their_kinds(query: str, options: dict[str, Any]) -> None:
    """A text that is empty is given too."""
    found = _options(query, KINDS["hf:"])

    assert found == options
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in options.items()
    }


def test_classifier_options_stand_in_the_string() -> None:
    """`?device=...&batch_size=...` reaches the classifier and nobody else."""
    cascade = read_judge("embedded>hf:a/b?device=cuda:0&batch_size=4").verifier

    assert isinstance(cascade, CascadeVerifier)
    assert isinstance(cascade.then, ClassifierVerifier)
    assert (cascade.then.device, cascade.then.batch_size) == ("cuda:0", 4)
    labelled = read_judge("hf:a/b?entailment=LABEL_0&device=auto").verifier
    assert isinstance(labelled, ClassifierVerifier)
    assert labelled.entailment == "LABEL_0"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("openai/a>openai/b", "expected a local verifier, '>' and a judge for uncertain"),
        ("embedded>", "expected a local verifier, '>' and a judge for uncertain"),
        ("hf:", "needs a model"),
        ("hf:a/b?colour=red", "no option 'colour' for a classifier; options are: device"),
        ("hf:a/b?batch_size=x", "option batch_size is 'x'; expected a number"),
        ("hf:a/b?batch_size=0", "batch_size is 0; expected at least 1"),
        ("hf:a/b?device=tpu", "device is 'tpu'; expected 'cpu', 'cuda:0', 'mps' or 'auto'"),
        ("hf:a/b?threshold=2", "threshold is 2.0; expected a number from 0 to 1"),
        ("hf:a/b?batch_size=1.5", "option batch_size is '1.5'; expected a number"),
        ("hf:a/b?local_files_only=yes", "option local_files_only is 'yes'; expected 'true' or 'f"),
        ("hf:a/b?local_files_only=", "option local_files_only is ''; expected 'true' or 'false'"),
        ("embedded:", "judge 'embedded:' needs a file; expected embedded:weights.json"),
        ("embedded?device=cpu", "no option 'device' for the embedded judge; options are: langua"),
        ("decisions:", "judge 'decisions:' needs a model; expected 'decisions:openai/MODEL'"),
        ("embedded > ", "expected a local verifier, '>' and a judge for uncertain"),
    ],
)
def test_a_wrong_string_says_what_would_be_right(spec: str, message: str) -> None:
    """Checked before anything runs."""
    with pytest.raises(ConfigurationError, match=message.replace("?", r"\?")):
        read_judge(spec)


def test_a_model_is_refused_where_none_is_asked() -> None:
    """`model=` and `reasks=` make sense only where an endpoint is asked."""
    with pytest.raises(ConfigurationError, match="does not call a model"):
        Faithfulness.grade(**ROW, client="embedded>hf:a/b", model="m")
    with pytest.raises(ConfigurationError, match="reasks does nothing with 'embedded'"):
        Faithfulness.grade(**ROW, client="embedded", reasks=2)
