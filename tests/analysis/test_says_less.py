"""A comparison cannot be bought by silence: how much answers say is compared with the scores."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rag_evals import compare, evaluate
from rag_evals.run import Run, load_run
from rag_evals.stats.paired import count_difference
from tests.analysis.runs import record, scores_run, statements_run
from tests.conftest import Command

PLACES = ("north", "south", "east", "west", "centre")


def graded(folder: Path, answers: Mapping[str, str]) -> Run:
    """Grade answers about towers; of a tower with a number above 9 all facts are in the context."""
    rows = [
        {
            "id": name,
            "question": f"What of tower {name}?",
            "answer": answer,
            "context": [f"Tower {name} has a lift in the {place}." for place in PLACES],
        }
        for name, answer in answers.items()
    ]
    return evaluate(rows, client="embedded", out=folder, progress=False)


def answer(name: str, places: Sequence[str], wrong: int = 0) -> str:
    """Say where the lifts of a tower are, with so many wrong sentences behind."""
    said = [f"Tower {name} has a lift in the {place}." for place in places]
    return " ".join([*said, *[f"Tower {name} has a shop in the cellar {n}." for n in range(wrong)]])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders: answers of five statements, cut ones, empty ones, and right longer ones."""
    folder, names = tmp_path_factory.mktemp("runs"), [f"t{n}" for n in range(40)]
    full = {name: answer(name, PLACES[:4], int(n % 2)) for n, name in enumerate(names)}
    versions = {
        "full": full,
        "cut": {name: answer(name, PLACES[:1]) for name in names},
        "silent": {name: full[name] if n % 3 else "" for n, name in enumerate(names)},
        "better": {name: answer(name, PLACES) for name in names},
    }
    for version, answers in versions.items():
        graded(folder / version, answers)
    return {version: folder / version for version in versions}


def test_a_score_that_was_bought_by_silence_is_no_better_one(runs: dict[str, Path]) -> None:
    """The mean rises because less is said: the verdict says so, and the gate is missed."""
    compared = compare(runs["full"], runs["cut"])
    (grader,) = compared.graders
    sizes = {size.name: size for size in grader.sizes}

    assert grader.paired.verdict == "better"
    assert grader.verdict == "higher score, says less"
    assert str(compared).splitlines()[4] == "faithfulness: higher score, says less"
    assert sizes["statements"].baseline.estimate == 4.5
    assert sizes["supported"].difference.estimate == -3
    assert sizes["unsupported"].difference.high < 0
    assert sizes["words"].difference.estimate < -20
    assert "  supported per row    4.00 and 1.00, -3.00" in str(compared)
    (missed,) = compared.missed()
    assert str(missed).startswith("says-less 0: faithfulness had 4.00 supported statements per row")
    assert compared.missed(margin=0.8) == compared.missed(allow_shorter=True) == []
    # Three of four supported statements are lost: more than a gate of 0.7 allows, and not of 0.8.
    for gate, is_missed in ((0.7, True), (0.8, False)):
        decision = compare(runs["full"], runs["cut"], gate=gate).decision()
        assert decision is not None
        assert [bool(one.missed) for one in decision.graders] == [is_missed]


