"""Tuning: what labels say of a verifier, who follows it, and who is refused."""

import asyncio
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_evals import (
    Faithfulness,
    Outcome,
    TwoStepFaithfulness,
    astream,
    evaluate,
    load_run,
    open_session,
    stream,
    tune,
)
from rag_evals.analysis.tuning import fit_confidence, split_folds
from rag_evals.core import Claim, Finding, Flow, Meter, Verdict, Verifier, VerifierTraits
from rag_evals.errors import (
    ConfigurationError,
    DataError,
    RagEvalsError,
    TooFewLabelsError,
    WeakJudgeError,
)
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.grading.grader import drive
from rag_evals.run import Run
from rag_evals.stats import (
    best_threshold,
    calibration_error,
    fit_support_map,
    independent_rows,
    measure_agreement,
    sure_side,
)
from rag_evals.verify import CascadeVerifier, Confidence, Promise, Tuning
from rag_evals.verify.tuned import TunedVerifier
from tests.conftest import PlainVerifier
from tests.labelled import labelled_rows
from tests.late import Late
from tests.scripted import JudgeRequest, Script, ScriptedJudge

if TYPE_CHECKING:
    from scipy import stats as scipy_stats
else:
    scipy_stats = Late("scipy.stats")

Start = Callable[[Script], ScriptedJudge]


class Numbered(PlainVerifier):
    """Gives each statement the support that stands at its end, as in "… 0.35."."""

    def __init__(self, name: str = "numbered", threshold: float = 0.5) -> None:
        self.name = name
        self._threshold = threshold
        self.traits = VerifierTraits(threshold=threshold)

    def fingerprint(self) -> str:
        return f"{self.name} {self._threshold}"

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        yield from ()
        supports = [float(one.text.rstrip(".").split()[-1]) for one in claims]
        return [Verdict(s, s >= self._threshold, (0,), "as written") for s in supports]


