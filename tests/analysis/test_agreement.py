"""Labels from people are read, matched with verdicts, and measured."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evals.analysis import agreement
from rag_evals.analysis.agreement import PeopleAgreement
from rag_evals.analysis.labels import Label, LabelledRun, Unit, read_labels
from rag_evals.core import Finding
from rag_evals.errors import DataError
from rag_evals.run import Run
from rag_evals.score_precision import ChunkPrecisionResult, GradedChunk
from rag_evals.score_recall import ContextRecallResult, ReferenceStatement
from rag_evals.stats import (
    auroc_interval,
    best_threshold,
    krippendorff_interval,
    measure_agreement,
)
from tests.analysis.runs import faithfulness, graded, record, scores_run, statements_run

TOWER = {"a": [("It stands in Paris.", True), ("It opened in 1923.", True)]}


def write(name: str, *rows: Mapping[str, Any]) -> str:
    """Write rows as JSONL."""
    Path(name).write_text("\n".join(map(json.dumps, rows)))
    return name


def table(measured: PeopleAgreement, level: str, group: str | None = None) -> Any:
    """Return the one table of a level."""
    (found,) = [t for t in measured.tables if t.level == level and t.group == group]
    return found


def test_a_reports_export_is_matched_by_place() -> None:
    """Grader, statement number and text name the verdict; all labelled makes a row label too."""
    labels = write(
        "labels.jsonl",
        {"sample_id": "a", "grader": "faithfulness", "statement": 0, "label": True,
         "text": "It stands in Paris."},
        {"sample_id": "a", "grader": "faithfulness", "statement": 1, "label": False,
         "text": "It opened in 1923."},
    )  # fmt: skip
    measured = agreement(statements_run(TOWER), labels)

    counts = table(measured, "statement").agreement.confusion
    assert (counts.true_positives, counts.false_positives) == (1, 1)
    assert table(measured, "row").agreement.confusion.false_positives == 1
    assert measured.unmatched == 0


def test_the_support_of_a_unit_is_that_of_its_weakest_verdict() -> None:
    """None where a verdict has none, or where there is no verdict at all."""

    def support(*supports: float | None) -> float | None:
        found = tuple(Finding("s", True, "supported", support=one) for one in supports)
        return Unit("a", {}, 1.0, found).support

    assert [support(0.7, 0.2), support(0.0), support(0.7, None), support()] == [
        0.2,
        0.0,
        None,
        None,
    ]


def test_labels_of_all_statements_are_a_share_of_the_row() -> None:
    """Of each person: three of four, and one of four; who labelled only some has no share."""
    said = {"a": [(f"It has {n} doors.", True) for n in range(4)]}
    given = {"x": (1, 1, 0, 1), "y": (0, 0, 1, 0), "z": (1, 1)}
    labels = write(
        "labels.jsonl",
        *(
            {"sample_id": "a", "grader": "faithfulness", "statement": n, "annotator": who}
            | {"text": f"It has {n} doors.", "label": value}
            for who, values in given.items()
            for n, value in enumerate(values)
        ),
    )
    (matched,) = LabelledRun.load(statements_run(said), labels, "faithfulness").matched
    (row,) = matched.scored_rows

    assert sorted(row.labels.values()) == [0.25, 0.75]
    assert len(matched.statements) == 4


def test_a_place_that_is_not_there_is_found_by_its_text() -> None:
    """The result has two statements now: the third of an earlier one is the second."""
    label = {"sample_id": "a", "grader": "faithfulness", "statement": 2, "label": False,
             "text": "It opened in 1923."}  # fmt: skip
    measured = agreement(statements_run(TOWER), write("labels.jsonl", label))

    assert table(measured, "statement").agreement.confusion.false_positives == 1
    assert measured.unmatched == 0


def test_a_note_alone_is_no_label() -> None:
    """A line of a report's export that has a note and no verdict counts neither way."""
    note = {"sample_id": "a", "grader": "faithfulness", "statement": 1, "text": "It opened.",
            "verdict": True, "agrees": None, "label": None, "note": "Which year?"}  # fmt: skip
    said = {**note, "statement": 0, "text": "It stands in Paris.", "agrees": True, "label": True}
    measured = agreement(statements_run(TOWER), write("labels.jsonl", said, note))

    assert table(measured, "statement").units == 1
    with pytest.raises(DataError, match="there are no labels"):
        agreement(statements_run(TOWER), write("notes.jsonl", note))


