"""Tests of a sample project grade answers under pytest, and say what is wrong with them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rag_evals import evaluate
from rag_evals.errors import ConfigurationError
from rag_evals.pytest_plugin import assert_faithful, running
from rag_evals.testing import HttpError, Script, ScriptedJudge
from tests.conftest import statement

pytest_plugins = ["pytester"]

HEAD = """
import pytest
from rag_evals import Sample, evaluate
from rag_evals.pytest_plugin import assert_faithful, assert_scores

CONTEXT = ["The Eiffel Tower stands in Paris.", "It was completed in 1889."]
PLACE = "The Eiffel Tower stands in Paris."
RIGHT = {"answer": PLACE, "context": CONTEXT}
WRONG = {"answer": f"{PLACE} It was completed in 1923.", "context": CONTEXT}
"""
RIGHT_AND_WRONG = """
def test_right(graded):
    assert graded(RIGHT).score == 1

def test_wrong():
    assert_faithful(WRONG)
"""
EXPLAINED = [
    "  not supported: It was completed in 1923.",
    "    why: '1923' is not in any chunk; chunk 1 says '1889'",
    "    nearest chunk 1: It was completed in 1889.",
]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run pytest on a file of tests; returns what it prints."""
    monkeypatch.setenv("COLUMNS", "120")
    # pytest forgets what a run within it has loaded first, and a class would then exist twice.
    evaluate([{"answer": "It is.", "context": ["It is."]}], client="embedded")

    def run(tests: str, *arguments: str, **counts: int) -> str:
        pytester.makepyfile(test_answers=HEAD + tests)
        ended = pytester.runpytest_inprocess(*arguments)
        if counts:
            found = ended.parseoutcomes()
            found.pop("warnings", None)
            assert found == counts
        return f"{ended.stdout}{ended.stderr}"

    return run


def test_a_failure_says_what_no_chunk_supports(project: Callable[..., str]) -> None:
    """The failing case prints statement, reason and nearest chunk; the mean is of both cases."""
    out = project(RIGHT_AND_WRONG, passed=1, failed=1)

    lines = ["AssertionError: faithfulness: scored 0.50, expected at least 0.9 (judge: embedded)"]
    assert "\n".join(f"E       {line}" for line in lines + EXPLAINED) in out
    assert re.search(r"= rag_evals: 2 graded =", out)
    assert re.search(
        r" 0\.50  faithfulness  \S+::test_wrong\n *1\.00  faithfulness  \S+::test_right\n",
        out,
    )
    assert "faithfulness: 0.75 over 2 scored of 2 (judge: embedded)" in out