def rows(count: int = 120, *, seed: int = 0, per_row: int = 2) -> list[dict[str, Any]]:
    """Return answers whose statements are supported far more often than their support says."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        statements = []
        for place in range(per_row):
            chance = rng.random()
            text = f"Statement {place} of answer {number} has the support {chance**3:.6f}."
            statements.append({"text": text, "label": int(rng.random() < chance)})
        made.append(
            {
                "id": f"r{number}",
                "answer": " ".join(str(one["text"]) for one in statements),
                "context": ["Statements have supports."],
                "statements": statements,
            }
        )
    return made


def graded(data: list[dict[str, Any]], verifier: Verifier | None = None, **more: Any) -> Run:
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=verifier or Numbered()
    )
    return evaluate(data, grader, **more)


@cache
def tuned(count: int = 120) -> Tuning:
    """Tune by so many rows, once for all tests that need a tuning of them."""
    return tune(graded(rows(count)))


def test_labels_calibrate_and_move_the_threshold() -> None:
    """Too low supports are right on left-out rows, and more verdicts agree with people."""
    tuning = tuned()
    before, after = tuning.agreement_before, tuning.agreement_after

    assert (tuning.stage, tuning.labels, tuning.rows, tuning.level) == (
        "numbered", 240, 120, "statement",
    )  # fmt: skip
    # Every 240 / 200-th of the supports, from the lowest.
    supports = [float(one["text"][:-1].split()[-1]) for row in rows() for one in row["statements"]]
    assert list(tuning.spread) == [sorted(supports)[240 * place // 200] for place in range(200)]
    assert tuning.threshold < 0.4
    assert before.calibration_error > 0.2 > 0.12 > after.calibration_error
    assert after.balanced_accuracy > before.balanced_accuracy
    assert "balanced accuracy   0." in str(tuning)


def test_a_tuned_run_shows_shares_and_says_by_which_labels(tmp_path: Path) -> None:
    """Supports are those of the map, verdicts those of the threshold, and the file says it all."""
    tuning = tuned()
    tuning.write(tmp_path / "judge.json")
    again = graded(rows(seed=1), tuned=tmp_path / "judge.json", out=tmp_path / "run")
    findings = [one for outcome in again for one in outcome.findings]
    raw = [float(one.text.rstrip(".").split()[-1]) for one in findings]

    assert [one.support for one in findings] == [tuning.support_map(one) for one in raw]
    assert [one.verdict for one in findings] == [one >= tuning.threshold for one in raw]
    moved = next(one for one, own in zip(findings, raw, strict=True) if own < 0.5 and one.verdict)
    assert str(moved.reasoning).startswith("counted so by the threshold")
    line = "numbered: support calibrated with 240 labels (platt), supported from"
    assert line in str(again.summary())
    assert line in load_run(tmp_path / "run").notes()[0]


@pytest.mark.parametrize("rarer", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_folds_share_out_the_rarer_label(rarer: bool, seed: int) -> None:
    """Five of 30 rows hold one each: each of five folds tests one, and no row teaches itself."""
    rare = {0, 7, 20, 33, 50}
    groups, labels = [f"g{n // 2}" for n in range(60)], [(n in rare) is rarer for n in range(60)]
    folds = list(split_folds(groups, labels, 5, seed))

    assert [len(rare.intersection(tested)) for tested, _ in folds] == [1] * 5
    assert sorted(place for tested, _ in folds for place in tested) == list(range(60))
    for tested, taught in folds:
        assert sorted(tested + taught) == list(range(60))
        assert not {groups[n] for n in tested} & {groups[n] for n in taught}
    assert folds != list(split_folds(groups, labels, 5, seed + 1))
    assert len(list(split_folds(groups[:6], labels[:6], 5, seed))) == 3


@pytest.mark.parametrize("hard", [lambda n: n % 2, lambda _: 0, lambda _: 1])
def test_supports_of_0_and_1_cannot_be_tuned(hard: Callable[[int], int]) -> None:
    """There is nothing between them that a map could learn."""
    statements = [
        {"text": f"Statement {n} has the support {hard(n)}.", "label": int(n % 3 > 0)}
        for n in range(60)
    ]
    data = [
        {"id": f"r{n}", "answer": one["text"], "context": ["c"], "statements": [one]}
        for n, one in enumerate(statements)
    ]
    with pytest.raises(ConfigurationError, match="every support in this run is 0 or 1"):
        tune(graded(data))


@pytest.mark.parametrize("name", ["max_error", "confidence"])
def test_a_promise_of_percent_is_refused(name: str) -> None:
    """Before the run is read."""
    options: dict[str, Any] = {name: 5}
    with pytest.raises(ConfigurationError, match=f"{name} is 5; expected a number from 0 to 1"):
        tune("nowhere", "labels.jsonl", **options)


def test_confidence_tells_wrong_verdicts_from_right_ones(tmp_path: Path) -> None:
    """The least sure tenth is wrong more often, and a tuned run exports how sure verdicts are."""
    tuning = tuned()
    found = tuning.confidence
    again = graded(rows(seed=1), tuned=tuning, out=tmp_path / "run")
    exported = list(load_run(tmp_path / "run").rows("long"))

    assert found is not None
    assert 0.5 < found.auroc_low < found.auroc < found.auroc_high
    assert 0.08 < found.skipped < 0.12
    assert found.error_kept < found.error - 0.02
    assert found.error_kept < found.bound < found.error_kept + 0.1
    assert f"wrong instead of {found.error:.1%}, and at most {found.bound:.1%}" in str(tuning)
    chunks = ["Statements have supports."]
    findings = [one for outcome in again for one in outcome.findings]
    assert [one["confidence"] for one in exported] == [found.of(one, chunks) for one in findings]
    near = min(findings, key=lambda one: abs((one.support or 0) - 0.5))
    far = max(findings, key=lambda one: abs((one.support or 0) - 0.5))
    assert (found.of(near, chunks) or 0) < 0.7 < 0.8 < (found.of(far, chunks) or 0)


def test_the_figures_of_a_confidence_by_hand() -> None:
    """A quarter is skipped, and the bound on the errors of the rest is that of Clopper-Pearson.

    Labels count alone: a support of 0 is one, and not a support that is missing.
    """
    data = rows(240, per_row=1)
    statements = [row["statements"][0] for row in data]
    labels = [bool(one["label"]) for one in statements]
    supports = [float(one["text"].rstrip(".").split()[-1]) for one in statements]
    least = sorted(supports)[9]

    def fitted(lowest: float) -> Confidence:
        findings = [
            Finding(one["text"], None, "", support=lowest if support <= least else support)
            for one, support in zip(statements, supports, strict=True)
        ]
        shown = [(["Statements have supports."], 0)] * len(data)
        found = fit_confidence(findings, shown, labels, [row["id"] for row in data], skip=0.25)
        assert found is not None
        return found

    found = fitted(1e-9)
    wrong = round(180 * found.error_kept)
    assert found.skipped == pytest.approx(0.25)
    assert found.error_kept == pytest.approx(wrong / 180)
    assert found.error_kept < found.error < (wrong + 60) / 240
    assert found.bound == pytest.approx(scipy_stats.beta.ppf(0.975, wrong + 1, 180 - wrong))
    assert fitted(0.0) == found


def test_a_judge_that_is_never_wrong_has_no_confidence_to_learn() -> None:
    """It is tuned all the same: there are no wrong verdicts that signals could tell from others."""
    data = rows(60, per_row=1)
    for row in data:
        (statement,) = row["statements"]
        statement["label"] = int(float(statement["text"].rstrip(".").split()[-1]) > 0.1)
    tuning = tune(graded(data))

    assert (tuning.labels, tuning.confidence) == (60, None)
    assert tuning.agreement_after.balanced_accuracy > 0.9


def test_signals_that_say_nothing_give_no_confidence() -> None:
    """Where being wrong has nothing to do with the signals, no verdict gets a confidence."""
    data, rng = rows(), random.Random(3)
    for statement in (one for row in data for one in row["statements"]):
        # Wrong as often at any support.
        support = float(statement["text"].rstrip(".").split()[-1])
        statement["label"] = int((support > 0.2) is (rng.random() < 0.7))
    tuning = tune(graded(data))

    assert tuning.confidence is not None
    assert not tuning.confidence.weights
    assert "no signal: the AUROC 0." in str(tuning)
    assert "confidence" not in next(graded(rows(seed=1), tuned=tuning).rows("long"))


def in_a_stream(row: dict[str, Any], **more: Any) -> Outcome:
    return next(stream([row], **more))


def in_an_astream(row: dict[str, Any], **more: Any) -> Outcome:
    async def first() -> Outcome:
        return await anext(astream([row], **more))

    return asyncio.run(first())


def in_a_session(row: dict[str, Any], **more: Any) -> Outcome:
    with open_session(**more) as session:
        return session.grade(row)


@pytest.mark.parametrize("door", [in_a_stream, in_an_astream, in_a_session])
def test_every_door_takes_a_tuned_file(door: Callable[..., Outcome], tmp_path: Path) -> None:
    """The supports are those of the map, as in a run of `evaluate`."""
    tuning = tuned()
    tuning.write(tmp_path / "judge.json")
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=Numbered())
    found = door(rows(1, seed=1)[0], graders=grader, tuned=tmp_path / "judge.json")

    raw = [float(one.text.rstrip(".").split()[-1]) for one in found.findings]
    assert [one.support for one in found.findings] == [tuning.support_map(one) for one in raw]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (Numbered(threshold=0.6), "does not match this judge: it was made for another version"),
        (Numbered("other"), "is for 'numbered', but the judge has no such stage"),
    ],
)
def test_a_stale_or_foreign_file_is_refused(changed: Numbered, message: str) -> None:
    """Before anything is graded."""
    with pytest.raises(ConfigurationError, match=message):
        graded(rows(2), changed, tuned=tuned())


def test_statements_found_in_another_way_are_foreign(scripted: Start) -> None:
    """A judge that extracts makes other statements than sentences are."""
    scripted(None)
    tuning = tuned()
    extracting = TwoStepFaithfulness.with_parts(verifier=Numbered())

    with pytest.raises(ConfigurationError, match="extracted differently"):
        evaluate(rows(2), extracting, "openai/m", tuned=tuning)
    with pytest.raises(ConfigurationError, match="has no verifier that could use the tuned file"):
        evaluate(rows(2), "chunk_utility", "openai/m", tuned=tuning)
    with pytest.raises(ConfigurationError, match="two tuned files are for 'numbered'"):
        graded(rows(2), tuned=[tuning, tuning])


def test_a_language_that_nobody_labelled_is_decided_without_the_file() -> None:
    """Russian answers keep the embedded judge's own support, and a warning says so."""
    run = evaluate(list(labelled_rows()))
    tuning = tune(run)
    russian: dict[str, Any] = {
        "answer": "Башня стоит в Париже.",
        "context": ["Башня стоит в Париже."],
    }
    own: Any = Faithfulness.grade(**russian)
    found: Any = Faithfulness.grade(**russian, tuned=tuning)

    assert tuning.languages == ("en",)
    assert found.statements[0].support == own.statements[0].support
    assert "was tuned on English: not calibrated" in found.warnings[0]


