"""Rows that share a question or a context are not independent, and every interval knows it."""

import json
import random
import re
import shutil
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_evals import evaluate
from rag_evals.core import About, Finding, Sample, phrases
from rag_evals.errors import NotScorableReason
from rag_evals.run import GraderSummary, Outcome, Run, StoredSample, load_run
from rag_evals.run.plan.sampling import DrawnRows
from rag_evals.run.record.facts import SIZES, RowFacts, RowTable, count_words, stable_hash
from rag_evals.run.record.summary import size_interval_words
from rag_evals.stats import Clusters, Interval, count_interval, find_clusters, mean_interval
from tests.analysis.runs import record
from tests.conftest import Command

QUESTIONS, ANSWERS, DRAWS = 40, 4, 300


def drawn(rng: random.Random) -> GraderSummary:
    """Draw questions whose answers are right or wrong nearly together; the true mean is 0.5."""
    summary = GraderSummary("faithfulness")
    for number in range(QUESTIONS):
        chance = rng.choice((0.02, 0.2, 0.8, 0.98))
        for place in range(ANSWERS):
            score = float(rng.random() < chance)
            facts = RowFacts(question=number + 1)
            summary.add(Outcome(place, f"{number}-{place}", "f", "scored", score, facts=facts))
    return summary


@pytest.mark.slow
def test_intervals_of_repeated_questions_cover_as_promised() -> None:
    """Taken as independent, 69 to 82 % of the intervals hold the truth; clustered, 95 %."""
    rng = random.Random(5)
    clustered = independent = 0
    for _ in range(DRAWS):
        summary = drawn(rng)
        found = summary.interval()
        assert found is not None
        assert found.method.endswith(f"{QUESTIONS} clusters by question")
        clustered += found.contains(0.5)
        independent += mean_interval(summary.scores).contains(0.5)

    assert 0.69 <= independent / DRAWS <= 0.82
    assert 0.93 <= clustered / DRAWS <= 0.97


@pytest.mark.parametrize(
    ("questions", "contexts", "by"),
    [
        ([1, 1, 2, 2], [1, 2, 3, 4], "question"),
        ([1, 1, 2, 2], [1, 1, 1, 2], "question"),
        ([1, 2, 3, 4], [7, 7, 8, 9], "context"),
        # All rows share it: nothing is known of another.
        ([1, 1, 1, 1], [1, 2, 2, 3], "context"),
        ([1, 2, 3, 4], [1, 1, 1, 1], None),
        # Rows without a question share none.
        ([0, 0, 0, 0], [1, 2, 3, 4], None),
        # 4 of 80 rows are no more than 5 %, 6 of 80 are.
        ([*range(1, 79), 1, 2], [], None),
        ([*range(1, 78), 1, 2, 3], [], "question"),
    ],
)
def test_rows_are_clustered_where_more_than_one_in_twenty_repeats(
    questions: list[int], contexts: list[int], by: str | None
) -> None:
    """By question, else by context; rows that share nothing with another stay on their own."""
    found = find_clusters({"question": questions, "context": contexts})

    assert (found and found.by) == by


def rows(questions: int = 12) -> list[dict[str, Any]]:
    """Return three answers to each question, all right or all wrong."""
    return [
        {
            "id": f"q{number}-{place}",
            "question": f"How high is tower {number}?" + " " * place,
            "answer": f"Tower {number} is {300 if number % 3 else 500} metres high.",
            "context": [f"Tower {number} is 300 metres high."],
            "architect": f"a{number % 4}",
        }
        for number in range(questions)
        for place in range(3)
    ]


@pytest.mark.parametrize("folder", [None, "run"])
def test_a_run_says_by_what_its_rows_are_clustered(tmp_path: Path, folder: str | None) -> None:
    """In memory, fresh from a folder and read from it: the same line, and a column instead."""
    out = None if folder is None else tmp_path / folder
    run = evaluate(rows(), client="embedded", out=out)
    for one in [run] if out is None else [run, load_run(out)]:
        assert "clustered by question (12 clusters in 36 rows)" in str(one.summary())
        interval = one.interval()
        none = one.summary(cluster="none").graders["faithfulness"].interval()
        assert interval is not None
        assert none is not None
        assert interval.width > 1.3 * none.width
        assert "clustered" not in str(one.summary(cluster="none"))
    if out is not None:
        by_architect = str(run.summary(cluster="architect"))
        assert "clustered by architect (4 clusters in 36 rows)" in by_architect