def test_statements_of_a_data_set_are_matched_by_their_words() -> None:
    """A label of a sentence belongs to all claims of it, and is supported when all of them are."""
    run = statements_run(
        {"a": [("The tower stands in Paris", True), ("the tower opened in 1923", False)]},
        {
            "a": {
                "statements": [
                    {"text": "The tower stands in Paris and the tower opened in 1923.", "label": 0},
                    {"text": "Bananas are yellow.", "label": 1},
                ]
            }
        },
    )
    measured = agreement(run)
    found = table(measured, "statement")

    assert found.agreement.confusion.true_negatives == 1
    assert (found.units, measured.unmatched) == (1, 1)


@pytest.mark.parametrize("verdict", [True, False])
def test_a_label_belongs_to_the_nearest_of_texts_with_the_same_words(verdict: bool) -> None:
    """A sentence that holds all words of another one does not take the other one's verdict."""
    texts = {"The tower is red.": verdict, "The tower is old and red today.": not verdict}
    statements = [{"text": text, "label": int(value)} for text, value in texts.items()]
    run = statements_run({"a": list(texts.items())}, {"a": {"statements": statements}})
    counts = table(agreement(run), "statement").agreement.confusion

    assert (counts.true_positives, counts.true_negatives) == (1, 1)
    assert (counts.false_positives, counts.false_negatives) == (0, 0)


@pytest.mark.parametrize("lost", [{"statement": 99}, {"statement": 99, "text": "Bananas."}])
def test_a_label_of_a_statement_that_is_not_there_is_no_label_of_the_row(
    lost: dict[str, Any],
) -> None:
    """It is left out, and makes nothing of the row, be it alone or beside another label."""
    run = statements_run({"a": [("It is in Paris.", True)], "b": [("It is in Rome.", True)]})
    rows = ({"sample_id": "a", "label": 0} | lost, {"sample_id": "b", "statement": 0, "label": 1})

    measured = agreement(run, write("labels.jsonl", *rows))
    assert measured.unmatched == 1
    assert table(measured, "row").rows == 1
    with pytest.raises(DataError, match="no label matches a verdict"):
        agreement(run, write("lost.jsonl", rows[0]))


def test_a_labelled_part_takes_the_verdict_of_the_whole_statement() -> None:
    """Atomic facts of a sentence that the judge took as one are all decided by its verdict."""
    run = statements_run({"a": [("The tower stands in Paris and opened to visitors.", False)]})
    facts = [{"text": "The tower stands in Paris.", "label": 1},
             {"text": "The tower opened to visitors.", "label": 0}]  # fmt: skip
    measured = agreement(run, write("l.jsonl", {"sample_id": "a", "statements": facts}))
    counts = table(measured, "statement").agreement.confusion

    assert (counts.false_negatives, counts.true_negatives, measured.unmatched) == (1, 1, 0)


def test_rows_are_right_from_the_threshold() -> None:
    """A row label meets the score; the best threshold comes with it."""
    run = scores_run([1.0, 0.8, 0.4, 0.2])
    labels = write("rows.jsonl", *({"sample_id": f"r{n}", "label": n < 2} for n in range(4)))
    strict, mild = (table(agreement(run, labels, threshold=t), "row") for t in (1.0, 0.8))

    assert strict.agreement.confusion.false_negatives == 1
    assert mild.agreement.balanced_accuracy.estimate == 1
    assert mild.best == 0.8
    assert mild.auroc.estimate == 1
    assert "best threshold      0.8" in str(agreement(run, labels))
    # One person agrees with nobody, and a single row of a label has no interval of an area.
    assert strict.alpha is None
    single = write("single.jsonl", *({"sample_id": f"r{n}", "label": n < 1} for n in range(4)))
    found = table(agreement(run, single), "row")
    assert (found.auroc, found.best) == (None, 1.0)


