"""The command line: results on stdout, the rest on stderr, exit codes as promised."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals.testing import HttpError, Script, ScriptedJudge
from tests.conftest import EIFFEL, Command, statement

Start = Callable[[Script], ScriptedJudge]


@pytest.fixture
def data() -> str:
    """Write three rows: half supported, fully supported, without context."""
    rows: list[dict[str, Any]] = [
        {"id": "eiffel", **EIFFEL},
        {
            "id": "paris",
            "question": "q",
            "answer": "It is in Paris.",
            "context": ["It is in Paris."],
        },
        {"id": "empty", "question": "q", "answer": "It is in Paris.", "context": []},
    ]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return "answers.jsonl"


def test_grade_prints_the_table_the_mean_and_the_folder(command: Command, data: str) -> None:
    """The rows that need a look come first; progress and columns go to stderr."""
    ended = command("grade", data)

    assert ended.code == 0
    assert "It was completed in 1923." in ended.out
    assert "faithfulness: 0.75 over 2 scored of 3 (1 not scorable: empty_context)" in ended.out
    assert "run folder: runs/answers-" in ended.out
    assert "columns question=question, answer=answer, context=context, id=id" in ended.err
    assert "graded 3/3" in ended.err
    assert "\x1b[" not in ended.out + ended.err


def test_the_same_command_goes_on_with_its_run(command: Command, data: str) -> None:
    """The folder is named after data and settings; another limit is another folder."""
    first = command("grade", data).out.splitlines()[-1]

    assert command("grade", data).out.splitlines()[-1] == first
    assert command("grade", data, "--limit", "1").out.splitlines()[-1] != first


def test_json_is_for_other_programs(command: Command, data: str) -> None:
    """One object on stdout and nothing else."""
    ended = command("grade", data, "--json", "--quiet")

    assert ended.err == ""
    numbers = json.loads(ended.out)["graders"]["faithfulness"]
    assert (numbers["mean"], numbers["scored"], numbers["total"]) == (0.75, 2, 3)


@pytest.mark.parametrize(("threshold", "code"), [("0.75", 0), ("0.76", 1)])
def test_a_missed_threshold_is_exit_code_1(
    command: Command, data: str, threshold: str, code: int
) -> None:
    """CI fails when the mean is below the limit, and only then."""
    gate = ("--fail-under", threshold, "--min-scored", "60%")
    assert command("grade", data, *gate).code == code


def test_the_judge_comes_from_the_environment(
    command: Command, data: str, scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RAG_EVALS_JUDGE is used where --judge is not given."""
    judge = scripted(None)
    monkeypatch.setenv("RAG_EVALS_JUDGE", "openai/gpt-4o-mini")
    command("grade", data)

    assert len(judge.requests) == 2


def test_several_graders_are_shown_side_by_side(
    command: Command, data: str, scripted: Start
) -> None:
    """--grader may be repeated; each has its own line."""
    scripted(None)
    ended = command(
        "grade",
        data,
        "--judge",
        "openai/m",
        "--grader",
        "faithfulness",
        "--grader",
        "chunk_precision",
    )

    assert "faithfulness: 1.00 over 2 scored" in ended.out
    assert "chunk_precision: 1.00 over 2 scored" in ended.out


def test_a_prompt_file_swaps_the_prompt_without_code(
    command: Command, data: str, scripted: Start
) -> None:
    """Front matter names the response model; the body is what the judge reads."""
    judge = scripted({"statements": [statement()]})
    Path("my.jinja").write_text(
        "---\nname: strict\nresponse_model: faithfulness\n---\nBe strict.\n"
    )
    ended = command("grade", data, "--judge", "openai/m", "--prompt", "my.jinja")

    assert ended.code == 0
    assert "strict: 1.00 over 2 scored of 3" in ended.out
    assert judge.requests[0].messages[0]["content"].startswith("Be strict.\n\ns0: sentence 0")


def test_a_bare_prompt_takes_the_response_model_of_a_grader(
    command: Command, data: str, scripted: Start
) -> None:
    """Without front matter --grader says what the judge fills."""
    scripted(None)
    Path("my.jinja").write_text("Be strict.")

    assert command("grade", data, "--judge", "openai/m", "--prompt", "my.jinja").code == 2
    ended = command(
        "grade", data, "--judge", "openai/m", "--prompt", "my.jinja", "--grader", "chunk_precision"
    )
    assert "my: 1.00 over 2 scored of 3" in ended.out


