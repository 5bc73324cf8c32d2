"""Labels are read from files and columns, and each is matched with the verdict that it is of."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evals.analysis import agreement
from rag_evals.analysis.labels import (
    Label,
    LabelledRun,
    Matched,
    Unit,
    labelled_units,
    only_grader,
    read_labels,
    weights_of,
)
from rag_evals.core import Finding
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run import Run, StoredSample
from tests.analysis.runs import record, scores_run


def write(name: str, *rows: Mapping[str, Any]) -> str:
    """Write rows as JSONL, in a folder if the name has one."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("\n".join(map(json.dumps, rows)))
    return name


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ([1], 1), ([0], 0), ([1, 0], None), ([1, 1, 0], 1), ([1, 0, 0], 0), ([1, 1, 0, 0], None),
        ([0.5], 0.5), ([0.25, 1], 0.625), ([0.5, 0.5], 0.5), ([0.25, 0.75], 0.5), ([0, 0.5], 0.25),
    ],
)  # fmt: skip
def test_a_unit_has_the_label_of_most_people(values: list[float], label: float | None) -> None:
    """Of yes and no the majority, or none in a tie; of scores the mean, whatever the others say."""
    unit = Unit("a", dict(enumerate(values)), 1.0)

    assert unit.label == label
    assert labelled_units([unit]) == ([] if label is None else [(unit, label)])


def test_a_unit_is_decided_by_one_verifier_or_by_none() -> None:
    """Several deciders, one of them unknown, or no verdict at all: none."""

    def decided(*names: str | None) -> str | None:
        found = tuple(Finding("s", True, "supported", decided_by=name) for name in names)
        return Unit("a", {}, 1.0, found).decided_by

    assert [decided("x"), decided("x", "x"), decided("x", "y"), decided("x", None), decided()] == [
        "x", "x", None, None, None,
    ]  # fmt: skip


def test_weights_are_of_all_units_or_of_none() -> None:
    """A mixture is refused with both counts, be it one of two or all but one."""

    def weights(*given: float | None) -> list[float] | None:
        return weights_of([Unit("a", {}, 1.0, weight=one) for one in given])

    assert [weights(), weights(None, None), weights(2.0), weights(1.0, 3.0)] == [
        None, None, [2.0], [1.0, 3.0],
    ]  # fmt: skip
    for given, told in (((1.0, None), "1 of 2"), ((None, 1.0, 1.0), "2 of 3")):
        with pytest.raises(DataError, match=f"^{told} labels were drawn"):
            weights(*given)


def _stored(columns: Mapping[str, Mapping[str, Any]], folder: Path | None = None) -> Run:
    samples = {name: StoredSample(name, columns=values) for name, values in columns.items()}
    records = [record(n, name, 1.0) for n, name in enumerate(columns)]
    return Run(records, samples=samples, folder=folder, manifest={"identity": {}})


def test_labels_come_from_the_files_of_a_run_or_else_from_its_columns() -> None:
    """All `labels*.jsonl` of the folder, or both columns, of which only some rows have each."""
    statements = [{"text": "It is.", "label": 0}]
    columns: dict[str, dict[str, Any]] = {
        "a": {"topic": "x"}, "b": {"statements": statements}, "c": {"label": "no"},
    }  # fmt: skip
    told = [("c", 0, None), ("b", 0, "It is.")]

    def read(run: Run, *sources: str) -> list[tuple[str, float, str | None]]:
        return [(one.sample_id, one.value, one.text) for one in read_labels(sources, run)]

    Path("run").mkdir()
    assert read(_stored(columns)) == read(_stored(columns, Path("run"))) == told
    assert read(_stored(columns), "label") == told[:1]
    assert read(_stored(columns), "statements", "label") == told[::-1]
    write("run/labels-ann.jsonl", {"id": "a", "label": 1})
    write("run/labels-bob.jsonl", {"id": "a", "label": 0})
    assert read(_stored(columns, Path("run"))) == [("a", 1, None), ("a", 0, None)]
    people = [one.annotator for one in read_labels((), _stored(columns, Path("run")))]
    assert people == ["labels-ann", "labels-bob"]
    # A column of any name, and one of lists; a file comes before a column of its name.
    named: dict[str, dict[str, Any]] = {"a": {"truth": "yes", "facts": statements, "own.jsonl": 0}}
    assert read(_stored(named), "truth", "facts") == [("a", 1, None), ("a", 0, "It is.")]
    assert read(_stored(named), write("own.jsonl", {"id": "b", "label": 1})) == [("b", 1, None)]