def test_groups_are_measured_each() -> None:
    """Every group of the column has a table; rows without it are named (none)."""
    columns = {f"r{n}": {"label": n % 2, "topic": "x" if n < 4 else None} for n in range(8)}
    measured = agreement(scores_run([1.0] * 8, columns=columns), by="topic")

    assert table(measured, "row", "x").units == 4
    assert table(measured, "row", "(none)").units == 4
    assert "  x: 4 rows" in str(measured)


def test_several_people_get_an_alpha_and_a_majority() -> None:
    """Each file is a person; evenly split rows are left out and counted."""
    run = scores_run([1.0] * 4)
    said = {"anna": [1, 1, 0, 1], "boris": [1, 1, 0, 0]}
    files = [
        write(f"{who}.jsonl", *({"id": f"r{n}", "label": v} for n, v in enumerate(values)))
        for who, values in said.items()
    ]
    found = table(agreement(run, files), "row")

    assert (found.annotators, found.units, found.ties) == (2, 3, 1)
    # Worked by hand: 8 labels, 5 yes and 3 no; one of four rows split: 1 - (2 * 7) / (2 * 15).
    assert found.alpha.estimate == pytest.approx(1 - 14 / 30)


def test_labels_of_two_people_for_a_statement_match_it_twice() -> None:
    """One statement has both labels, and none of the two is left out."""
    said = {"sample_id": "a", "statement": 0, "text": "It stands in Paris.", "label": 1}
    files = [write(f"{who}.jsonl", said) for who in ("anna", "boris")]
    measured = agreement(statements_run(TOWER), files)

    assert (table(measured, "statement").units, measured.unmatched) == (1, 0)


def test_what_is_left_out_is_counted() -> None:
    """Labels of other rows and of rows without a score are said, not dropped."""
    labels = write(
        "rows.jsonl",
        *({"sample_id": name, "label": 1} for name in ("r0", "r1", "elsewhere")),
    )
    measured = agreement(scores_run([1.0, None]), labels)

    assert (measured.unscored, measured.foreign) == (1, 1)
    assert "left out: 1 labels for rows that are not in the run" in str(measured)


def test_labels_without_ids_are_found_by_content() -> None:
    """A labelled file whose rows have no id is matched as the run named its rows."""
    from rag_evals import Sample

    row = {"question": "q", "answer": "It is.", "context": ["c"], "label": "yes"}
    sample_id = Sample(question="q", answer="It is.", context=["c"]).content_hash()

    assert table(agreement(scores_run({sample_id: 1.0}), write("d.jsonl", row)), "row").units == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"sample_id": "r0", "label": "perhaps"},
            "line 1: the label is 'perhaps'; expected true or false, 1 or 0, yes or no, or a "
            "number from 0 to 1$",
        ),
        ({"sample_id": "r0", "label": 7}, "the label is 7"),
        ({"sample_id": "r0", "label": -0.1}, "the label is -0.1"),
        ({"sample_id": "r0", "label": "nan"}, "the label is 'nan'"),
        ({"sample_id": "r0", "statement": 0, "label": 0.5}, "label is 0.5; .*yes or no$"),
        ({"sample_id": "r0", "text": "It is.", "label": 0.5}, "label is 0.5; .*yes or no$"),
        (
            {"sample_id": "r0", "statements": [{"text": "It is.", "label": 0.5}]},
            r"line 1: statements\[0\]: the label is 0.5; .*yes or no$",
        ),
        ({"sample_id": "r0", "statement": "first", "label": 1}, "the statement is 'first'"),
        ({"sample_id": "r0", "statement": -1, "label": 1}, "the statement is -1"),
        ({"sample_id": "r0", "statement": 10**9, "label": 1}, "the statement is 1000000000"),
        ({"sample_id": "r0", "weight": 0.9, "label": 1}, "the weight is 0.9; expected 1 or more"),
        ({"sample_id": "r0", "weight": "inf", "label": 1}, "the weight is 'inf'"),
        ({"sample_id": "r0", "label": 0.5}, "agreement needs yes or no"),
        ({"sample_id": "r0"}, "no 'label' and no 'statements'"),
        ({"label": 1}, "no 'sample_id'"),
        ({"sample_id": "r0", "statements": [{"label": 1}]}, r"statements\[0\] has no 'text'"),
        ({"sample_id": "other", "label": 1}, "none of the 1 labels is for a row in this run"),
        ({"sample_id": "r0", "statement": 3, "label": 1}, "no label matches a verdict"),
    ],
)
def test_labels_that_cannot_be_used_are_one_clear_error(row: dict[str, Any], message: str) -> None:
    """The message names the place, the value and what would be right."""
    with pytest.raises(DataError, match=message):
        agreement(scores_run([1.0, 0.0]), write("labels.jsonl", row))


