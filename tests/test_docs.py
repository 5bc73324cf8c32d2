"""Does every code block in README, docs and docstrings do what the page says?

A page is run from top to bottom like a notebook: Python blocks share their names, shell blocks run
the commands, and a block with a `title` becomes a file. `pytest --update-examples` rewrites the
`#>` comments that show what a block prints.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest
from instructor import Instructor
from pytest_examples import CodeExample, EvalExample, find_examples
from typer.testing import CliRunner

import rag_evals
from rag_evals import errors
from rag_evals.cli.main import app
from tests.labelled import write_labelled_files
from tests.scripted import (
    Answer,
    HttpError,
    JudgeRequest,
    Script,
    ScriptedJudge,
    fill_by_words,
)
from tests.sources import ROOT, SOURCES

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

FIRST_PAGES = {
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/index.md", "docs/quickstart.md"),
    *("docs/usage/examples.md", "docs/graders/faithfulness.md", "docs/customising-prompts.md"),
}
"""The others are run with the slow tests."""

OWNER_SNIPPETS = [
    "Faithfulness.grade(question=question, answer=answer, context=context, client=client)",
    "original_prompt = Faithfulness.prompt",
    'CustomFaithfulness = base.ContextEvaluation(prompt="Your custom prompt here...", '
    "response_model=FaithfulnessResult)",
]

ROWS: list[dict[str, Any]] = [
    {
        "id": "super-bowl",
        "question": "When was the first Super Bowl?",
        "answer": "The first Super Bowl was held on January 15, 1967.",
        "context": [
            "The first Super Bowl was played on January 15, 1967.",
            "It was in California.",
        ],
    },
    {
        "id": "eiffel",
        "question": "Where is the Eiffel Tower, and when was it finished?",
        "answer": "The Eiffel Tower stands in Paris. It was completed in 1923.",
        "context": ["The Eiffel Tower stands in Paris.", "It was completed in 1889."],
    },
    {
        "id": "canberra",
        "question": "What is the capital of Australia?",
        "answer": "The capital of Australia is Canberra.",
        "context": [],
    },
]
"""What `answers.jsonl` holds on every page."""

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<head>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_TITLE = re.compile(r'title="([^"]+)"')
# Commands of a shell block that a test does not carry out: they would change the machine.
_NOT_RUN = ("cd", "export", "git", "make", "pip", "python")


class Block(NamedTuple):
    """A fenced block that is not Python."""

    line: int
    language: str
    title: str | None
    body: str


class CommandLine(NamedTuple):
    """A command of a page, and the output lines that the page shows below it."""

    words: list[str]
    shown: list[str]


def _blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        language, _, rest = found["head"].strip().partition(" ")
        title = _TITLE.search(rest)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(line, language, title and title.group(1), found["body"])


def _command_lines(block: Block) -> Iterator[CommandLine]:
    """Read `bash` (every line is a command), `console` (`$ ` before it) and pasted help texts."""
    current: CommandLine | None = None
    for line in block.body.replace("\\\n", " ").splitlines():
        prefix = {"bash": "", "console": r"\$ ", "text": r" +(?=rag-evals )"}[block.language]
        command = re.match(prefix, line)
        if command and (words := shlex.split(line[command.end() :], comments=True)):
            if current is not None:
                yield current
            current = CommandLine(words, [])
        elif current is not None and block.language == "console":
            current.shown.append(line)
    if current is not None:
        yield current


def careful_judge(request: JudgeRequest) -> Answer:
    """Answer as a careful model would answer the examples of the docs."""
    answer = fill_by_words(request)
    if isinstance(answer, HttpError) or not isinstance(answer, dict):
        return answer
    _judge_sentences(answer, request)
    for statement in answer.get("statements", []):
        if "verdict" in statement:
            _contradict_other_years(statement)
    verdicts = zip(request.statements, answer.get("verdicts", []), strict=False)
    decided = [(one["statement"], one) for one in answer.get("statements", [])] + list(verdicts)
    for text, statement in decided:
        if "is_supported" not in statement:
            continue
        held = _held(text, statement["supporting_chunk_ids"], request.chunks)
        statement["supporting_chunk_ids"] = held
        statement["is_supported"] = bool(held)
        statement["reasoning"] = f"Chunk {held[0]} says so." if held else "No chunk says so."
    for graded in answer.get("graded_chunks", []):
        words = set(re.findall(r"\w{5,}", (request.question or "").lower()))
        chunk = request.chunks[graded["id_chunk"]].lower()
        graded["score"] = any(word in chunk for word in words)
        graded["reasoning"] = "Helps to answer." if graded["score"] else "Speaks of something else."
    _fill_rubrics(answer, request)
    for aspect in ("topical_match", "conciseness"):
        if aspect in answer:
            answer[aspect] = {"reasoning": "It does.", "label": "yes"}
    if "completeness" in answer:
        answer["completeness"] = {"reasoning": "The date is missing.", "label": "partly"}
    return answer


def _judge_sentences(answer: dict[str, Any], request: JudgeRequest) -> None:
    """Give each sentence, or the whole answer, a verdict with its reason."""
    keys = [name for name in answer if re.fullmatch(r"s\d+", name)]
    units = [*zip((answer[key] for key in keys), request.sentences, strict=False)]
    if "verdict" in answer:
        units = [(answer, request.answer or "")]
    for one, text in units:
        held = _held(text, one.get("verdict", {}).get("supported_by", []), request.chunks)
        if "verdict" in one:
            one["reasoning"] = f"Chunk {held[0]} says so." if held else "No chunk says so."
            why_not = {"not_supported_because": "contradicted"}
            one["verdict"] = {"supported_by": held} if held else why_not


def _held(text: str, chunk_ids: Sequence[int], chunks: Sequence[str]) -> list[int]:
    """Return the chunks that have every number of a text, of those that have its words."""
    numbers = set(re.findall(r"\d+", text))
    return [n for n in chunk_ids if numbers <= set(re.findall(r"\d+", chunks[n]))]


def _fill_rubrics(answer: dict[str, Any], request: JudgeRequest) -> None:
    """Decide what rubrics and repeated verdicts ask."""
    for check in answer.get("checks", []):
        check["is_met"] = check["criterion"] != "marks" or "[1]" in (request.answer or "")
    if isinstance(answer.get("label"), int):
        answer["label"] = 4
    for verdict in answer.get("verdicts", []):
        if "evidence" not in verdict:
            continue
        claim = verdict | {"statement": request.statements[verdict["statement_id"]]}
        _contradict_other_years(claim)
        verdict["verdict"] = claim["verdict"]


def _contradict_other_years(claim: dict[str, Any]) -> None:
    """Give a claim the verdict that a year in its evidence calls for."""
    years = set(re.findall(r"\b\d{4}\b", claim["statement"]))
    quoted = " ".join(evidence["quote"] for evidence in claim["evidence"])
    if years - set(re.findall(r"\b\d{4}\b", quoted)) and claim["verdict"] == "supported":
        claim["verdict"] = "contradicted"


@pytest.fixture
def workplace(
    scripted: Callable[[Script], ScriptedJudge], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with the files that pages speak of, and a judge where `openai/...` looks for one."""
    scripted(careful_judge)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "answers.csv").write_text(
        "question,response,context\n"
        'Where is the tower?,It stands in Paris.,"[""The tower stands in Paris.""]"\n',
        encoding="utf-8",
    )
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Answers")
    for line in (["question", "answer", "context"], ["Where?", "In Paris.", "It is in Paris."]):
        sheet.append(line)
    book.save(tmp_path / "answers.xlsx")
    (tmp_path / "my_strict.jinja").write_text(
        '---\nresponse_model: faithfulness\n---\n{% extends "score_faithfulness.jinja" %}\n'
        "{% block criteria %}\nOnly a chunk's own words support a statement.\n{% endblock %}\n",
        encoding="utf-8",
    )
    write_labelled_files(tmp_path)
    return tmp_path