def prompt_file(text: str) -> str:
    """Write a prompt file."""
    Path("p.jinja").write_text(text)
    return "p.jinja"


def data_file(text: str) -> str:
    """Write a data file."""
    Path("b.jsonl").write_text(text)
    return "b.jsonl"


WRONG: dict[str, tuple[Callable[[], list[str]], str]] = {
    "missing file": (lambda: ["none.jsonl"], "'none.jsonl' does not exist"),
    "folder": (lambda: ["."], "'.' is a folder"),
    "empty": (lambda: [data_file("")], "'b.jsonl' has no rows"),
    "broken": (lambda: [data_file("{")], "b.jsonl, line 1: invalid JSON"),
    "column": (lambda: ["answers.jsonl", "--column", "answer=reply"], "no column 'reply'"),
    "pair": (lambda: ["answers.jsonl", "--column", "answer"], "is not FIELD=SOURCE"),
    "grader": (lambda: ["answers.jsonl", "--grader", "faithfulnes"], "did you mean 'faithfulness'"),
    "list": (lambda: ["answers.jsonl", "--grader", "rag,relevance"], "repeat --grader"),
    "no key": (lambda: ["answers.jsonl", "--judge", "openai/m"], "set OPENAI_API_KEY"),
    "provider": (lambda: ["answers.jsonl", "--judge", "opnai/m"], "no provider 'opnai'"),
    "no model": (lambda: ["answers.jsonl", "--judge", "openai"], "nor PROVIDER/MODEL"),
    "embedded prompt": (
        lambda: [
            "answers.jsonl",
            "--prompt",
            prompt_file("---\nresponse_model: faithfulness\n---\nx"),
        ],
        "judges statements without a prompt",
    ),
    "variable": (
        lambda: ["answers.jsonl", "--prompt", prompt_file("a\n{{ contxt }}")],
        "p.jinja, line 2: unknown variable 'contxt'",
    ),
    "syntax": (lambda: ["answers.jsonl", "--prompt", prompt_file("{% for %}")], "p.jinja, line 1:"),
    "response model": (
        lambda: [
            "answers.jsonl",
            "--prompt",
            prompt_file("---\nresponse_model: faithfulnes\n---\nx"),
        ],
        "no response model 'faithfulnes'; did you mean 'faithfulness'",
    ),
    "two graders": (
        lambda: ["answers.jsonl", "--prompt", prompt_file("x"), "--grader", "a", "--grader", "b"],
        "specify one shipped grader",
    ),
    "option": (lambda: ["answers.jsonl", "--limt", "3"], "--limt"),
    "range": (lambda: ["answers.jsonl", "--concurrency", "0"], "concurrency is 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_users_mistake_is_one_clear_error(command: Command, data: str, name: str) -> None:
    """Exit code 2, a message with the value, nothing on stdout, no traceback."""
    make, message = WRONG[name]
    ended = command("grade", *make())

    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            HttpError(401, "bad key sk-test-SECRET"),
            "JudgeRejectedError: the endpoint rejects the key",
        ),
        (
            HttpError(404, "model not found"),
            "JudgeRejectedError: the endpoint does not recognise this model",
        ),
    ],
)
def test_a_judge_that_refuses_all_is_exit_code_2(
    command: Command, data: str, scripted: Start, script: Any, message: str
) -> None:
    """Fatal before the first row succeeded: one line, without the key."""
    scripted(script)
    ended = command("grade", data, "--judge", "openai/m", "--quiet")

    assert ended.code == 2
    assert message in ended.err
    assert "SECRET" not in ended.err
    assert len(ended.err.splitlines()) == 1