@pytest.mark.parametrize("more", [{}, {"annotator": "ann"}, {"statement": 0}, {"note": "no"}])
def test_two_labels_of_one_person_that_differ_are_refused(more: dict[str, Any]) -> None:
    """With both lines; the last one counted for nobody knows which."""
    row = {"sample_id": "r0", "label": 1, **more}
    other = {"sample_id": "r1", "label": 1}
    labels = write("labels.jsonl", row, other, {**row, "label": "no"})
    who = repr(more["annotator"]) if "annotator" in more else "one person"

    said = f"'labels.jsonl', line 1 and 'labels.jsonl', line 3: {who} labels 'r0' 1 and 0; remove"
    with pytest.raises(DataError, match=re.escape(said)):
        agreement(scores_run([1.0, 0.0]), labels)


def test_equal_labels_and_those_of_two_people_are_taken() -> None:
    """A label that was written twice is one; people may differ."""
    rows = [{"sample_id": "r0", "label": 1, "annotator": who} for who in ("ann", "ann", "bob")]
    rows.append({"sample_id": "r1", "label": 0, "annotator": "ann"})

    measured = agreement(scores_run([1.0, 0.0]), write("labels.jsonl", *rows))
    assert table(measured, "row").units == 2


def test_a_label_is_what_its_line_says() -> None:
    """Every field is read, from numbers or words; what is empty is absent."""
    whole = {
        "id": 7, "label": " Yes ", "statement": "123456789", "text": "It is.",
        "grader": "faithfulness", "annotator": 12, "note": "Which year?", "weight": "2.5",
        "second_look": True,
    }  # fmt: skip
    empty: dict[str, Any] = {
        "sample_id": "", "id": "a", "label": "0", "statement": "", "text": "", "weight": "",
        "annotator": "", "note": None, "second_look": "no",
    }  # fmt: skip
    texts: list[Any] = [{"text": "One.", "label": True}, {"text": "Two.", "label": None}]
    texts += [{"text": "Three."}, "no label"]
    parts: list[dict[str, Any]] = [
        {"id": "b", "statements": texts},
        {"id": "c", "label": 0.25, "statements": texts[:2], "weight": 1},
    ]
    found = read_labels(write("l.jsonl", whole, empty, *parts), scores_run([1.0]))

    assert found == [
        Label("7", 1, 123456789, "It is.", "faithfulness", "12", False, "Which year?", 2.5, True),
        Label("a", 0),
        Label("b", 1, text="One."),
        Label("c", 0.25, weight=1),
        Label("c", 1, text="One.", complete=True, weight=1),
    ]