def test_one_person_says_the_same_in_all_files() -> None:
    """Two files of one annotator that differ are refused, and so is a weight of 0."""
    first = write("one.jsonl", {"id": "a", "label": 1, "annotator": "ann"})
    second = write("two.jsonl", {"id": "a", "label": 0, "annotator": "ann"})
    with pytest.raises(DataError, match="'one.jsonl', line 1 and 'two.jsonl', line 1: 'ann' label"):
        read_labels([first, second], scores_run([1.0]))
    with pytest.raises(DataError, match="the weight is 0; expected 1 or more"):
        read_labels(write("zero.jsonl", {"id": "a", "label": 1, "weight": 0}), scores_run([1.0]))


def test_a_row_is_named_by_its_sample_id_first() -> None:
    """An `id` of the data may stand beside it; 0 is an id."""
    lines = [{"sample_id": "a", "id": "x", "label": 1}, {"sample_id": 0, "id": "x", "label": 1}]
    found = read_labels(write("l.jsonl", *lines, {"id": 7, "label": 0}), scores_run([1.0]))

    assert [(one.sample_id, one.value) for one in found] == [("a", 1), ("0", 1), ("7", 0)]


def test_a_row_of_data_that_nobody_labelled_is_passed_over() -> None:
    """A file of data has lines without a label; a line that is neither is refused."""
    rows: list[dict[str, Any]] = [{"id": "a", "answer": "It is.", "label": None}, {"id": "b"}]
    label = {"id": "c", "answer": "It is.", "label": 1}

    assert len(read_labels(write("l.jsonl", rows[0], label), scores_run([1.0]))) == 1
    for row in (rows[1], {**rows[0], "label": ""}):
        with pytest.raises(DataError, match="line 2: no 'label' and no 'statements'"):
            read_labels(write("l.jsonl", label, row), scores_run([1.0]))


STATEMENTS = ("It stands in Paris.", "It opened in 1923.", "Nobody climbed it.")


def _row(
    verdicts: Sequence[bool | None],
    texts: Sequence[str] = STATEMENTS,
    *,
    about: str = "statement",
    **more: Any,
) -> dict[str, Any]:
    findings = [
        {"text": text, "verdict": verdict, "label": "", "about": about}
        for text, verdict in zip(texts, verdicts, strict=True)
    ]
    return record(0, "a", 0.5, findings=findings) | more


def _matched(row: dict[str, Any], *labels: dict[str, Any]) -> Matched:
    lines = [{"id": "a", "label": 1, **label} for label in labels]
    (matched,) = LabelledRun.load(Run([row]), write("l.jsonl", *lines)).matched
    return matched


def _units(matched: Matched) -> list[tuple[list[str], float, list[float]]]:
    return [
        ([one.text for one in unit.verdicts], unit.judged, list(unit.labels.values()))
        for unit in matched.statements
    ]


@pytest.mark.parametrize(
    ("label", "place"),
    [
        ({"statement": 1}, 1),
        ({"statement": 1, "text": STATEMENTS[1]}, 1),
        # The result has changed: what was the second statement is the first one now.
        ({"statement": 1, "text": STATEMENTS[0]}, 0),
        # The third has no verdict, and there is no fourth.
        ({"statement": 2, "text": STATEMENTS[0]}, 0),
        ({"statement": 3, "text": STATEMENTS[1]}, 1),
        ({"statement": 2}, None),
        ({"statement": 2, "text": STATEMENTS[2]}, None),
        ({"text": STATEMENTS[2]}, None),
    ],
)
def test_a_label_is_of_its_place_or_else_of_its_text(
    label: dict[str, Any], place: int | None
) -> None:
    """What has no verdict is nothing to be right about."""
    matched = _matched(_row([True, False, None]), label)

    texts = [] if place is None else [([STATEMENTS[place]], float(place == 0), [1.0])]
    assert (_units(matched), matched.unmatched) == (texts, int(place is None))
    left = [("a", verdict) for n, verdict in enumerate((True, False)) if n != place]
    assert matched.other_verdicts == left
    assert matched.noun == "statements"


def test_what_people_say_of_a_sentence_is_of_all_its_claims() -> None:
    """Supported if both are; two people are two labels of one unit, and nothing is left over."""
    texts = ("The tower stands in Paris", "the tower opened in 1923", "Nobody ever climbed it")
    sentence = {"text": "The tower stands in Paris and the tower opened in 1923."}
    people: list[dict[str, Any]] = [
        {**sentence, "annotator": "ann"},
        {**sentence, "annotator": "bob", "label": 0},
    ]
    for verdicts, judged in (((True, True), 1), ((True, False), 0), ((False, True), 0)):
        matched = _matched(_row([*verdicts, False], texts), *people)
        assert _units(matched) == [([*texts[:2]], judged, [1.0, 0.0])]
        assert (matched.unmatched, matched.other_verdicts) == (0, [("a", False)])