def _run_python(
    example: CodeExample, eval_example: EvalExample, names: dict[str, Any]
) -> dict[str, Any]:
    eval_example.set_config(line_length=100)
    if eval_example.update_examples:
        return eval_example.run_print_update(example, module_globals=names)
    return eval_example.run_print_check(example, module_globals=names)


def _make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def _run_shell(command: CommandLine, place: str) -> None:
    program, *arguments = command.words
    if program in _NOT_RUN:
        targets = set(arguments) if program == "make" else set()
        assert targets <= _make_targets(), f"{place}: the Makefile has no such target"
        return
    assert program in ("rag-evals", "pytest"), f"{place}: pages may not show {program!r}"
    if arguments[:1] == ["view"]:
        # It serves until Ctrl-C: tests/report runs it.
        return
    output = _run_pytest(arguments) if program == "pytest" else _run_our_own(arguments, place)
    printed = {line.rstrip() for line in output.splitlines()}
    # "..." stands for lines that the page leaves out.
    absent = [line for line in command.shown if line.strip() != "..." and line not in printed]
    assert not absent, f"{place}: not printed: {absent}; printed:\n{output}"


def _run_our_own(arguments: list[str], place: str) -> str:
    result = CliRunner().invoke(app, arguments, prog_name="rag-evals")
    gates = {"--fail-under", "--gate", "--fail-if-worse"}
    gated = result.exit_code in {1, 4} and gates & set(arguments)
    pending = result.exit_code == 4 and arguments[0] == "batch"
    unproved = result.exit_code == 1 and arguments[:2] == ["judge", "teach"]
    assert result.exit_code == 0 or gated or pending or unproved, (
        f"{place}: {result.output}{result.exception!r}"
    )
    return result.output