CASES = {
    "a plain assert is explained in a section of its own": (
        "def test_it(graded):\n    assert graded(WRONG).score > 0.9",
        ["- rag_evals -", "faithfulness: scored 0.50", *EXPLAINED],
    ),
    "the marker asks for a score": (
        "@pytest.mark.rag_evals(at_least=0.6)\ndef test_it(graded):\n    graded(WRONG)",
        ["scored 0.50, expected at least 0.6", *EXPLAINED],
    ),
    "the marker of a class counts": (
        "@pytest.mark.rag_evals(at_least=0.6)\nclass TestAll:\n"
        "    def test_it(self):\n        assert_faithful(WRONG)",
        ["scored 0.50, expected at least 0.6"],
    ),
    "an outcome is not graded again": (
        "def test_it(graded):\n    assert_faithful(graded(WRONG))",
        ["expected at least 0.9 (judge: embedded)", *EXPLAINED, "rag_evals: 1 graded"],
    ),
    "an empty answer": (
        "def test_it(graded):\n    graded(answer='', context=CONTEXT)",
        ["AssertionError: faithfulness: not scorable: empty_answer", "0 scored of 1"],
    ),
    "no context": (
        "def test_it():\n    assert_faithful(Sample(answer='It is high.'), at_least=0)",
        ["AssertionError: faithfulness: not scorable: empty_context", "no score over 0 scored"],
    ),
    "no statement": (
        "def test_it():\n    assert_faithful({'answer': 'Hello!', 'context': CONTEXT}, 0)",
        ["AssertionError: faithfulness: not scorable: no_statements"],
    ),
    "a row that is none": (
        "def test_it(graded):\n    graded(answr='x')",
        ["failed: MissingColumnError: row 0: no column for 'answer'", "the row has 'answr'"],
    ),
    "nothing at all": (
        "def test_it(graded):\n    graded()",
        ["ConfigurationError: graded accepts either a row or its fields", ">       graded()\nE  "],
    ),
    "a number that is no share": (
        "def test_it():\n    assert_faithful(RIGHT, at_least=90)",
        ["ConfigurationError: at_least is 90; expected a number from 0 to 1; 90 % is written 0.9"],
    ),
    "a grader that is none": (
        "def test_it(graded):\n    graded(RIGHT, 'faithfullness')",
        [">       graded(RIGHT, 'faithfullness')\nE  ", "no grader 'faithfullness'"],
    ),
    "a grader that this judge cannot be": (
        "def test_it(graded):\n    graded(RIGHT, 'answer_relevance')",
        [">       graded(RIGHT, 'answer_relevance')\nE  ", "ConfigurationError"],
    ),
    "a run": (
        "def test_it():\n"
        "    run = evaluate([RIGHT, WRONG], client='embedded')\n"
        "    assert_scores(run, faithfulness=0.9, at='lower', min_scored=0.9)",
        [
            "AssertionError: fail-under 0.9: the lower end of the 95 % interval of faithfulness",
            ": faithfulness: scored 0.50\n",
            *(f"  {line}" for line in EXPLAINED),
        ],
    ),
    "a run with rows that have no score": (
        "def test_it():\n"
        "    run = evaluate([RIGHT, {'answer': '', 'context': CONTEXT}], client='embedded')\n"
        "    assert_scores(run, faithfulness=0.9)",
        [
            "AssertionError: min-scored 0.9: faithfulness has a score in 1 of 2 rows",
            "faithfulness: not scorable: empty_answer",
        ],
    ),
    "a run without the grader": (
        "def test_it():\n    assert_scores(evaluate([RIGHT], client='embedded'), recall=0.9)",
        ["UnknownNameError: no grader in the run 'recall'"],
    ),
    "no run": (
        "def test_it():\n    assert_scores([1], faithfulness=0.9)",
        ["ConfigurationError: run is [1]; expected a run folder, or what evaluate returned"],
    ),
    "a run and no grader": (
        "def test_it():\n    assert_scores(evaluate([RIGHT], client='embedded'))",
        ["ConfigurationError: assert_scores got no grader"],
    ),
    "Russian": (
        "def test_it():\n    assert_faithful({'answer': 'Башня построена в 1923 году.',"
        " 'context': ['Башня построена в 1889 году.']})",
        ["not supported: Башня построена в 1923 году.", "nearest chunk 0: Башня построена в 1889"],
    ),
    "characters that a terminal obeys, and halves of pairs": (
        "def test_it():\n    assert_faithful({'answer': 'It is \\x1b[31mred\\u202e and big.',"
        " 'context': ['Bananas.']})",
        ["not supported: It is �[31mred� and big."],
    ),
    "an id with a line break": (
        "@pytest.mark.parametrize('row', [pytest.param(WRONG, id='two\\nlines')])\n"
        "def test_it(row):\n    assert_faithful(row)",
        [r"test_answers.py::test_it[two\nlines]", *EXPLAINED],
    ),
    "an async test": (
        "@pytest.mark.anyio\nasync def test_it(graded):\n"
        "    import asyncio\n"
        "    assert (await asyncio.to_thread(graded, RIGHT)).score == 1\n"
        "    assert_faithful(WRONG)\n\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'",
        EXPLAINED,
    ),
    "a fixture that grades": (
        "@pytest.fixture(scope='module')\ndef outcome(graded):\n    return graded(WRONG)\n\n"
        "def test_it(outcome):\n    assert outcome.score == 1",
        [*EXPLAINED, "test_answers.py::test_it"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tests", "printed"), CASES.values(), ids=CASES)
def test_what_is_wrong_fails_and_is_said(
    project: Callable[..., str], tests: str, printed: list[str]
) -> None:
    """Whatever keeps an answer from passing ends the test, with the words for it."""
    out = project(tests, failed=1)

    assert [line for line in printed if line not in re.sub(r"(?m)^E {7}", "", out)
            and line not in out] == []  # fmt: skip
    assert "rag_evals/pytest_plugin" not in out, "our own frames are hidden"


def test_rows_without_a_score_can_be_looked_at(project: Callable[..., str]) -> None:
    """`graded.outcome` returns what `graded` refuses, and it is counted."""
    out = project(
        "def test_it(graded):\n"
        "    graded(RIGHT)\n"
        "    assert graded.outcome(answer='', context=CONTEXT).reason == 'empty_answer'",
        passed=1,
    )

    assert "faithfulness: 1.00 over 1 scored of 2" in out


WRONG_USE = [
    ("@pytest.mark.rag_evals(0.9)\ndef test_it(): pass", [], "at_least=, not 0.9"),
    ("@pytest.mark.rag_evals(least=1)\ndef test_it(): pass", [], "at_least=, not least"),
    (
        "@pytest.mark.rag_evals(at_least=9)\ndef test_it(): pass",
        [],
        "the marker rag_evals has at_least=9",
    ),
    ("", ["--rag-evals-concurrency", "many"], "'many'; expected a whole number, at least 1"),
    ("", ["--rag-evals-timeout", "0"], "'0'; expected a number, at least 1"),
    ("", ["-o", "rag_evals_timeout=-1"], "rag_evals_timeout) is '-1'; expected a number"),
]


@pytest.mark.parametrize(("tests", "arguments", "said"), WRONG_USE)
def test_a_wrong_marker_or_option_ends_the_run(
    project: Callable[..., str],
    tests: str,
    arguments: list[str],
    said: str,
) -> None:
    """Nothing is graded by a marker or an option that was misread."""
    assert said in project(tests, *arguments)


def test_tests_that_grade_are_chosen_by_the_marker(project: Callable[..., str]) -> None:
    """Tests that take `graded` have the marker by themselves."""
    tests = "def test_one(graded):\n    graded(RIGHT)\n\ndef test_other():\n    pass"

    assert "rag_evals: 1 graded" in project(tests, "-m", "rag_evals", passed=1, deselected=1)
    assert " graded =" not in project(tests, "-m", "not rag_evals", passed=1, deselected=1)


def test_options_and_markers_choose_judge_and_graders(
    project: Callable[..., str], scripted: Callable[[Script], ScriptedJudge], tmp_path: Path
) -> None:
    """One session serves all tests of a judge; replies are kept in one cache."""
    judge = scripted({"statements": [statement()]})
    tests = (
        "@pytest.mark.rag_evals(judge='embedded')\ndef test_offline(graded):\n    graded(RIGHT)\n"
        "@pytest.mark.parametrize('n', range(4))\ndef test_asked(graded, n):\n    graded(RIGHT)"
    )
    options = ["--rag-evals-judge", "openai/gpt-4o-mini", "-o", "rag_evals_cache=kept.db"]

    out = project(tests, *options, passed=5)

    assert len(judge.requests) == 1, "the other three come from the cache"
    assert "faithfulness: 1.00 over 4 scored of 4 (judge: openai/gpt-4o-mini)" in out
    assert "faithfulness: 1.00 over 1 scored of 1 (judge: embedded)" in out
    project(tests, *options, passed=5)
    assert len(judge.requests) == 1
    project(tests, *options[:2], "--rag-evals-cache", "off", passed=5)
    assert len(judge.requests) == 5


def test_a_judge_that_fails_fails_the_test(
    project: Callable[..., str], scripted: Callable[[Script], ScriptedJudge]
) -> None:
    """A row whose grading failed never passes."""
    scripted(HttpError(400, "no such thing"))

    out = project(
        "def test_it():\n    assert_faithful(RIGHT, at_least=0)",
        *("--rag-evals-judge", "openai/gpt-4o-mini"),
        failed=1,
    )

    assert "AssertionError: faithfulness: failed: " in out
    assert "no such thing" in out


def test_other_programs_get_the_scores(project: Callable[..., str], tmp_path: Path) -> None:
    """JUnit properties hold the score of each grading, and the mean of a run."""
    project(
        "def test_it(graded):\n    graded.outcome(WRONG)\n"
        "    assert_scores(evaluate([RIGHT], client='embedded'), faithfulness=0.9)",
        *("--junitxml", str(tmp_path / "junit.xml")),
        passed=1,
    )

    found = ElementTree.parse(tmp_path / "junit.xml").iter("property")
    assert [(one.get("name"), one.get("value")) for one in found] == [
        ("rag_evals.faithfulness", "0.5000"),
        ("rag_evals.faithfulness.mean", "1.0000"),
    ]


def test_failures_run_first_again_and_a_further_try_replaces_the_earlier(
    project: Callable[..., str],
) -> None:
    """`--lf` runs what failed; of several tries the table and the properties have the last."""
    tests = "def test_other(): pass\n" + RIGHT_AND_WRONG

    project(tests, passed=2, failed=1)
    out = project(tests, "--lf", "--reruns", "2", failed=1, rerun=2)

    assert "rag_evals: 1 graded" in out
    assert "faithfulness: 0.50 over 1 scored of 1" in out


@pytest.mark.slow
def test_processes_of_xdist_share_one_table(
    project: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `-n 2`, the table has what both processes graded."""
    # Processes begin three times as fast without the other plugins.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = ("-p", "rag_evals.pytest_plugin", "-p", "xdist")
    out = project(RIGHT_AND_WRONG, *plugins, "-n", "2", passed=1, failed=1)

    assert "rag_evals: 2 graded" in out
    assert "faithfulness: 0.75 over 2 scored of 2 (judge: embedded)" in out
    assert EXPLAINED[-1] in out


def test_a_long_table_shows_the_lowest(project: Callable[..., str]) -> None:
    """Of many gradings, those to look at are shown, and the others counted."""
    out = project(
        "@pytest.mark.parametrize('n', range(30))\ndef test_it(graded, n):\n"
        "    graded(WRONG if n == 29 else RIGHT)",
        passed=30,
    )

    assert re.search(r"test\n 0\.50 .*\n( 1\.00 .*\n){19}and 10 more with", out)


def test_without_the_plugin_assertions_say_so() -> None:
    """Outside of a test under the plugin, there is no judge to ask."""
    program = (
        "from rag_evals.pytest_plugin import assert_faithful\nassert_faithful({'answer': 'x'})"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert "ConfigurationError: no test is running with the rag_evals plugin" in ended.stderr
    assert "-p no:rag_evals" in ended.stderr


def test_the_plugin_can_be_switched_off(project: Callable[..., str]) -> None:
    """`-p no:rag_evals` takes the fixture and the options away, and nothing else."""
    out = project("def test_it(graded): pass", "-p", "no:rag_evals", errors=1)

    assert "fixture 'graded' not found" in out


def test_a_run_within_a_test_leaves_the_outer_test_as_it_was(project: Callable[..., str]) -> None:
    """Tests of plugins run pytest within pytest; each knows its own test."""
    before = list(running)
    project(RIGHT_AND_WRONG, passed=1, failed=1)

    assert len(before) == 1
    assert running == before
    with pytest.raises(ConfigurationError, match="either a row or its fields"):
        assert_faithful(None)


def test_nothing_heavy_is_loaded_before_a_test_grades() -> None:
    """Collecting tests loads the door of the package and its errors, no more."""
    program = (
        "import sys, pytest\n"
        "pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider'])\n"
        "print(*sorted(name for name in sys.modules if name.startswith('rag_evals')))\n"
        "print('pydantic' in sys.modules, 'asyncio' in sys.modules)"
    )
    options = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "rag_evals.pytest_plugin"}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=options
    )

    *_, loaded, heavy = ended.stdout.splitlines()
    rooms = {name.split(".")[1] for name in loaded.split() if "." in name}
    assert rooms == {"errors", "pytest_plugin"}
    assert heavy == "False False"