@pytest.mark.slow
def test_a_cascade_keeps_its_promise_and_says_it() -> None:
    """What the first decides alone is wrong as seldom as promised; the rest goes on."""
    tuning = tune(graded(rows(1_000, per_row=1)), max_error=0.2)
    promise = tuning.promise
    assert promise is not None
    assert promise.supported_from is not None
    cascade = CascadeVerifier(Numbered(), Numbered("second"))
    fresh = rows(1_000, seed=1, per_row=1)
    run = graded(fresh, cascade, tuned=tuning)
    truth = {row["id"]: bool(row["statements"][0]["label"]) for row in fresh}
    alone = [
        (one.verdict, truth[outcome.sample_id])
        for outcome in run
        for one in outcome.findings
        if one.decided_by == "numbered"
    ]
    wrong = sum(verdict is not label for verdict, label in alone) / len(alone)

    assert 0.1 < len(alone) / 1_000 < 0.9
    assert wrong <= 0.2
    assert "with a bound of 20.0% (95% confidence, over all draws" in str(run.summary())


def test_a_first_that_keeps_no_promise_is_refused() -> None:
    """Few labels, or an error that is never low: the first judge decides nothing."""
    tuning = tuned(40)

    assert "decides nothing" in str(tuning)
    with pytest.raises(ConfigurationError, match="the numbered judge decides nothing here"):
        graded(rows(2), CascadeVerifier(Numbered(), Numbered("second")), tuned=tuning)