def _run_pytest(arguments: list[str]) -> str:
    """Run the tests that a page has shown as files; what it shows must be printed."""
    # Plugins of others are slow to load.
    settings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    program = [sys.executable, "-m", "pytest", "-p", "rag_evals.pytest_plugin", *arguments]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, env=settings)
    return ended.stdout + ended.stderr


def _page_cases() -> Iterator[Any]:
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        yield pytest.param(page, id=name, marks=[pytest.mark.slow] * (name not in FIRST_PAGES))


@pytest.mark.parametrize("page", list(_page_cases()))
def test_a_page_runs_from_top_to_bottom(
    page: Path, workplace: Path, eval_example: EvalExample
) -> None:
    """Python blocks print what the page shows, and commands succeed."""
    blocks = list(_blocks(page.read_text(encoding="utf-8")))
    # Recipes need the packages of trackers: `make test-trackers` runs them.
    apart = {block.line for block in blocks if (block.title or "").startswith("recipes/")}
    steps: list[tuple[int, Block | CodeExample]] = [(block.line, block) for block in blocks]
    steps += [(example.start_line, example) for example in find_examples(page)]
    steps = [step for step in steps if step[0] not in apart]
    names: dict[str, Any] = {}
    ran: list[list[str]] = []
    clients: list[Any] = []
    for line, step in sorted(steps, key=lambda step: step[0]):
        place = f"{page.name}, line {line}"
        if isinstance(step, CodeExample):
            names = {**names, **_run_python(step, eval_example, names)}
            # Pages leave clients open; an open connection can fail whichever test is next.
            clients += [one.client for one in names.values() if type(one) is Instructor]
        elif step.title is not None:
            (workplace / step.title).write_text(step.body, encoding="utf-8")
        elif step.language in ("bash", "console", "text"):
            for command in _command_lines(step):
                # Help texts repeat examples of the page, and a prompt is copied only once.
                if command.words not in ran:
                    _run_shell(command, place)
                    ran.append(command.words)
    for client in clients:
        client.close()