def test_a_second_look_replaces_the_first() -> None:
    """Also where the second comes earlier, and for that statement and grader alone."""
    first = {"id": "a", "statement": 0, "label": 1}
    second = {**first, "label": 0, "second_look": True}
    other = [{**first, "statement": 1}, {**first, "id": "b"}, {**first, "grader": "recall"}]
    found = read_labels(write("l.jsonl", second, first, *other), scores_run([1.0]))

    assert [(one.sample_id, one.place, one.grader, one.value) for one in found] == [
        ("a", 0, None, 0),
        ("a", 1, None, 1),
        ("b", 0, None, 1),
        ("a", 0, "recall", 1),
    ]


def test_a_label_source_must_exist() -> None:
    """Neither file nor column: the message lists the columns."""
    run = scores_run([1.0], columns={"r0": {"topic": 1}})
    with pytest.raises(DataError, match="neither a file nor a column .* its columns are topic"):
        read_labels("labels.jsonl", run)
    with pytest.raises(DataError, match="there are no labels"):
        read_labels([], run)


def test_chunk_labels_are_matched_too() -> None:
    """The verdicts of chunk precision can be labelled by their place."""
    chunks = [GradedChunk(id_chunk=0, score=True), GradedChunk(id_chunk=1, score=False)]
    result = ChunkPrecisionResult(graded_chunks=chunks)
    run = Run([graded(0, "r0", result, grader="chunk_precision")])
    labels = write(
        "labels.jsonl",
        *({"sample_id": "r0", "statement": n, "text": f"chunk {n}", "label": 1} for n in (0, 1)),
    )

    measured = agreement(run, labels)
    counts = table(measured, "statement").agreement.confusion
    assert (counts.true_positives, counts.false_negatives) == (1, 1)
    assert str(measured).startswith("chunk_precision, 2 labelled chunks in 1 row\n")


def test_one_grader_can_be_taken() -> None:
    """Labels without a grader meet every grader, or the one that is named."""
    from rag_evals.errors import UnknownNameError

    run = Run([record(0, "a", 1.0, grader=name) for name in ("one", "two")])
    labels = write("labels.jsonl", {"sample_id": "a", "label": 1})

    assert [t.grader for t in agreement(run, labels).tables] == ["one", "two"]
    assert [t.grader for t in agreement(run, labels, grader="two").tables] == ["two"]
    with pytest.raises(UnknownNameError, match="no grader 'three'"):
        agreement(run, labels, grader="three")


def test_texts_of_the_answer_are_no_labels_of_the_reference() -> None:
    """Beside another grader, recall takes only labels that name it; alone it takes all."""
    recall = ContextRecallResult(
        statements=[ReferenceStatement(statement="It is in Paris.", is_covered=True)]
    )
    both = Run(
        [
            graded(0, "a", faithfulness([("It is in Paris.", True)])),
            graded(0, "a", recall, grader="context_recall"),
        ]
    )
    label = {"sample_id": "a", "text": "It is in Paris.", "label": 0}
    unnamed = write("unnamed.jsonl", label)
    named = write("named.jsonl", {**label, "grader": "context_recall"})

    assert {t.grader for t in agreement(both, unnamed).tables} == {"faithfulness"}
    assert {t.grader for t in agreement(both, named).tables} == {"context_recall"}
    for run, grader in ((both, "context_recall"), (Run(both.records[1:]), None)):
        found = table(agreement(run, unnamed, grader=grader), "statement")
        assert found.agreement.confusion.false_positives == 1


def test_a_line_that_a_file_holds_twice_is_one_label() -> None:
    """None of the two is left out."""
    line = {"sample_id": "a", "text": "It stands in Paris.", "label": 1}
    twice = write("twice.jsonl", line, line)
    measured = agreement(statements_run(TOWER), twice)

    assert (table(measured, "statement").units, measured.unmatched) == (1, 0)
    assert table(measured, "statement").agreement.confusion.true_positives == 1


def test_texts_of_statements_are_no_labels_of_chunks() -> None:
    """A grader without statements has nothing to do with labels of texts."""
    result = ChunkPrecisionResult(graded_chunks=[GradedChunk(id_chunk=0, score=True)])
    run = Run([graded(0, "r0", result, grader="chunk_precision")])
    labels = write("l.jsonl", {"sample_id": "r0", "statements": [{"text": "It is.", "label": 1}]})

    with pytest.raises(DataError, match="no label matches a verdict"):
        agreement(run, labels)


