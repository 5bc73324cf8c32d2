"""Does an option mean the same in every command, and does every command serve programs too?"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rag_evals.cli.main import app
from rag_evals.run.plan.options import OPTIONS
from tests.conftest import EIFFEL, Command

ANSWERS = [{"id": f"r{n}", **EIFFEL, "label": bool(n % 2)} for n in range(12)]
ANSWERS[1]["answer"] = "The Eiffel Tower stands in Paris."
LABELS = [{"id": f"r{n}", "label": bool(n % 2)} for n in range(12)]


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    for name, one in (inner or {}).items():
        yield from commands(one, (*words, name))


COMMANDS = {" ".join(words): command for words, command in commands(get_command(app))}


def spellings(name: str) -> dict[str, set[str]]:
    """Return how a command spells its options, by name."""
    return {
        one.name: {*one.opts, *one.secondary_opts}
        for one in COMMANDS[name].params
        if one.param_type_name == "option"
    }


def test_every_option_of_a_run_is_an_option_of_grade() -> None:
    """Those that are missing have other names or forms there, such as --column and --judge."""
    elsewhere = {"columns", "model", "progress", "sampling"}

    assert OPTIONS.keys() - elsewhere <= spellings("grade").keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_spelled_the_same_in_all_commands(name: str) -> None:
    """`-o` is --out, `-q` is --quiet, and every command has --json; no other short ones."""
    options = spellings(name)

    assert options.get("out", {"--out", "-o"}) == {"--out", "-o"}
    assert options.get("quiet", {"--quiet", "-q"}) == {"--quiet", "-q"}
    assert options["json_output"] == {"--json"}
    short = {word for words in options.values() for word in words if len(word) == 2}
    assert short <= {"-o", "-q", "-h", "-n"}


EVERY_RESULT: dict[str, tuple[str, ...]] = {
    "demo": (),
    "grade": ("a.jsonl",),
    "init": ("begun",),
    "report": ("run",),
    "show": ("run", "r1"),
    "export": ("run", "--to", "t.csv"),
    "judge label": ("run",),
    "merge": ("run", "-o", "merged"),
    "compare": ("run", "other"),
    "judge agreement": ("run", "labels.jsonl"),
    "judge correct": ("run", "labels.jsonl"),
    "graders": (),
    "prompts show": (),
    "prompts check": ("own.jinja",),
}
OTHERWISE_TESTED = {
    "view",
    "judge tune",
    "judge attack",
    "judge exam",
    "judge teach",
    "batch collect",
}
"""They need a judge, a provider or many labels; `--json` of each is in the test of its own."""

NEXT = {
    "demo": "rag-evals report runs/demo-",
    "grade": "rag-evals report runs/a-",
    "init": "rag-evals grade",
    "report": "rag-evals judge label run",
    "judge label": "rag-evals judge agreement run labels.jsonl",
    "merge": "rag-evals report merged",
    "compare": "rag-evals compare run other -o compared.html",
    "judge agreement": "rag-evals judge correct run labels.jsonl",
    "graders": "rag-evals grade DATA --grader faithfulness",
    "prompts show": "rag-evals prompts show score_faithfulness --to my_prompts",
    "prompts check": "rag-evals grade DATA --prompt own.jinja --judge openai/gpt-4o-mini",
}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data, labels, a prompt of one's own and two runs."""
    from rag_evals import evaluate

    folder = tmp_path_factory.mktemp("work")
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, ANSWERS)))
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, LABELS)))
    (folder / "own.jinja").write_text("---\nresponse_model: faithfulness\n---\nBe strict.\n")
    for name in ("run", "other"):
        evaluate(folder / "a.jsonl", client="embedded", out=folder / name, progress=False)
    return folder


@pytest.mark.parametrize("name", EVERY_RESULT)
def test_a_command_prints_one_json_value_and_no_more(
    name: str, command: Command, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--json` leaves one value on standard output; the next step is offered to people only."""
    monkeypatch.chdir(workplace)
    words = name.split()

    ended = command(*words, *EVERY_RESULT[name], "--json")

    assert ended.code == 0, ended.err
    assert json.loads(ended.out)
    assert "next:" not in ended.out + ended.err
    (workplace / "mine/score_precision.jinja").unlink(missing_ok=True)
    _remove(workplace / "merged")
    _remove(workplace / "begun")


def test_every_command_prints_json_somewhere() -> None:
    """A new command joins the table above, or names its own test."""
    assert set(EVERY_RESULT) | OTHERWISE_TESTED == set(COMMANDS)


@pytest.mark.parametrize("name", NEXT)
def test_the_end_of_a_command_offers_the_next(
    name: str, command: Command, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line on standard error, which --quiet leaves out."""
    monkeypatch.chdir(workplace)
    words = (*name.split(), *EVERY_RESULT[name])
    for quiet in (False, True):
        ended = command(*words, *(["-q"] if quiet else []))

        lines = [line for line in ended.err.splitlines() if line.startswith("next: ")]
        assert ended.code == 0, ended.err
        assert [line.startswith(f"next: {NEXT[name]}") for line in lines] == [True] * (not quiet)
        assert "next: " not in ended.out
        (workplace / "mine/score_precision.jinja").unlink(missing_ok=True)
        _remove(workplace / "merged")
        _remove(workplace / "begun")


def test_a_correction_is_offered_only_with_enough_labels(
    command: Command, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`judge correct` refuses fewer than 20 labels, so it is not the next step."""
    monkeypatch.chdir(workplace)
    Path("few.jsonl").write_text("\n".join(map(json.dumps, LABELS[:5])))
    ended = command("judge", "agreement", "run", "few.jsonl")

    assert ended.code == 0
    assert "next: " not in ended.err


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def test_the_next_step_speaks_the_readers_language(command: Command, workplace: Path) -> None:
    """A path that a shell would take apart is quoted."""
    ended = command("judge", "label", str(workplace / "run"), "-o", "a.html", "--language", "ru")
    run = workplace / "run"
    run.rename(workplace / "my run")
    quoted = command("judge", "label", str(workplace / "my run"), "-o", "a.html")
    (workplace / "my run").rename(run)

    assert "дальше: rag-evals judge agreement" in ended.err
    assert f"next: rag-evals judge agreement '{workplace}/my run' labels.jsonl" in quoted.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["graders", "chunk", "used"], ["chunk_utility"]),
        (["graders", "QUOTES"], ["faithfulness_audited"]),
        (["graders", "reference"], ["context_recall", "answer_correctness"]),
        (["prompts", "show", "relevant", "chunk"], ["score_precision"]),
    ],
)
def test_lists_can_be_searched(words: list[str], found: list[str], command: Command) -> None:
    """Only entries with every word are listed, wherever in the entry it stands."""
    ended = command(*words, "--json")
    kind = words[0].removesuffix("s")

    assert [one[kind] for one in json.loads(ended.out)] == found


def test_a_search_without_result_says_what_there_is(command: Command) -> None:
    """The user is told the names, and the exit code is that of a mistake."""
    ended = command("graders", "bleu")

    assert ended.code == 2
    assert (
        "no grader about 'bleu'; available: abstention, answer_correctness, answer_relevance"
        in ended.err
    )


def test_tables_are_plain_where_no_terminal_reads_them(command: Command, workplace: Path) -> None:
    """No lines are drawn, so that grep and cut can read a table."""
    for words in (["graders"], ["grade", str(workplace / "a.jsonl")]):
        assert not set(command(*words).out) & set("─│┃━┏┓└┘╇┡")