@pytest.mark.slow
def test_a_later_stage_is_bound_to_those_before_it() -> None:
    """Its labels are of what they left open: with another first stage it is foreign."""
    data = rows(600, per_row=1)
    first = tune(graded(data), max_error=0.15)
    cascade = CascadeVerifier(Numbered(), Numbered("second"))
    second = tune(graded(data, cascade, tuned=first), max_error=0.01)

    three = CascadeVerifier(Numbered(), CascadeVerifier(Numbered("second"), Numbered("third")))
    graded(rows(2), cascade, tuned=[first, second])
    with pytest.raises(ConfigurationError, match="other verifiers before this one"):
        graded(rows(2), cascade, tuned=second)
    with pytest.raises(ConfigurationError, match="the second judge decides nothing here"):
        graded(rows(2), three, tuned=[first, second])


def test_without_labels_a_cascade_says_that_it_is_not_calibrated() -> None:
    """In every summary, with what bounds the error."""
    run = graded(rows(3), CascadeVerifier(Numbered(), Numbered("second")))
    expected = "numbered is not calibrated: it decides alone if its support is above 0.8"

    assert expected in str(run.summary())


def test_labels_of_whole_rows_tune_the_weakest_statement() -> None:
    """They calibrate and choose a threshold, and promise nothing of single statements."""
    data = [
        {**row, "label": int(all(one["label"] for one in row["statements"])), "statements": None}
        for row in rows()
    ]
    tuning = tune(graded(data))

    assert (tuning.level, tuning.labels, tuning.promise) == ("row", 120, None)
    with pytest.raises(ConfigurationError, match="only whole rows"):
        graded(rows(2), CascadeVerifier(Numbered(), Numbered("second")), tuned=tuning)


