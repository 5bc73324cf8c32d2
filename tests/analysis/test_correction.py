"""A few labels take the judge's bias out of a number, or the correction is refused."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evals import correct
from rag_evals.errors import DataError, TooFewLabelsError
from rag_evals.run import Run
from rag_evals.stats import mean_interval, prediction_powered_mean
from tests.analysis.runs import record, scores_run, statements_run


def judged(rows: int, *, right: float, base: float = 0.7, seed: int = 1) -> tuple[Run, str]:
    """Make a run of one-statement rows by a judge of known quality, and labels of 60 of them."""
    rng = random.Random(seed)
    truth = [rng.random() < base for _ in range(rows)]
    verdicts = [label == (rng.random() < right) for label in truth]
    run = statements_run(
        {f"r{n}": [(f"Statement {n}.", verdict)] for n, verdict in enumerate(verdicts)}
    )
    lines = [
        json.dumps({"sample_id": f"r{n}", "statement": 0, "label": truth[n]})
        for n in range(min(60, rows))
    ]
    Path("labels.jsonl").write_text("\n".join(lines))
    return run, "labels.jsonl"


def test_the_bias_of_a_judge_is_taken_out() -> None:
    """A judge that errs in one of five rows says 0.62 of 0.7; the correction holds the truth."""
    run, labels = judged(2_000, right=0.8)
    for found in correct(run, labels).corrections:
        powered = found.prediction_powered
        assert powered is not None
        assert powered.corrected.contains(0.7)
        assert powered.corrected.width <= found.labels_only.width
        assert found.judged == pytest.approx(0.62, abs=0.03)


def test_too_few_labels_are_refused_with_the_reason() -> None:
    """Below 20 labels nothing is printed but why."""
    run, labels = judged(1_000, right=0.9)
    few = Path(labels).read_text().splitlines()[:12]
    Path(labels).write_text("\n".join(few))

    with pytest.raises(TooFewLabelsError, match="12 labels; a correction needs at least 20"):
        correct(run, labels)


def test_a_refusal_is_given_once() -> None:
    """Not for each number again, though their labels differ in count."""
    rows = {f"r{n}": [("It is.", True), ("It was.", n % 2 == 0)] for n in range(30)}
    labels = [
        {"sample_id": f"r{n}", "statement": place, "label": True}
        for n in range(5)
        for place in range(2 if n < 4 else 1)
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))

    with pytest.raises(TooFewLabelsError, match="^9 labels; a correction needs") as caught:
        correct(statements_run(rows), "labels.jsonl")
    assert str(caught.value).count("a correction needs") == 1


def test_with_every_row_labelled_there_is_nothing_to_correct() -> None:
    """Then the labels' own mean is the answer, and the text says so."""
    run, labels = judged(60, right=0.8)
    found = correct(run, labels).corrections[0]

    assert found.prediction_powered is None
    assert str(found.refusal).startswith("every row has a label")
    assert "labels alone" in str(correct(run, labels))


def test_a_single_row_without_a_label_is_not_said_to_have_one() -> None:
    """One verdict has no spread; with weights the labels are compared with all rows instead."""
    run, labels = judged(61, right=0.8)
    with pytest.raises(TooFewLabelsError, match="^1 row without a label, but a correction needs"):
        correct(run, labels)

    lines = [json.loads(line) for line in Path(labels).read_text().splitlines()]
    Path(labels).write_text("\n".join(json.dumps({**line, "weight": 1}) for line in lines))
    found = correct(run, labels).corrections[0]
    assert (found.labelled, found.unlabelled) == (60, 1)
    assert found.prediction_powered is not None
    assert found.prediction_powered.unlabelled == 61


def test_scores_from_people_correct_the_mean_score() -> None:
    """Labels between 0 and 1 are scores: only the mean is corrected."""
    rng = random.Random(3)
    truth = [rng.choice([0.25, 0.5, 0.75, 1.0]) for _ in range(400)]
    run = scores_run([max(0.0, score - 0.2) for score in truth])
    lines = [json.dumps({"sample_id": f"r{n}", "label": truth[n]}) for n in range(50)]
    Path("labels.jsonl").write_text("\n".join(lines))
    (found,) = correct(run, "labels.jsonl").corrections

    assert found.target == "mean score"
    assert found.prediction_powered is not None
    assert found.prediction_powered.corrected.contains(sum(truth) / 400)
    assert found.prediction_powered.effective_labels > 100