def test_a_gate_is_not_passed_by_asking_one_question_often() -> None:
    """Thirty right answers to two questions are two bets, not thirty."""
    data = [{**row, "question": f"q{n % 2}"} for n, row in enumerate(rows(15)) if n // 3 % 3]
    run: Run = evaluate(data, client="embedded")

    assert run.mean() == 1.0
    assert run.gate(0.7, cluster="none").verdict == "passed"
    decision = run.gate(0.7)
    assert decision.verdict == "not decided"
    assert "clustered by question (2 clusters" in str(decision)


def test_words_are_counted_in_every_script() -> None:
    """Spaces separate words; Chinese and Japanese have none."""
    assert count_words("The tower is 330 m high.") == 6
    assert count_words("Башня высотой 330 м") == 4
    assert count_words("高さは330m") == 4
    assert RowFacts.of(Sample(question=None, answer="", context=[])) == RowFacts(words=0)


LABELLED = [{**row, "label": n % 7 > 0, "reviewer": f"p{n % 5}"} for n, row in enumerate(rows(30))]
COMMANDS = {
    "grade": "data.jsonl -o run --gate 0.2",
    "report": "run --format md",
    "compare": "run run",
    "merge": "run -o merged",
    "judge agreement": "run",
    "judge correct": "run some.jsonl",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_with_an_interval_takes_a_cluster(
    name: str, tmp_path: Path, command: Command
) -> None:
    """`--cluster` names a column or none; else rows are clustered by question, and it says so."""
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, LABELLED)))
    labels = [{"id": row["id"], "label": row["label"]} for row in LABELLED[::2]]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, labels)))
    evaluate("data.jsonl", client="embedded", out="run", progress=False)

    for options, told in {
        (): "question",
        ("--cluster", "reviewer"): "reviewer",
        ("--cluster", "question"): "question",
        ("--cluster", "none"): None,
    }.items():
        shutil.rmtree("merged", ignore_errors=True)
        ended = command(*name.split(), *COMMANDS[name].split(), *options)
        assert ended.code == 0, ended.err
        found = re.search(r"cluster(?:ed|s) by (\w+)", ended.out)
        assert (found and found[1]) == told
    if name != "merge":
        wrong = command(*name.split(), *COMMANDS[name].split(), "--cluster", "nobody")
        assert wrong.code == 2
        assert "no column 'nobody'" in wrong.err


def test_cluster_is_one_of_the_rare_options_of_grade(command: Command) -> None:
    """`grade --help` shows the usual 25."""
    assert "--cluster" not in command("grade", "--help").out
    assert "--cluster" in command("grade", "--help-all").out


def test_empty_chunks_are_no_context_that_rows_share() -> None:
    """Two rows for which nothing was found are not of one document."""
    assert RowFacts.of(Sample(answer="x", context=["", ""])).context is None
    assert RowFacts.of(Sample(answer="x", context=["", "c"])).context is not None


def test_statements_of_a_row_without_a_score_are_not_counted() -> None:
    """Only a part of them may have been read; a row that says nothing has none."""
    facts, finding = RowFacts(words=3), Finding("s", True, "supported", about="statement")

    assert facts.with_findings([finding], "answer_not_covered") == facts
    assert facts.with_findings([finding], None) == RowFacts(words=3, statements=1, supported=1)
    assert facts.with_findings([], "no_statements") == RowFacts(words=3, statements=0, supported=0)


def test_rows_that_come_later_are_clustered_too() -> None:
    """A table that was asked once counts what is added to it since."""
    table = RowTable()
    for question in (1, 2):
        table.add(RowFacts(question=question), None)
    assert table.whole() is None
    table.add(RowFacts(question=1), "empty_context")
    table.add(RowFacts(question=1), None)

    assert table.whole() == Clusters("question", [1, None, 1, 1])
    assert table.clusters() == Clusters("question", [1, None, 1])
    assert table.clusters(["empty_context"]) == Clusters("question", [1, None, 1, 1])
    assert table.clusters(["no_statements"]) == Clusters("question", [1, None, 1])


def test_rows_without_a_value_of_the_column_stand_alone() -> None:
    """They share nothing, beside rows that share a document."""
    table = RowTable(by="document")
    for document in (7, None, 7, None, None, 8):
        table.add(RowFacts(question=document), None)

    assert table.whole() == Clusters("document", [7, None, 7, None, None, 8])
    assert table.whole() is not None
    assert RowTable(by="none").whole() is None