def test_what_people_are_split_on_tunes_nothing(tmp_path: Path) -> None:
    """A row on which two people differ is left out, and so is one that is half supported."""
    data, files = rows(60, per_row=1), []
    for who in ("ann", "bob"):
        lines = [
            {"id": row["id"], "label": row["statements"][0]["label"] ^ (who == "bob" and n < 3)}
            for n, row in enumerate(data)
        ]
        lines[3]["label"] = 0.5
        files.append(tmp_path / f"{who}.jsonl")
        files[-1].write_text("\n".join(map(json.dumps, lines)))
    run = graded([{**row, "statements": None} for row in data])

    assert (tune(run, files[0]).labels, tune(run, files).labels) == (59, 56)


@pytest.mark.parametrize(("count", "is_enough"), [(70, False), (72, True)])
def test_each_side_is_promised_with_half_of_the_risk(count: int, is_enough: bool) -> None:
    """0.95 ** 72 is below 0.025: so many right verdicts show 5 % on both sides with 95 %."""
    data = [
        {
            "id": f"r{number}",
            "answer": f"Answer {number} has the support {0.9 if number % 2 else 0.1}.",
            "context": ["c"],
            "label": number % 2,
        }
        for number in range(2 * count)
    ]
    promise = tune(graded(data)).promise

    assert promise is not None
    limits = (promise.supported_from, promise.unsupported_up_to)
    assert limits == ((0.9, 0.1) if is_enough else (None, None))
    assert promise.expected_error == (0 if is_enough else None)
    assert promise.decided_share == float(is_enough)


def supported_by(supports: Sequence[float]) -> list[dict[str, Any]]:
    """Make a row of one statement for each support, labelled 0 and 1 in turn."""
    return [
        {
            "id": f"r{number}",
            "answer": f"Answer {number} has the support {support:.2f}.",
            "context": ["c"],
            "label": number % 2,
        }
        for number, support in enumerate(supports)
    ]


def test_a_support_at_the_threshold_of_the_other_folds_is_a_yes() -> None:
    """With two supports, both below 0.5, all are judged wrongly before, or right after."""
    tuning = tune(graded(supported_by([0.1, 0.4] * 20)))

    assert tuning.threshold == 0.4
    assert tuning.agreement_before.balanced_accuracy == 0.5
    assert tuning.agreement_after.balanced_accuracy == 1


def test_a_fold_that_nothing_can_be_learnt_for_keeps_its_verdicts() -> None:
    """One row alone tells labels apart: judged without it, its own statements stay as they were."""
    tuning = tune(graded(supported_by([*[0.5] * 40, 0.45]), Numbered(threshold=0.4)))
    before, after = tuning.agreement_before, tuning.agreement_after

    assert tuning.threshold == 0.5
    # All is accepted before; after, all but the row of 0.45 would be, which is accepted as well.
    assert before.balanced_accuracy == after.balanced_accuracy == 0.5


def _labels(change: Callable[[dict[str, Any]], int], count: int = 40) -> Run:
    data = rows(count, per_row=1)
    for row in data:
        row["statements"][0]["label"] = change(row)
    return graded(data)