@pytest.mark.parametrize(
    ("said", "is_same"),
    [
        ("alpha beta gamma one two", True),
        ("alpha beta one two three", False),
        ("alpha beta gamma one two three", False),
        ("alpha beta", True),
        ("alpha beta one two", False),
    ],
)
def test_texts_are_the_same_from_three_of_five_words(said: str, is_same: bool) -> None:
    """Of the shorter text; of two texts as near, the label is of the first."""
    row = _row([True], ["alpha beta gamma delta epsilon"])

    assert len(_units(_matched(row, {"text": said}))) == is_same
    double = _row([True, False], ["alpha beta gamma delta", "alpha beta gamma epsilon"])
    (unit,) = _units(_matched(double, {"text": "alpha beta gamma"}))
    assert unit[0] == ["alpha beta gamma delta", "alpha beta gamma epsilon"]
    (unit,) = _units(_matched(double, {"text": "alpha beta"}, {"text": "gamma alpha"}))[:1]
    assert unit[0][0] == "alpha beta gamma delta"


@pytest.mark.parametrize(
    ("labels", "share"),
    [
        ([{"statement": 0}, {"statement": 1, "label": 0}], {None: 0.5}),
        ([{"statement": 0}], {}),
        # One statement that is labelled twice is not two; one that is not there is none.
        ([{"statement": 0}, {"statement": 0, "grader": "faithfulness"}], {}),
        ([{"statement": 0}, {"statement": 7}], {}),
        # A list of all statements is whole, however many the judge found, and counts those that
        # the judge did not find.
        ([{"statements": [{"text": STATEMENTS[0], "label": 1}]}], {None: 1.0}),
        ([{"statements": [{"text": STATEMENTS[0], "label": 1},
                          *({"text": f"Bananas {n} are yellow.", "label": 0} for n in range(3))]}],
         {None: 0.25}),
        # With one text left open it is not, unless there are as many labels as verdicts.
        ([{"statements": [{"text": STATEMENTS[0], "label": 1}, {"text": STATEMENTS[1]}]}], {}),
        ([{"statements": [{"text": STATEMENTS[0], "label": 1}, {"text": STATEMENTS[1], "label": 0},
                          {"text": "It is."}]}], {None: 0.5}),
        # One of two people labelled all, and each is asked for himself.
        ([{"statement": 0, "annotator": "x"}, {"statement": 1, "annotator": "x"},
          {"statement": 1, "label": 0, "annotator": "y"}], {"x": 1.0}),
    ],
)  # fmt: skip
def test_a_row_has_a_share_where_all_its_statements_are_labelled(
    labels: list[dict[str, Any]], share: dict[str | None, float]
) -> None:
    """Each person's share of supported statements; the row is right only if all of them are."""
    lines = [label if "statements" in label else {"label": 1, **label} for label in labels]
    path = write("l.jsonl", *({"id": "a", "weight": 3, **line} for line in lines))
    (found,) = LabelledRun.load(Run([_row([True, False], STATEMENTS[:2])]), path).matched

    assert [unit.labels for unit in found.scored_rows] == ([share] if share else [])
    whole = {who: float(one == 1) for who, one in share.items()}
    assert [unit.labels for unit in found.rows] == ([whole] if share else [])
    assert {unit.judged for unit in (*found.rows, *found.scored_rows)} <= {0.5}
    units = (*found.rows, *found.scored_rows, *found.statements)
    assert {unit.weight for unit in units} == {3}


def test_a_label_of_a_row_comes_before_its_statements() -> None:
    """The row's own label counts; verdicts and ranking score of the row are known with it."""
    row = _row([True, None, False], ranking_score=0.7)
    labels = [{"statement": 0, "label": 1}, {"statement": 2, "label": 1}]
    matched = _matched(row, {"label": 0}, *labels)
    (unit,) = matched.rows

    assert (unit.labels, unit.judged, unit.ranking) == ({None: 0}, 0.5, 0.7)
    assert [one.text for one in unit.verdicts] == [STATEMENTS[0], STATEMENTS[2]]
    assert [one.labels for one in matched.scored_rows] == [{None: 1.0}]
    # A score of 0 is one; a row without a score has labels or is not told.
    zero = _matched(_row([False], STATEMENTS[:1], score=0.0), {"label": 0})
    assert ([one.judged for one in zero.rows], zero.unscored) == ([0.0], [])
    rows = [record(n, name, None) for n, name in enumerate("abc")]
    run = Run([*rows, record(3, "d", 1.0)])
    path = write("l.jsonl", *({"id": name, "label": 1} for name in "abd"))
    (found,) = LabelledRun.load(run, path).matched
    assert (found.unscored, [one.sample_id for one in found.rows]) == (["a", "b"], ["d"])