def test_scores_without_rows_are_clustered_by_nothing() -> None:
    """Numbers that were added by hand belong to no row, and so to no question."""
    summary = GraderSummary("g")
    for number in range(9):
        facts = RowFacts(question=number // 3 + 1)
        summary.add(Outcome(number, f"{number}", "g", "scored", number % 2, facts=facts))
    assert summary.clusters() is not None
    summary.scores.append(1.0)

    assert summary.clusters() is None
    assert summary.interval() == mean_interval(summary.values())


def test_mean_sizes_are_clustered_unless_rows_are_drawn() -> None:
    """Three answers of one length to each question say as much of lengths as one of them."""
    summary = GraderSummary("g")
    for number in range(60):
        facts = RowFacts(question=number // 3 + 1, words=10 * (number // 3))
        summary.add(Outcome(number, f"{number}", "g", "scored", 1.0, facts=facts))
    clustered = summary.sizes()["words"]
    summary.design = DrawnRows([], 60)
    drawn = summary.sizes()["words"]

    assert clustered.estimate == drawn.estimate == 95.0
    # The square root of 3, apart from small numbers of rows.
    assert 1.65 < clustered.width / drawn.width < 1.85


def test_a_statement_without_a_verdict_is_not_counted() -> None:
    """Nobody said of it whether it is supported, so that it is neither."""
    decided = Finding("s", False, "not supported", about="statement")
    open_ = Finding("t", None, "not read", about="statement")

    assert RowFacts().with_findings([decided, open_], None) == RowFacts(statements=1, supported=0)


@pytest.mark.parametrize(
    ("interval", "said"),
    [(Interval(0.5, 0.0, 1.25), "0.50 [0.00, 1.25]"), (Interval(5.0, 5.0, 5.0), "5.00")],
)
def test_a_mean_size_has_its_limits_unless_there_are_none(interval: Interval, said: str) -> None:
    """A lower limit of 0 is one; an interval without width is none."""
    assert size_interval_words(interval, phrases()) == said


def test_what_rows_share_is_told_of_each_row_that_shares_it() -> None:
    """By a column, or by what clusters any grader's rows; a row that shares nothing is missing."""
    shared = {"question": [1, 2, 3, None, None], "context": [7, 7, None, 8, 8]}
    run = Run(
        [
            record(n, f"r{n}", 0.5, grader=grader, facts={name: shared[name][n] for name in names})
            for n in range(5)
            for grader, names in (("a", ["question"]), ("b", ["question", "context"]))
            if n < 4 or grader == "b"
        ],
        samples={f"r{n}": StoredSample(f"r{n}", columns={"doc": n or None}) for n in range(3)},
    )

    assert run.shared(cluster="none") == (None, {})
    assert run.shared(cluster="doc") == ("doc", {"r1": "1", "r2": "2"})
    assert run.shared() == ("context", {"r0": 7, "r1": 7, "r3": 8, "r4": 8})
    alone = Run([record(n, f"r{n}", 0.5, facts={"question": n + 1}) for n in range(3)])
    assert alone.shared() == (None, {})


def test_rows_are_clustered_by_a_column_as_they_are_counted() -> None:
    """Scored rows first, then those that count; a failed row has no place, an empty cell none."""
    documents = ["x", "x", None, "y", "y", None, "x", 3]
    scores = [1.0, None, 0.5, None, 0.0, 1.0, None, 0.25]
    failure: dict[str, Any] = {
        "status": "failed",
        "reason": None,
        "error": {"type": "E", "message": "m"},
    }
    run = Run(
        [
            record(n, f"r{n}", one, **(failure if n == 3 else {}), facts={"words": n})
            for n, one in enumerate(scores)
        ],
        samples={
            f"r{n}": StoredSample(f"r{n}", columns={"doc": one}) for n, one in enumerate(documents)
        },
    )
    numbers = run.summary(cluster="doc").graders["faithfulness"]
    x, y, three = map(stable_hash, ("x", "y", "3"))

    assert numbers.rows.whole() == Clusters("doc", [x, x, None, y, None, x, three])
    assert numbers.clusters() == Clusters("doc", [x, None, y, None, three])
    assert numbers.clusters({"empty_context": 0.0}) == Clusters(
        "doc", [x, None, y, None, three, x, x]
    )
    assert list(numbers.values({"empty_context": 0.0})) == [1.0, 0.5, 0.0, 1.0, 0.25, 0.0, 0.0]
    assert (numbers.scored, numbers.total, numbers.failed) == (5, 8, {"E": 1})
    assert numbers.sizes()["words"].estimate == 25 / 7
    assert run.summary().graders["faithfulness"].clusters() is None


def test_questions_and_contexts_are_shared_however_they_are_written() -> None:
    """In capitals, with other spaces, and with the chunks in another order."""

    def facts(question: str, *chunks: str) -> RowFacts:
        return RowFacts.of(Sample(question=question, answer="It is", context=list(chunks)))

    assert facts("Where  is\nIt?", "a", "b") == facts(" where is it? ", "b", "a")
    assert facts("Where is it?", "a", "b").question != facts("Where was it?", "a", "b").question
    assert facts("Where?", "a", "b").context != facts("Where?", "a").context
    assert facts("", "a").question is None
    assert facts("Where?", "a").words == 2
    assert RowFacts.of({"question": "Where?"}) == RowFacts()


def finding(verdict: bool | None, about: About = "statement") -> Finding:
    """Make a finding."""
    return Finding("s", verdict, "l", about=about)


@pytest.mark.parametrize(
    ("findings", "reason", "counts"),
    [
        ([finding(True), finding(False), finding(True)], None, (3, 2)),
        ([finding(True), finding(None), finding(True, "chunk")], None, (1, 1)),
        # With claims of a reference, a statement is correct or not, and not supported.
        ([finding(True), finding(False), finding(True, "reference")], None, (2, None)),
        ([finding(True, "reference")], None, (None, None)),
        ([finding(None)], None, (None, None)),
        ([finding(True)], "answer_not_covered", (None, None)),
        ([], "no_statements", (0, 0)),
        ([], "empty_answer", (0, 0)),
        ([], "empty_context", (None, None)),
        ([], None, (None, None)),
    ],
)
def test_statements_are_counted_where_they_are_known(
    findings: list[Finding], reason: NotScorableReason | None, counts: tuple[int | None, int | None]
) -> None:
    """All with a verdict, and those of them that are supported."""
    facts = RowFacts(1, 2, 3).with_findings(findings, reason)

    assert facts == RowFacts(1, 2, 3, *counts)
    statements, supported = counts
    known = statements is not None and supported is not None
    assert [facts.size(name) for name in SIZES] == [
        -1 if statements is None else statements,
        -1 if supported is None else supported,
        (statements or 0) - (supported or 0) if known else -1,
        3,
    ]


@pytest.mark.parametrize("drawn", [True, False])
def test_sizes_are_means_over_the_rows_where_they_are_known(drawn: bool) -> None:
    """The same whether a table is filled or read from an index; words alone without statements."""
    made = [
        *(RowFacts(1, None, 5, 4, 3), RowFacts(2, None, 0, 0, 0), RowFacts(3, None, 7, 2, None)),
        *(RowFacts(4, None, None, 3, 1), RowFacts(5, None, 9)),
    ]
    for facts in (
        made,
        made[4:],
        [replace(one, question=1 + n // 3) for n, one in enumerate(made)],
    ):
        table = RowTable()
        lines = [Outcome(n, f"{n}", "g", "scored", 1.0, facts=one) for n, one in enumerate(facts)]
        for one in facts:
            table.add(one, None)
        read = Run(outcomes=lines).summary().graders["g"].rows.sizes(drawn=drawn)
        keys = [one.question for one in facts]
        whole = None if drawn or len(set(keys)) == len(keys) else keys
        expected = {}
        for name in SIZES if len(facts) > 1 else ("words",):
            known = [(one.size(name), key) for one, key in zip(facts, keys, strict=True)]
            values = array("i", [size for size, _ in known if size >= 0])
            clusters = None if whole is None else [key for size, key in known if size >= 0]
            expected[name] = count_interval(values, clusters=clusters, lowest=0.0)
        assert table.sizes(drawn=drawn) == expected
        assert read.keys() == expected.keys()
        for name, interval in expected.items():
            assert read[name].estimate == pytest.approx(interval.estimate)
            assert read[name].low == pytest.approx(interval.low)
            assert read[name].high == pytest.approx(interval.high)