def _of_one_row(value: int) -> Run:
    """Only the first row, of eight statements, has labels of this value."""
    data = [*rows(1, per_row=8), *rows(40, seed=1, per_row=1)]
    for place, row in enumerate(data):
        row["id"] = f"r{place}"
        for statement in row["statements"]:
            statement["label"] = 1 - value if place else value
    return graded(data)


def _not_three(row: dict[str, Any]) -> int:
    return int(int(row["id"][1:]) > 2)


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: _labels(lambda _: 1, 29), TooFewLabelsError, "29 labels are for statements"),
        (lambda: _labels(lambda _: 1, 30), TooFewLabelsError, "30 of the 30 labels say supported"),
        (lambda: _labels(_not_three), TooFewLabelsError, "5 of each"),
        (
            lambda: _labels(lambda row: int(float(row["answer"][:-1].split()[-1]) < 0.1), 60),
            WeakJudgeError,
            "support is not higher for statements",
        ),
        (lambda: _of_one_row(1), TooFewLabelsError, "that say supported are for row 'r0'; tuning"),
        (lambda: _of_one_row(0), TooFewLabelsError, "that say not supported are for row 'r0'"),
        (lambda: graded(rows(), Numbered(), tuned=tuned()),
         ConfigurationError, "'numbered' was already tuned"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_refused(
    run: Callable[[], Run], error: type[RagEvalsError], message: str
) -> None:
    """In one line that says what is wrong."""
    with pytest.raises(error, match=message):
        tune(run())


def test_labels_of_other_rows_are_refused(tmp_path: Path) -> None:
    """The message names the first of them."""
    run = graded(rows(9))
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"sample_id": "x", "label": 1}\n')

    with pytest.raises(DataError, match="none of the 1 labels is for a row"):
        tune(run, labels)


@pytest.mark.parametrize(
    ("threshold", "high", "decided"),
    [(0.3, None, [False, False]), (0.3, 0.8, [False, False]), (0.4, None, [False, True])],
)
def test_a_threshold_at_the_lower_limit_decides_nothing_there(
    threshold: float, high: float | None, decided: list[bool]
) -> None:
    """Up to the limit it is "not supported", surely: the limit itself is no verdict of yes."""
    tuning: Tuning = tuned(40)
    promise = Promise(
        max_error=0.1,
        confidence=0.95,
        unsupported_up_to=0.3,
        supported_from=high,
        decided_share=0.5,
    )
    changed = tuning.model_copy(update={"threshold": threshold, "promise": promise})
    verifier = TunedVerifier(Numbered(), changed, goes_first=True)
    claims = [Claim("It is 0.3."), Claim("It is 0.5.")]
    verdicts = drive(verifier.flow(claims, ["chunk"]), None, Meter())

    assert [one.is_supported for one in verdicts] == decided
    assert [one.is_sure for one in verdicts] == [True, False]


def test_a_support_at_the_upper_limit_is_final() -> None:
    """The limit is the support of a labelled statement, for which the promise holds as well."""
    tuning: Tuning = tune(graded(rows(40)))
    promise = Promise(max_error=0.1, confidence=0.95, supported_from=0.8, decided_share=0.5)
    changed = tuning.model_copy(update={"threshold": 0.5, "promise": promise})
    verifier = TunedVerifier(Numbered(), changed, goes_first=True)
    claims = [Claim("It is 0.79."), Claim("It is 0.8.")]
    verdicts = drive(verifier.flow(claims, ["chunk"]), None, Meter())

    assert [one.is_supported for one in verdicts] == [True, True]
    assert [one.is_sure for one in verdicts] == [False, True]


def test_a_tuned_verifier_is_itself_one_stage() -> None:
    """Its name and its work stay, its fingerprint does not."""
    tuning: Tuning = tuned()
    stage = TunedVerifier(Numbered(), tuning)

    assert stage.name == "numbered"
    assert stage.fingerprint() != Numbered().fingerprint()
    assert stage.traits.threshold == tuning.threshold_shown