@pytest.mark.parametrize(
    ("about", "noun"),
    [
        ("statement", "statements"), ("reference", "statements"), ("citation", "citations"),
        ("chunk", "chunks"), ("answer", "verdicts"),
    ],
)  # fmt: skip
def test_verdicts_have_a_name_by_what_they_are_about(about: str, noun: str) -> None:
    """A turn of a conversation is a heading above them; texts alone name only statements."""
    row = _row([True], STATEMENTS[:1], about=about)
    row["findings"].insert(0, {"text": "turn 1", "verdict": None, "label": "", "about": "turn"})
    matched = _matched(row, {"statement": 1})

    assert (matched.noun, len(matched.statements)) == (noun, 1)
    by_text = {"id": "a", "text": STATEMENTS[0], "label": 1}
    loaded = LabelledRun.load(Run([row]), write("t.jsonl", by_text, {"id": "a", "label": 1}))
    assert len(loaded.matched[0].statements) == int(noun == "statements")
    assert loaded.matched[0].unmatched == 0


def _of_graders(*names: str) -> Run:
    return Run(
        [_row([True, False, True], grader=name, score=1.0) for name in names]
        + [record(1, "b", None, grader=name) for name in names]
    )


def test_a_label_that_names_a_grader_is_of_no_other() -> None:
    """Not of one whose name begins alike; without a name it is of each."""
    run = _of_graders("faithfulness", "faithfulness_audited")
    named = {"id": "a", "statement": 0, "label": 1, "grader": "faithfulness_audited"}
    loaded = LabelledRun.load(run, write("l.jsonl", named))
    both = LabelledRun.load(run, write("l2.jsonl", {"id": "a", "statement": 0, "label": 1}))

    assert [one.grader for one in loaded.matched] == ["faithfulness_audited"]
    assert [one.grader for one in both.matched] == ["faithfulness", "faithfulness_audited"]
    assert only_grader(run, "faithfulness") == "faithfulness"
    assert only_grader(scores_run([1.0]), None) == "faithfulness"
    with pytest.raises(ConfigurationError, match="has the graders faithfulness, faithfulness_aud"):
        only_grader(run, None)


def test_labels_elsewhere_are_counted_and_their_files_named() -> None:
    """Each label counts, also two of one row; a file is named without its folder."""
    lines = [{"id": "x", "statement": n, "label": 1} for n in range(2)]
    first = write("l/one.jsonl", {"id": "a", "label": 1}, *lines)
    second = write("l/two.jsonl", {"id": "b", "label": 1}, {"id": "x", "label": 1})
    loaded = LabelledRun.load(_of_graders("faithfulness"), [first, Path(second)])

    assert (loaded.foreign, loaded.labels_from) == (3, ("one.jsonl", "two.jsonl"))
    assert LabelledRun.load(_of_graders("one"), first).labels_from == ("one.jsonl",)
    assert LabelledRun.load(_of_graders("one"), Path(first)).labels_from == ("one.jsonl",)
    assert list(loaded.by_row) == ["a", "x", "b"]
    assert loaded.by_row["b"] == [Label("b", 1, annotator="two")]


def test_a_grader_is_kept_for_what_is_left_out_of_it() -> None:
    """For a row without a score, or a statement that is not there; then nothing is measured."""
    run = _of_graders("one")
    unscored = write("u.jsonl", {"id": "b", "label": 1}, *[{"id": "x", "label": 1}] * 2)
    lost = write("s.jsonl", {"id": "a", "statement": 7, "label": 1})

    assert LabelledRun.load(run, unscored).matched[0].unscored == ["b"]
    assert LabelledRun.load(run, lost).matched[0].unmatched == 1
    with pytest.raises(DataError, match="verdict: 2 are for other rows, 1 labelled rows have no"):
        agreement(run, unscored)
    with pytest.raises(DataError, match="verdict: 0 are for other rows, 0 labelled rows have no"):
        agreement(run, lost)
    with pytest.raises(DataError, match="none of the 2 labels is for a row .* is for 'x'$"):
        agreement(run, write("x.jsonl", {"id": "x", "label": 1}, {"id": "y", "label": 1}))