def test_weighted_labels_are_compared_with_all_rows() -> None:
    """All of 40 hard rows are labelled, and one of nine others: the judge's mean is that of all."""
    scores = [0.2] * 40 + [0.8] * 360
    run = scores_run(scores)
    lines = [
        json.dumps({"sample_id": f"r{n}", "label": scores[n] + n % 5 / 20, "weight": weight})
        for weight, drawn in ((1, range(40)), (9, range(40, 400, 9)))
        for n in drawn
    ]
    Path("labels.jsonl").write_text("\n".join(lines))
    powered = correct(run, "labels.jsonl").corrections[0].prediction_powered

    assert powered is not None
    assert powered.judged == pytest.approx(sum(scores) / 400)
    # The weighted labels stand for all rows: the judge is 0.1 too strict, with any power.
    assert powered.corrected.estimate == pytest.approx(0.74 + 0.1, abs=1e-9)


def test_rows_of_one_document_widen_the_interval() -> None:
    """With `cluster=` alike rows count less."""
    rng = random.Random(4)
    good = [rng.random() for _ in range(20)]
    truth = [float(rng.random() < good[n % 20] ** 0.2) for n in range(600)]
    columns = {f"r{n}": {"document": f"d{n % 20}", "label": truth[n]} for n in range(600)}
    for n in range(200, 600):
        columns[f"r{n}"].pop("label")
    run = scores_run([truth[n] if n % 7 else 1 - truth[n] for n in range(600)], columns=columns)
    alone, clustered = (
        correct(run, cluster=cluster).corrections[0].labels_only.width
        for cluster in (None, "document")
    )

    assert clustered > alone