# Ten rows on which people agree, of which the judge gets seven right at 0.5; two people differ on
# the eleventh, and two have no score.
SCORES = [0.9, 0.6, 0.5, 0.8, 0.4, 0.7, 0.55, 0.3, 0.2, 0.1, 0.95, None, None]
RANKS = [0.95, 0.65, 0.8, 0.85, 0.45, 0.7, 0.35, 0.3, 0.2, 0.1, 0.9, None, None]
SAID = [True] * 5 + [False] * 5


def ranked_run(ranks: Sequence[float | None] = RANKS) -> tuple[Run, list[dict[str, Any]]]:
    """Return a run of scores and ranking scores, and the labels of three people for its rows."""
    run = Run(
        record(n, f"r{n}", score, ranking_score=rank)
        for n, (score, rank) in enumerate(zip(SCORES, ranks, strict=True))
    )
    labels = [{"id": f"r{n}", "label": n < 5 or n > 9, "annotator": "ann"} for n in range(13)]
    labels += [{"id": "r0", "label": 1, "annotator": "bob"}]
    labels += [{"id": "r5", "label": 0, "annotator": "bob"}]
    labels += [{"id": "r10", "label": 0, "annotator": "cy"}]
    return run, labels + [{"id": f"x{n}", "label": 1} for n in range(3)]


def test_a_table_of_rows_has_the_numbers_of_its_rows() -> None:
    """Rates and kappa are of the verdicts, the area of the ranking, and the rest of the labels."""
    run, labels = ranked_run()
    measured = agreement(run, write("l.jsonl", *labels), threshold=0.5)
    (found,) = measured.tables

    verdicts = [(score or 0) >= 0.5 for score in SCORES[:10]]
    ranks = [rank or 0.0 for rank in RANKS[:10]]
    assert found.agreement == measure_agreement(SAID, verdicts)
    assert (found.auroc, found.ranked_by) == (auroc_interval(SAID, ranks), "ranking")
    assert found.best == best_threshold(SAID, [score or 0.0 for score in SCORES[:10]]) == 0.4
    two = [[1, 1], *[[1]] * 4, [0, 0], *[[0]] * 4, [1, 0]]
    assert found.alpha == krippendorff_interval(two)
    assert (found.units, found.rows, found.ties, found.annotators) == (10, 10, 1, 3)
    assert (measured.unscored, measured.foreign, measured.unmatched) == (2, 3, 0)
    # Without the row of "cy", nothing is split. Some lines of two people have no alpha at all.
    line = str(agreement(run, write("two.jsonl", *labels[:15]), threshold=0.5)).splitlines()[-2]
    assert line == "  alpha of 2 people   1.000 [1.000, 1.000]"
    # With one ranking score missing, the scores themselves are ranked.
    run, labels = ranked_run([None, *RANKS[1:]])
    (found,) = agreement(run, write("l.jsonl", *labels), threshold=0.5).tables
    of_scores = auroc_interval(SAID, [score or 0.0 for score in SCORES[:10]])
    assert (found.auroc, found.ranked_by) == (of_scores, "score")


def test_a_table_of_rows_says_its_numbers() -> None:
    """Every line, with each count in its place; and what was left out of them."""
    run, labels = ranked_run()
    measured = agreement(run, write("l.jsonl", *labels), threshold=0.5)

    assert str(measured).splitlines() == [
        "faithfulness, 10 labelled rows, right if the score is at least 0.5",
        "                    judge: yes   judge: no",
        "  people: yes                4           1",
        "  people: no                 2           3",
        "  balanced accuracy   0.700 [0.410, 0.882]",
        "  Cohen's kappa       0.400 [-0.158, 0.803]",
        "  sensitivity         0.800 [0.223, 0.982]",
        "  specificity         0.600 [0.131, 0.937]",
        "  precision           0.667 [0.204, 0.940]",
        "  raw agreement       0.700 [0.342, 0.913]",
        "  base rate           0.500 [0.199, 0.801]",
        "  judge says yes      0.600 [0.267, 0.861]",
        "  AUROC of ranking    0.920 [0.443, 0.994]",
        "  best threshold      0.4 on these labels",
        "  alpha of 3 people   0.444 [-0.667, 1.000]; 1 evenly split, left out",
        "left out: 2 labelled rows without a score",
        "left out: 3 labels for rows that are not in the run",
    ]
    assert repr(measured) == (
        "PeopleAgreement(faithfulness, 10 rows, balanced accuracy 0.700 [0.410, 0.882])"
    )