def test_a_decision_model_is_tuned_as_any_other(scripted: Start, tmp_path: Path) -> None:
    """Its probabilities are supports: labels map them, and the file is bound to the model."""

    def answer(request: JudgeRequest) -> dict[str, float]:
        found = [
            (one.name, re.search(r"support (0\.\d+)", one.instructions))
            for one in request.questions
        ]
        return {name: float(support[1]) for name, support in found if support is not None}

    scripted(answer)
    luna, data = "decisions:openai/gpt-6-luna?chunks=none", rows(60)
    tuning = tune(evaluate(data, client=luna))
    tuning.write(tmp_path / "luna.json")
    again = evaluate(data, client=luna, tuned=tmp_path / "luna.json")
    finding = again.outcomes[0].findings[0]
    raw = float(finding.text.rstrip(".").split()[-1])

    assert (tuning.stage, tuning.labels) == ("decisions:openai/gpt-6-luna", 120)
    assert tuning.threshold < 0.4
    assert finding.support == pytest.approx(tuning.support_map(raw))
    with pytest.raises(ConfigurationError, match="gpt-6-sol"):
        evaluate(data, client=luna.replace("luna", "sol"), tuned=tuning)


@pytest.mark.parametrize("level", ["statement", "row"])
def test_data_unlike_the_labels_are_named(tmp_path: Path, level: str) -> None:
    """Fresh rows of one kind are like them; rows of other supports are not, also when read again.

    A file of an earlier version kept no supports: one line says that nobody can tell.
    """
    data = rows()
    if level == "row":
        for row in data:
            row["label"] = int(all(one["label"] for one in row.pop("statements")))
    tuning = tune(graded(data))
    other = [{**row, "answer": _raised(row["answer"])} for row in rows(60, seed=1)]
    alike = graded(rows(60, seed=1), tuned=tuning)
    unlike = graded(other, tuned=tuning, out=tmp_path / "run")
    old = tuning.model_copy(update={"spread": ()})
    (shift,) = (unlike.summary().shifts or {}).values()

    assert tuning.level == level
    assert "look like" not in str(alike.summary())
    assert "these data do not look like the labels of numbered" in str(unlike.summary())
    assert "these data do not look like" in " ".join(load_run(tmp_path / "run").notes())
    assert shift is not None
    assert (shift.is_foreign, shift.count) == (True, 120 if level == "statement" else 60)
    assert "does not contain the support values of its labels" in str(
        graded(rows(9), tuned=old).summary()
    )


def _raised(answer: str) -> str:
    return re.sub(r"0\.\d+", lambda found: f"{0.8 + 0.2 * float(found[0]):.6f}", answer)


@pytest.mark.slow
def test_a_cascade_is_compared_by_what_its_stages_decide() -> None:
    """What the first stage leaves open counts as that, and is what the second is compared by."""
    data = rows(600, per_row=1)
    first = tune(graded(data), max_error=0.15)
    cascade = CascadeVerifier(Numbered(), Numbered("second"))
    second = tune(graded(data, cascade, tuned=first))
    alike, other = rows(300, seed=1, per_row=1), rows(300, seed=2, per_row=1)
    unlike = [{**row, "answer": _raised(row["answer"])} for row in other]

    assert "look like" not in str(graded(alike, cascade, tuned=[first, second]).summary())
    assert "the labels of numbered" in str(graded(unlike, cascade, tuned=first).summary())


PEOPLE = [
    (row["id"], str(one["text"]), bool(one["label"]))
    for row in rows(90)
    for one in row["statements"]
]
NAMES, LABELS = [name for name, _, _ in PEOPLE], [label for _, _, label in PEOPLE]
SUPPORTS = [float(text.rstrip(".").split()[-1]) for _, text, _ in PEOPLE]