@pytest.mark.parametrize("cluster", [None, "document"])
def test_statements_of_one_document_or_of_one_row_count_as_one(cluster: str | None) -> None:
    """With `cluster=` the statements of all rows of a document are alike, and else a row's own."""
    texts = ("Snow fell.", "Trains stopped.")
    truth = {f"r{n}": [n // 4 % 3 > 0, n % 5 > 0] for n in range(60)}
    run = statements_run(
        {name: list(zip(texts, labels, strict=True)) for name, labels in truth.items()},
        {f"r{n}": {"document": f"d{n // 4}"} for n in range(60)},
    )
    lines = [
        json.dumps({"sample_id": f"r{n}", "statement": place, "label": truth[f"r{n}"][place]})
        for n in range(40)
        for place in range(2)
    ]
    Path("labels.jsonl").write_text("\n".join(lines))
    found = correct(run, "labels.jsonl", cluster=cluster).corrections

    labels = [label for n in range(40) for label in truth[f"r{n}"]]
    clusters = [n // 4 if cluster else n for n in range(40) for _ in range(2)]
    expected = mean_interval(labels, clusters=clusters)
    assert found[-1].target == "share of statements with a yes verdict"
    assert (found[-1].labels_only.low, found[-1].labels_only.high) == pytest.approx(
        (expected.low, expected.high)
    )


def test_labels_of_other_rows_are_refused() -> None:
    """No label fits: the message names the first."""
    Path("labels.jsonl").write_text('{"sample_id": "x", "label": 1}')

    with pytest.raises(
        DataError, match="none of the 1 labels is for a row in this run; the first is for 'x'"
    ):
        correct(scores_run([1.0]), "labels.jsonl")


def test_a_row_with_one_statement_unlabelled_has_no_share() -> None:
    """Two lines label one row: the first leaves a statement open, so the row's score is unknown."""
    texts = ("Snow fell.", "Trains stopped.", "Schools closed.", "Roads froze.")
    rows = {f"r{n}": [(text, n % 3 > 0) for text in texts] for n in range(60)}
    first = [{"text": "Snow fell.", "label": True}, {"text": "Trains stopped."}]
    last = [{"text": "Roads froze.", "label": True}]
    lines = [
        json.dumps({"sample_id": f"r{n}", "statements": statements})
        for n in range(30)
        for statements in (first, last)
    ]
    Path("labels.jsonl").write_text("\n".join(lines))
    found = correct(statements_run(rows), "labels.jsonl").corrections

    assert [one.target for one in found] == ["share of statements with a yes verdict"]


def _truth(n: int, place: int) -> bool:
    return (n // 4 * 5 + n * place) % 7 > 1


def _verdict(n: int, place: int) -> bool:
    return _truth(n, place) is not (n % 12 == 6 * place)


def _of_two_statements(*, is_weighted: bool = False) -> tuple[Run, str]:
    """Return a run of 80 rows, most of them in documents of four, and labels of the first 40."""
    run = statements_run(
        {f"r{n}": [(f"{n} {place}.", _verdict(n, place)) for place in (0, 1)] for n in range(80)},
        {f"r{n}": {"document": f"d{n // 4}" if n < 70 else None} for n in range(80)},
    )
    lines = [
        {"sample_id": f"r{n}", "statement": place, "truth": _truth(n, place)}
        | ({"weight": 1 + n % 3} if is_weighted else {})
        for n in range(40)
        for place in (0, 1)
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return run, "labels.jsonl"


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("cluster", [None, "document"])
def test_each_number_is_corrected_with_its_own_labels(
    cluster: str | None, is_weighted: bool
) -> None:
    """Mean score, rows at the threshold and statements, each with its rows, clusters and weights.

    Statements of a row are one cluster; rows without a document are independent.
    """
    run, labels = _of_two_statements(is_weighted=is_weighted)
    measured = correct(run, labels, column="truth", cluster=cluster, threshold=0.75)

    def shares(of: Callable[[int, int], bool]) -> list[float]:
        return [(of(n, 0) + of(n, 1)) / 2 for n in range(80)]

    judged = shares(_verdict)
    documents = [f"d{n // 4}" if n < 70 else None for n in range(80)] if cluster else None
    rows: list[str | None] = [key or f"row r{n}" for n, key in enumerate(documents or [None] * 80)]
    both = [(n, place) for n in range(80) for place in (0, 1)]
    tables: list[tuple[list[float], list[float], list[str | None] | None, int]] = [
        (shares(_truth), judged, documents, 40),
        ([float(one == 1) for one in shares(_truth)], [float(one >= 0.75) for one in judged],
         documents, 40),
        ([float(_truth(*one)) for one in both], [float(_verdict(*one)) for one in both],
         [rows[n] for n, _ in both], 80),
    ]  # fmt: skip
    for found, (truth, verdicts, keys, count) in zip(measured.corrections, tables, strict=True):
        # Weighted labels are compared with all rows.
        others = [*range(count, 2 * count), *(range(count) if is_weighted else ())]
        expected = prediction_powered_mean(
            truth[:count],
            verdicts[:count],
            [verdicts[n] for n in others],
            label_clusters=keys and keys[:count],
            unlabelled_clusters=keys and [keys[n] for n in others],
            weights=[1.0 + n * 40 // count % 3 for n in range(count)] if is_weighted else None,
        )
        assert found.prediction_powered == expected
        assert found.labels_only == expected.labels_only
        assert found.judged == pytest.approx(sum(verdicts) / len(verdicts))
        assert (found.labelled, found.unlabelled) == (count, count)
        assert found.refusal is None


def test_a_correction_says_its_numbers() -> None:
    """What is measured, of how much, by the judge, by labels alone and by both."""
    run, labels = _of_two_statements()
    lines = Path(labels).read_text().splitlines()
    Path(labels).write_text("\n".join(lines[:60]))
    measured = correct(run, labels, column="truth", threshold=0.75, cluster="document")

    assert str(measured).splitlines() == [
        "faithfulness, mean score: 30 labelled, 50 not",
        "  judge           0.675",
        "  labels alone    0.667 [0.360, 0.877]",
        "  PPI++           0.690 [0.460, 0.853], as good as 52 labels",
        "faithfulness, share of rows with a score of at least 0.75: 30 labelled, 50 not",
        "  judge           0.500",
        "  labels alone    0.533 [0.223, 0.820]",
        "  PPI++           0.557 [0.293, 0.793], as good as 43 labels",
        "faithfulness, share of statements with a yes verdict: 60 labelled, 100 not",
        "  judge           0.675",
        "  labels alone    0.667 [0.360, 0.877]",
        "  PPI++           0.687 [0.455, 0.853], as good as 101 labels",
        "intervals: rows are clustered by document",
    ]
    assert repr(measured.corrections[0]) == (
        "Correction(faithfulness: mean score, judge 0.675, 0.667 [0.360, 0.877], "
        "0.690 [0.460, 0.853])"
    )


def test_one_grader_can_be_corrected() -> None:
    """The one that is named, or every one that has labels; rows without a score have no part."""
    scores = {name: [0.0 if n % 5 else 1.0 for n in range(60)] for name in ("one", "two")}
    run = Run(
        record(n, f"r{n}", score if n < 50 else None, grader=name)
        for name, each in scores.items()
        for n, score in enumerate(each)
    )
    lines = [json.dumps({"id": f"r{n}", "label": int(n % 5 == 0)}) for n in range(30)]
    Path("labels.jsonl").write_text("\n".join(lines))
    (found,) = correct(run, "labels.jsonl", grader="two").corrections

    assert (found.grader, found.target) == ("two", "share of rows with a score of at least 1")
    assert (found.labelled, found.unlabelled, found.judged) == (30, 20, 0.2)
    both = correct(run, "labels.jsonl").corrections
    assert [one.grader for one in both] == ["one", "two"]