def grouped_run() -> tuple[Run, str]:
    """Return a run of two statements a row, in four topics and several documents, and labels."""
    topics = ["x"] * 6 + ["y"] * 4 + [None] * 2 + ["z"]
    run = statements_run(
        {
            f"r{n}": [(f"One {n}.", n % 3 > 0), (f"Two {n}.", n % 4 > 1 and n != 11)]
            for n in range(13)
        },
        {
            f"r{n}": {"topic": topic, "document": f"d{n // 2}" if n < 8 else None}
            for n, topic in enumerate(topics)
        },
    )
    labels: list[dict[str, Any]] = [
        {"id": f"r{n}", "statement": place, "label": int((n + place) % 5 > 1), "annotator": "ann"}
        for n in range(13)
        for place in range(2)
    ]
    # On the only row of topic z, two people say the opposite of each statement and of the row.
    labels[24:] = [
        {"id": "r12", "statement": place, "label": label, "annotator": who}
        for place in range(2)
        for label, who in ((1, "ann"), (0, "bob"))
    ]
    return run, write("l.jsonl", *labels)


@pytest.mark.parametrize("cluster", [None, "document"])
def test_statements_are_clustered_by_row_and_rows_by_document(cluster: str | None) -> None:
    """Statements of one row are one cluster; with a document, its rows are, and the others alone.

    The threshold is of rows alone: it is no threshold of a statement's verdict.
    """
    run, labels = grouped_run()
    measured = agreement(run, labels, cluster=cluster, threshold=0.0)

    units = [(n, place) for n in range(12) for place in range(2)]
    said = [(n + place) % 5 > 1 for n, place in units]
    judged = [n % 3 > 0 if place == 0 else n % 4 > 1 and n != 11 for n, place in units]
    keys = [f"d{n // 2}" if cluster and n < 8 else f"r{n}" for n, _ in units]
    whole = [first and second for first, second in zip(said[::2], said[1::2], strict=True)]
    assert measured.clustered_by == cluster
    assert table(measured, "statement").agreement == measure_agreement(said, judged, clusters=keys)
    of_rows = measure_agreement(whole, [True] * 12, clusters=keys[::2] if cluster else None)
    assert table(measured, "row").agreement == of_rows


def test_groups_say_their_numbers() -> None:
    """A line for each group with a label, be it (none); a group of ties alone has no line."""
    run, labels = grouped_run()
    measured = agreement(run, labels, by="topic", cluster="document")

    lines = str(measured).splitlines()
    places = [
        place for place, line in enumerate(lines) if "labelled" in line or "judge says" in line
    ]
    first, last, second, end = places
    assert lines[first] == "faithfulness, 24 labelled statements in 12 rows"
    assert lines[last + 1 : second] == [
        "  alpha of 2 people   -0.500 [-0.500, -0.500]; 2 evenly split, left out",
        "  x: 12 statements, balanced accuracy 0.667 [0.327, 0.884], kappa 0.33",
        "  y: 8 statements, balanced accuracy 0.833 [0.423, 0.947], kappa 0.50",
        "  (none): 4 statements, balanced accuracy 0.000 [0.000, 0.568], kappa -0.60",
    ]
    assert lines[second] == "faithfulness, 12 labelled rows, right if the score is at least 1"
    assert lines[end + 1 :] == [
        "  AUROC of the score  0.750 [0.295, 0.956]",
        "  best threshold      1 on these labels",
        "  alpha of 2 people   0.000 [0.000, 0.000]; 1 evenly split, left out",
        "  x: 6 rows, balanced accuracy 0.750 [0.325, 0.962], kappa 0.57",
        "  y: 4 rows, balanced accuracy 0.750 [0.331, 0.932], kappa 0.50",
        "  (none): 2 rows, raw agreement 0.500 [0.002, 0.998], kappa 0.00",
        "intervals: rows are clustered by document",
    ]
    assert repr(measured).count("; ") == 1