def test_an_unreachable_endpoint_is_exit_code_2(
    command: Command, data: str, scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens: the message says so."""
    judge = scripted(None)
    judge.__exit__(None, None, None)
    ended = command("grade", data, "--judge", "openai/m")

    assert ended.code == 2
    assert "no connection to the endpoint" in ended.err


def test_data_cannot_write_to_the_terminal(command: Command) -> None:
    """Markup is shown as text, and control characters are replaced."""
    row = {
        "id": "[red]x\x1b[31m",
        "answer": "The cats of the [bold]fly\x07 high.",
        "context": ["Dogs bark."],
    }
    Path("d.jsonl").write_text(json.dumps(row))
    out = command("grade", "d.jsonl").out

    assert "[red]x�[31m" in out
    assert "[bold]fly� high" in out


def test_demo_grades_the_shipped_rows(command: Command) -> None:
    """24 rows, all shown in order, with the mean and the folder."""
    ended = command("demo")

    assert ended.code == 0
    assert "over 22 scored of 24 (2 not scorable: 1 empty_context, 1 no_statements)" in ended.out
    assert "run folder: runs/demo-" in ended.out
    assert "eiffel-ru" in ended.out
    assert "graded 24/24" in ended.err


def test_graders_lists_what_there_is(command: Command) -> None:
    """Every grader is there with what it needs."""
    out = command("graders").out

    assert all(name in out for name in ("faithfulness", "chunk_precision", "answer_relevance"))


def test_prompts_are_listed_shown_and_copied(command: Command, data: str, scripted: Start) -> None:
    """A copied prompt is a file that --prompt takes."""
    scripted(None)
    assert "score_faithfulness" in command("prompts", "show").out
    shown = command("prompts", "show", "score_faithfulness").out
    assert shown.startswith("---\nname: faithfulness")

    assert command("prompts", "show", "score_faithfulness", "--to", "mine").out == (
        "mine/score_faithfulness.jinja\n"
    )
    assert Path("mine/score_faithfulness.jinja").read_text() == shown
    assert command("prompts", "show", "score_faithfulness", "--to", "mine").code == 2
    assert command("prompts", "show", "nothing").code == 2
    ended = command(
        "grade", data, "--judge", "openai/m", "--prompt", "mine/score_faithfulness.jinja"
    )
    assert ended.code == 0


def test_the_module_is_the_command() -> None:
    """`python -m rag_evals` does what `rag-evals` does, and says its version."""
    ended = subprocess.run(
        [sys.executable, "-m", "rag_evals", "--version"], capture_output=True, text=True, check=True
    )

    assert ended.stdout.startswith("rag-evals 0.")


def test_a_dry_run_prints_the_cost_and_sends_nothing(
    command: Command, data: str, scripted: Start
) -> None:
    """Rows, calls, tokens and money, and no run folder."""
    judge = scripted(None)
    ended = command("grade", data, "--judge", "openai/gpt-4o-mini", "--dry-run")

    assert ended.code == 0
    assert ended.out.startswith("3 rows, 2 calls, ")
    assert "nothing was sent" in ended.out
    assert judge.requests == []
    assert not Path("runs").exists()


def test_the_second_run_is_free(command: Command, data: str, scripted: Start) -> None:
    """The cache answers the same calls for another folder, unless it is switched off."""
    judge = scripted(None)
    command("grade", data, "--judge", "openai/gpt-4o-mini", "--out", "a")
    ended = command("grade", data, "--judge", "openai/gpt-4o-mini", "--out", "b")
    assert len(judge.requests) == 2
    assert "spent: 0 calls, 2 from the cache" in ended.out

    command("grade", data, "--judge", "openai/gpt-4o-mini", "--out", "c", "--no-cache")
    assert len(judge.requests) == 4


def test_a_finished_run_says_that_nothing_is_left(command: Command, data: str) -> None:
    """The same command prints the summary again."""
    first = command("grade", data)
    second = command("grade", data)

    assert "nothing to do: every row" in second.err
    assert second.out == first.out


@pytest.mark.parametrize("rows", [3, 30])
def test_too_many_failures_are_exit_code_3(command: Command, scripted: Start, rows: int) -> None:
    """Early when there are many rows, at the end when there are few; what was graded is shown."""
    scripted(HttpError(400, "too long"))
    lines = [json.dumps({"answer": f"Answer {n}.", "context": ["c"]}) for n in range(rows)]
    Path("d.jsonl").write_text("\n".join(lines))
    ended = command("grade", "d.jsonl", "--judge", "openai/m")

    assert ended.code == 3
    assert "gradings failed, more than 50%" in ended.err
    assert "JudgeRequestError" in ended.out


def test_some_failures_are_a_warning(command: Command, data: str, scripted: Start) -> None:
    """Under the limit the exit code is 0, and stderr says how many failed."""
    scripted(
        lambda request: (
            HttpError(400) if "1923" in str(request.answer) else {"statements": [statement()]}
        )
    )
    ended = command("grade", data, "--judge", "openai/m")

    assert ended.code == 0
    assert "Warning: 1 grading failed; run the same command to retry it" in ended.err