@cache
def _told(seed: int) -> tuple[Tuning, list[Finding]]:
    """Tune by a file of labels, with every argument; return the run's findings with it."""
    lines = [json.dumps({"id": name, "text": text, "truth": label}) for name, text, label in PEOPLE]
    Path("people.jsonl").write_text("\n".join(lines))
    run = graded(rows(90))
    tuning = tune(run, "people.jsonl", column="truth", max_error=0.33, confidence=0.8, seed=seed)
    return tuning, [one for outcome in run for one in outcome.findings]


def test_a_tuning_is_worked_out_from_its_labels() -> None:
    """Map, threshold, worth and quantiles are of all labels, and statements of a row are alike."""
    tuning, _ = _told(0)
    fitted = fit_support_map(LABELS, SUPPORTS)

    assert (tuning.slope, tuning.intercept) == (fitted.slope, fitted.intercept)
    assert tuning.threshold == best_threshold(LABELS, SUPPORTS)
    assert tuning.worth == independent_rows(SUPPORTS, NAMES)
    assert tuning.spread == tuple(sorted(SUPPORTS))
    assert (tuning.labels, tuning.rows, tuning.labels_from) == (180, 90, ("people.jsonl",))
    both = [
        sure_side(LABELS, SUPPORTS, side, max_error=0.33, clusters=NAMES, confidence=0.9)
        for side in ("supported", "unsupported")
    ]
    upper, lower = both
    assert upper is not None
    assert lower is not None
    decided = upper.decided + lower.decided
    assert 0 < decided < 180
    assert tuning.promise == Promise(
        max_error=0.33,
        confidence=0.8,
        supported_from=upper.limit,
        unsupported_up_to=lower.limit,
        expected_error=(upper.errors + lower.errors) / decided,
        decided_share=decided / 180,
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_figures_of_a_tuning_are_of_rows_that_were_left_out(seed: int) -> None:
    """Before, those of the run; after, of ten folds by this seed, and so is the confidence."""
    tuning, findings = _told(seed)
    verdicts, mapped = list(LABELS), list(SUPPORTS)
    for inside, rest in split_folds(NAMES, LABELS, 10, seed):
        own = fit_support_map([LABELS[n] for n in rest], [SUPPORTS[n] for n in rest])
        limit = best_threshold([LABELS[n] for n in rest], [SUPPORTS[n] for n in rest])
        for n in inside:
            verdicts[n], mapped[n] = SUPPORTS[n] >= limit, own(SUPPORTS[n])

    for figures, judged, shown in (
        (tuning.agreement_before, [one >= 0.5 for one in SUPPORTS], SUPPORTS),
        (tuning.agreement_after, verdicts, mapped),
    ):
        found = measure_agreement(LABELS, judged, clusters=NAMES).balanced_accuracy
        assert found is not None
        assert (figures.balanced_accuracy, figures.low, figures.high) == (
            found.estimate, found.low, found.high,
        )  # fmt: skip
        assert figures.calibration_error == calibration_error(LABELS, shown)
    chunks = [(["Statements have supports."], 0)] * 180
    assert tuning.confidence == fit_confidence(findings, chunks, LABELS, NAMES, seed=seed)


@pytest.mark.parametrize(("count", "level"), [(29, "row"), (30, "statement")])
def test_thirty_labels_of_statements_come_before_those_of_rows(count: int, level: str) -> None:
    """A label of a row with one statement is one of it, unless that has its own; two are not."""
    data = rows(60, per_row=1)
    for n, row in enumerate(data):
        row["label"] = row["statements"][0]["label"]
        if n >= count:
            text = f"{row['answer']} Another statement has the support 0.999."
            row["answer"] = text
            row["statements"] = None
        elif n < 10:
            row["statements"] = None
    tuning = tune(graded(data))

    # Ten rows without labelled statements have one statement; the last ones have two.
    assert tuning.level == level
    assert (tuning.labels, tuning.rows) == ((60, 60) if level == "row" else (count, count))