def test_what_is_left_out_of_two_graders_is_added_up() -> None:
    """Labels of no statement, rows without a score, and rows elsewhere: each on its own line."""
    run = Run(
        [
            *(graded(n, f"r{n}", faithfulness([("It is.", True)])) for n in range(2)),
            *(record(n, f"r{n}", None) for n in range(2, 5)),
            *(record(n, f"r{n}", None if n == 0 else 1.0, grader="two") for n in range(5)),
        ]
    )
    labels = [{"id": f"r{n}", "truth": 1} for n in range(5)]
    lost = [{"id": f"r{n}", "statement": 9, "truth": 1} for n in range(1, 3)]
    elsewhere = [{"id": f"x{n}", "truth": 1} for n in range(7)]
    measured = agreement(run, write("l.jsonl", *labels, *lost, *elsewhere), column="truth")

    # Of "r1" both graders lack the statement, and of "r2" the second, as the first has no score.
    assert str(measured).splitlines()[-3:] == [
        "left out: 3 labels for statements that the judge did not find",
        "left out: 4 labelled rows without a score",
        "left out: 7 labels for rows that are not in the run",
    ]
    assert "left out: 1 labels for rows" in str(
        agreement(run, write("one.jsonl", *labels, elsewhere[0]), column="truth")
    )


def test_weighted_labels_have_weighted_rates_and_no_area() -> None:
    """A row that stands for more counts more; neither area nor best threshold could be right."""
    run, labels = ranked_run()
    weights = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 2.0, 1.0]
    weighted = [{**label, "weight": weights[n]} for n, label in enumerate(labels[:10])]
    measured = agreement(run, write("l.jsonl", *weighted), threshold=0.5)
    (found,) = measured.tables

    verdicts = [(score or 0) >= 0.5 for score in SCORES[:10]]
    assert found.agreement == measure_agreement(SAID, verdicts, weights=weights)
    assert (found.is_weighted, found.auroc, found.best) == (True, None, None)
    assert "  rates are weighted, because rows were drawn with --focus" in str(measured)
    with pytest.raises(DataError, match="9 of 10 labels were drawn with --focus uncertain, but"):
        agreement(run, write("l.jsonl", *weighted[:9], labels[9]))


def test_statements_of_a_row_without_the_column_are_clustered_by_row() -> None:
    """Rows of one document are one cluster; a row without a document is a cluster of its own."""
    said = {f"r{n}": [(f"{word} {n}.", n % 4 > 0) for word in "abc"] for n in range(24)}
    columns: dict[str, dict[str, Any]] = {
        f"r{n}": {"doc": f"d{n // 4}" if n < 12 else None} for n in range(24)
    }
    truth = [n % 5 > 0 for n in range(24) for _ in "abc"]
    lines = [
        {"sample_id": f"r{n}", "statement": place, "label": truth[3 * n]}
        for n in range(24)
        for place in range(3)
    ]
    labels = write("labels.jsonl", *lines)
    measured = agreement(statements_run(said, columns), labels, cluster="doc")

    verdicts = [verdict for statements in said.values() for _, verdict in statements]
    clusters = [f"d{n // 4}" if n < 12 else f"r{n}" for n in range(24) for _ in "abc"]
    expected = measure_agreement(truth, verdicts, clusters=clusters)
    assert measured.clustered_by == "doc"
    assert table(measured, "statement").agreement == expected