def test_many_rows_of_four_documents_are_few() -> None:
    """The t interval of forty rows excludes 0, but by sign flips of four documents p is 1/8."""
    words = [count for count in (9, 10, 10, 11) for _ in range(10)]
    found = count_difference([0] * 40, words, clusters=[row // 10 for row in range(40)])

    assert (found.estimate, found.low) == (10, 0)
    assert found.method.endswith("widened to 0 by sign flips")
    # As many rows of forty documents are more than the 28 that are counted exactly.
    assert count_difference([0] * 40, words).low > 9


def test_sizes_are_those_of_rows_in_both_runs() -> None:
    """A row that only one run has is not compared, and does not say less than nothing."""
    two = [("It stands in Paris.", True), ("It opened in 1889.", True)]
    first = statements_run({f"r{n}": two for n in range(4)})
    second = statements_run({f"r{n}": two for n in range(3)})
    for pair in ((first, second), (second, first)):
        (grader,) = compare(*pair).graders
        said = [(size.rows, size.baseline.estimate) for size in grader.sizes]
        assert said == [(3, 2.0), (3, 2.0), (3, 0.0)]


def test_a_row_whose_size_is_not_known_hides_no_other() -> None:
    """Statements are compared over the rows that have some, and no mean has a limit below 0."""
    said = {f"r{n}": [("It stands.", True), ("It fell.", n > 2)] for n in range(12)}
    runs = [Run([*statements_run(said).records, record(12, "x", 1.0)]) for _ in range(2)]
    (grader,) = compare(*runs).graders
    sizes = {size.name: size for size in grader.sizes}

    assert [(name, size.rows) for name, size in sizes.items()] == [
        ("statements", 12), ("supported", 12), ("unsupported", 12),
    ]  # fmt: skip
    assert sizes["unsupported"].baseline.estimate == 3 / 12
    assert 0 <= sizes["unsupported"].baseline.low < 3 / 12 < sizes["unsupported"].baseline.high


def test_more_that_is_right_is_better(runs: dict[str, Path]) -> None:
    """Nothing is said of silence where supported statements rise, or a run meets itself."""
    (better,) = compare(runs["full"], runs["better"]).graders
    (same,) = compare(runs["full"], runs["full"]).graders

    assert better.verdict == "better"
    assert not better.says_less()
    assert not same.says_less()


def test_rows_without_an_answer_say_nothing(runs: dict[str, Path]) -> None:
    """They have no score that could fall, so the score alone would not see them."""
    compared = compare(runs["full"], runs["silent"])
    (grader,) = compared.graders
    supported = grader.sizes[1]

    assert (supported.name, supported.rows) == ("supported", 40)
    assert supported.difference.estimate == pytest.approx(-4 * 14 / 40)
    assert "fewer statements per row are supported" in str(compared)
    assert [one.rule for one in compared.missed(min_scored=0.5)] == ["says-less"]


def test_few_rows_show_no_silence() -> None:
    """Three rows may all say less by chance; six of six do not. The interval then reaches 0."""
    assert count_difference([4, 4, 4], [1, 1, 2]).high == 0
    assert count_difference([4] * 6, [1] * 6).high < 0
    assert count_difference([4], [1]).high == 0
    # Five rows of 28 that say less are 2/32 by sign flips, though their t is 2.4.
    assert count_difference([4] * 28, [3] * 5 + [4] * 23).high == 0
    assert count_difference([4] * 28, [3] * 6 + [4] * 22).high < 0


def test_runs_of_other_graders_have_words_only(runs: dict[str, Path]) -> None:
    """A run whose rows are not known, as one that an earlier version wrote, has no sizes."""
    one = scores_run([1.0, 0.5])
    compared = compare(one, one)

    assert compared.graders[0].sizes == ()
    assert load_run(runs["full"]).summary().graders["faithfulness"].rows.sizes()["words"]


@pytest.mark.parametrize("gate", ["--fail-if-worse=0", "--gate=0.05"])
def test_a_build_fails_unless_shorter_answers_are_allowed(
    gate: str, runs: dict[str, Path], command: Command
) -> None:
    """The line names the option; JSON has verdict, flag and numbers."""
    folders = str(runs["full"]), str(runs["cut"])
    ended = command("compare", *folders, gate)
    allowed = command("compare", *folders, gate, "--allow-shorter", "--json")
    (numbers,) = json.loads(allowed.out)["graders"]

    assert ended.code == 1
    assert "says-less" in ended.err
    assert "--allow-shorter accepts that" in ended.err
    assert allowed.code == 0
    assert (numbers["verdict"], numbers["says_less"]) == ("higher score, says less", True)
    assert [size["name"] for size in numbers["sizes"]] == [
        *("statements", "supported", "unsupported", "words")
    ]
    assert command("compare", *folders, "--allow-shorter").code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("report", "{full}", "--format", "md"), "per row: statements 4.50 [4.34, 4.66]"),
        (("report", "{full}", "-o", "page.html"), "per row: statements 4.50 [4.34, 4.66]"),
        (("compare", "{full}", "{cut}", "-o", "page.html"), "higher score, says less"),
        (("compare", "{full}", "{cut}", "--language", "ru"), "оценка выше, но ответы говорят"),
    ],
)
def test_pages_and_tables_show_how_much_is_said(
    words: Sequence[str], told: str, runs: dict[str, Path], command: Command
) -> None:
    """Markdown, HTML and Russian."""
    folders = {name: str(path) for name, path in runs.items()}
    ended = command(*(word.format(**folders) for word in words))
    page = Path("page.html")

    assert ended.code == 0
    assert told in (page.read_text() if page.exists() else ended.out.replace("\\", ""))