@pytest.mark.usefixtures("workplace")
def test_docstring_examples_run(eval_example: EvalExample) -> None:
    """Every fenced block in a docstring prints what it shows."""
    examples = list(find_examples(*(path for path in SOURCES if "```" in path.read_text("utf-8"))))

    assert examples
    for example in examples:
        _run_python(example, eval_example, {})


def test_every_block_names_its_language() -> None:
    """No block escapes the tests by a language that they do not know."""
    known = {
        "diff",
        "mermaid",
        "python",
        "bash",
        "console",
        "text",
        "jinja",
        "json",
        "csv",
        "toml",
        "yaml",
    }
    known |= {"make"}

    for page in PAGES:
        unknown = {block.language for block in _blocks(page.read_text("utf-8"))} - known
        assert not unknown, page


def test_recipes_for_trackers_are_short_and_tested() -> None:
    """Each recipe compiles, has at most 20 lines of code, and is run by the trackers' tests."""
    page = (ROOT / "docs" / "guides" / "traces-and-trackers.md").read_text(encoding="utf-8")
    tests = (ROOT / "tests" / "trackers" / "test_trackers.py").read_text(encoding="utf-8")
    recipes = {b.title: b.body for b in _blocks(page) if (b.title or "").startswith("recipes/")}

    for title, body in recipes.items():
        compile(body, f"{title}", "exec")
        assert len([line for line in body.splitlines() if line.strip()]) <= 20, title
        assert f'recipe("{Path(f"{title}").stem}")' in tests, title
    assert len(recipes) == 9


def test_the_owners_snippets_are_in_the_docs() -> None:
    """What the project's owner promised to users stands in a block that runs, unchanged."""
    sources = [example.source for page in PAGES for example in find_examples(page)]

    for snippet in OWNER_SNIPPETS:
        assert any(snippet in source for source in sources), snippet


def test_the_owners_score_snippet_is_in_the_docs() -> None:
    """A result written by hand scores 1.0 when every statement is supported, 0.0 without any."""
    page = (ROOT / "docs" / "graders" / "faithfulness.md").read_text(encoding="utf-8")

    assert re.search(
        r"FaithfulnessResult\(statements=\[StatementEvaluation\(statement=\"[^\"]+\", "
        r"is_supported=True, supporting_chunk_ids=\[0\]\).*\]\)\.score == 1\.0",
        page,
    )
    assert "FaithfulnessResult(statements=[]).score == 0.0" in page


def test_every_public_name_is_in_the_reference() -> None:
    """The API page has an entry for each public name and each error."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    paths = re.findall(r"^::: (\S+)$", page, re.M)
    entries = {path.rpartition(".")[2] for path in paths}
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}

    assert (set(rag_evals.__all__) - {"base", "errors", "testing"}) - entries == set()
    assert {name for name in raised if name.endswith("Error")} - entries == set()
    # A module documents all its names, also those that have entries of their own.
    assert [path for path in paths if (ROOT / f"{path.replace('.', '/')}.py").exists()] == []


def test_what_other_tools_call_is_in_the_reference() -> None:
    """The API page has each function of integrations, once."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    entries = re.findall(r"^::: (\S+)$", page, re.M)
    offered = {
        f"rag_evals.integrations.{file.stem}.{name}"
        for file in (ROOT / "rag_evals" / "integrations").glob("*.py")
        for name in re.findall(r"^(?:def|class) ([a-zA-Z]\w*)", file.read_text("utf-8"), re.M)
    }

    assert offered - set(entries) == set()
    assert len(entries) == len(set(entries))


def test_the_layer_picture_is_the_import_contract() -> None:
    """The architecture page shows the layers that import-linter holds, in the same order."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = next(block.body for block in _blocks(page) if block.language == "text")
    layers = [re.split(r"\s{2,}", line)[0] for line in picture.splitlines()]

    assert layers == [re.sub(r"[()]", "", layer) for layer in contract["layers"]]
