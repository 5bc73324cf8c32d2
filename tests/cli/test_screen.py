"""Text of others on a terminal: shown, never obeyed; and a reader that goes early ends nothing."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evals.cli.shared.exits import exit_code_of
from rag_evals.report.screen import cell
from rag_evals.testing import HttpError, Script, ScriptedJudge
from rag_evals.text import one_line
from rag_evals.text.screen import is_obeyed, printable
from tests.conftest import Command

CLI = Path(__file__).parents[2] / "rag_evals" / "cli"
EVIL = "\x1b]0;title\x07\x1b[2J\x1b[31m\u202eevil\u2066\x9b1m[red]x[/red] :boom: [/x]\r\u2028"
"""An OSC title, a cleared screen, a colour, text that runs backwards, a C1 code, rich markup."""


def harmless(text: str) -> bool:
    """Say whether a terminal would obey nothing in a text."""
    return not any(map(is_obeyed, text))


@pytest.mark.parametrize(
    "text",
    [
        "Да,\u00a0это так.\n\tВот.",
        "👩\u200d🔬 семья",
        "می\u200cخواهم",
        "a\r\nb",
        "ﬁ – «да» ½ \ue000",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    """Russian, emoji, no-break spaces and line ends are shown as they are."""
    assert printable(text) == text


@given(st.text())
def test_nothing_is_obeyed(text: str) -> None:
    """No character that a terminal obeys is left, and no other is lost."""
    shown = printable(text)

    assert harmless(shown.replace("\r\n", "\n"))
    assert len(shown) == len(text)
    assert printable(shown) == shown


def test_a_message_is_one_line_of_bounded_length() -> None:
    """What is wrong stands at the beginning, what would be right at the end."""
    line = one_line("no column 'x';\n  the row has " + "y, " * 5000 + "z")

    assert len(line) <= 1000
    assert line.startswith("no column 'x'; the row has y")
    assert line.endswith("y, z")


def test_a_cell_is_no_markup() -> None:
    """Brackets in data are brackets, and nothing in them is an error."""
    assert cell("[red]a[/red] [/b] \x1b[1m").plain == "[red]a[/red] [/b] �[1m"


def test_there_is_one_door_to_the_screen() -> None:
    """No command prints by itself, so none can forget to look at what it prints."""
    for path in CLI.rglob("*.py"):
        if path.name == "screen.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "typer.echo", "typer.secho", "Console"), path


@pytest.fixture
def evil_run(command: Command) -> str:
    """Grade rows whose every text and column name is hostile; return the run's folder."""
    rows = [
        {
            "id": f"{n}{EVIL}",
            "question": EVIL,
            "answer": f"The tower is red{n}. {EVIL} It stands in Rome.",
            "context": [f"The tower stands in Paris. {EVIL}"],
            f"group{EVIL}": f"=1+1{EVIL}{n % 2}",
            f"={EVIL}": f"@x{n % 2}",
            "label": bool(n % 2),
        }
        for n in range(4)
    ]
    Path("d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert command("grade", "d.jsonl", "--out", "run", "--quiet").code == 0
    return "run"


EVERYWHERE: dict[str, list[str]] = {
    "grade": ["grade", "d.jsonl", "--out", "run"],
    "grade by": ["grade", "d.jsonl", "--out", "run", "--by", f"group{EVIL}"],
    "grade json": ["grade", "d.jsonl", "--out", "run", "--json", "--by", f"group{EVIL}"],
    "grade by nothing": ["grade", "d.jsonl", "--by", EVIL],
    "grade column": ["grade", "d.jsonl", "--column", f"answer={EVIL}"],
    "grade pair": ["grade", "d.jsonl", "--column", EVIL],
    "grade judge": ["grade", "d.jsonl", "--judge", EVIL],
    "grade grader": ["grade", "d.jsonl", "--grader", EVIL],
    "grade file": ["grade", EVIL],
    "grade out": ["grade", "d.jsonl", "--limit", "1", "--out", f"out{EVIL}"],
    "grade number": ["grade", "d.jsonl", "--limit", EVIL],
    "grade option": ["grade", "d.jsonl", f"--{EVIL}"],
    "no command": [EVIL],
    "compare": ["compare", "run", "run", "--by", f"group{EVIL}"],
    "compare json": ["compare", "run", "run", "--by", f"group{EVIL}", "--json"],
    "compare by nothing": ["compare", "run", "run", "--by", EVIL],
    "report md": ["report", "run", "--format", "md", "--by", f"group{EVIL}"],
    "report json": ["report", "run", "--json", "--by", f"group{EVIL}"],
    "report out": ["report", "run", "--format", "md", "-o", f"{EVIL}.md"],
    "report run": ["report", EVIL],
    "agreement": ["judge", "agreement", "run", "--by", f"group{EVIL}"],
    "agreement json": ["judge", "agreement", "run", "--by", f"group{EVIL}", "--json"],
    "agreement labels": ["judge", "agreement", "run", EVIL],
    "correct": ["judge", "correct", "run", "--cluster", f"group{EVIL}"],
    "label": ["judge", "label", "run", "-o", f"{EVIL}.html"],
    "prompts show": ["prompts", "show", EVIL],
    "prompts check": ["prompts", "check", EVIL],
    "prompts check data": ["prompts", "check", "evil.jinja", "--data", "d.jsonl"],
    "prompts against": ["prompts", "check", "evil.jinja", "--against", "score_faithfulness"],
    "prompts copy": ["prompts", "show", "score_faithfulness", "--to", f"new{EVIL}"],
    "ragged csv": ["grade", "evil.csv"],
    "csv twice": ["grade", "twice.csv"],
}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_no_command_lets_text_of_others_move_the_terminal(
    command: Command, evil_run: str, name: str
) -> None:
    """Values, columns, file names, prompts and options are shown; nothing of them is obeyed."""
    Path("evil.jinja").write_text(
        f'---\nname: "{json.dumps(EVIL)[1:-1]}"\nresponse_model: faithfulness\n---\n{EVIL} Judge.'
    )
    Path("evil.csv").write_text(f"answer,context{EVIL[:40]}\n1\n")
    Path("twice.csv").write_text(f"a{EVIL[:40]},a{EVIL[:40]}\n1,2\n")
    ended = command(*EVERYWHERE[name])

    said = ended.out + ended.err
    assert harmless(said.replace("\r\n", "\n"))
    assert ended.code in (0, 2)
    assert ended.err.count("Error:") == (ended.code == 2)
    if name.endswith("json"):
        assert json.loads(ended.out)


@pytest.mark.parametrize("status", [400, 401, 404])
def test_the_words_of_an_endpoint_are_not_obeyed(
    command: Command, scripted: Callable[[Script], ScriptedJudge], status: int
) -> None:
    """In the error that ends a run, in the table of rows, and in JSON."""
    scripted(HttpError(status, f"no {EVIL}"))
    Path("d.jsonl").write_text('{"answer": "a", "context": ["c"]}')
    for more in ([], ["--json"]):
        ended = command("grade", "d.jsonl", "--judge", "openai/m", *more)
        assert harmless(ended.out + ended.err)
        assert ended.code in (2, 3)
        assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        pytest.param(["prompts", "show", "score_faithfulness"], marks=pytest.mark.slow),
        pytest.param(["demo"], marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_goes_early_is_no_failure(words: list[str]) -> None:
    """`| head` ends with 0, and nothing is said about the pipe."""
    ended = subprocess.run(
        f"{sys.executable} -m rag_evals {' '.join(words)} 2>said | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout.strip() == "0"
    said = Path("said").read_text()
    assert "Broken" not in said
    assert "Traceback" not in said


def test_a_gate_counts_though_nobody_reads() -> None:
    """The exit code says what the command found, whether its table was read or not."""
    Path("d.jsonl").write_text('{"answer": "It is in Rome.", "context": ["It is in Paris."]}')
    ended = subprocess.run(
        f"{sys.executable} -m rag_evals grade d.jsonl --fail-under 0.9 --quiet | true; "
        "echo ${PIPESTATUS[0]}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout.strip() == "1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no full device")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("graders >/dev/full", 2, "Error: No space left on device\n"),
        ("prompts show score_faithfulness >/dev/full", 2, "Error: No space left on device\n"),
        ("graders -q >&-", 0, ""),
        ("grade nothing.jsonl 2>/dev/full", 2, ""),
        ("grade nothing.jsonl 2>&-", 2, ""),
    ],
)
@pytest.mark.slow
def test_a_full_disk_is_one_line(words: str, code: int, said: str) -> None:
    """What cannot be written is an error; an error that cannot be said keeps its exit code."""
    ended = subprocess.run(
        f"{sys.executable} -m rag_evals {words}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        # Unbuffered output fails at once; the usual, buffered one may fail as Python ends.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )

    assert (ended.returncode, ended.stderr) == (code, said)


@pytest.mark.parametrize("encoding", ["ascii", "cp1251", "latin-1"])
def test_a_screen_that_knows_few_letters_is_no_error(
    command: Command, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """What it cannot show is replaced; JSON stays JSON."""
    row = {"id": "да 🗼 ½", "answer": "Это так. 🗼", "context": ["Нет."]}
    Path("d.jsonl").write_text(json.dumps(row))
    for more in ([], ["--json"]):
        with monkeypatch.context() as patched:
            out, error = (TextIOWrapper(BytesIO(), encoding) for _ in range(2))
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", error)
            assert command("grade", "d.jsonl", "--out", "прогон", *more).code == 0
            out.flush()
            error.flush()
        assert b"Traceback" not in error.buffer.getvalue()
    assert json.loads(out.buffer.getvalue().decode(encoding))["folder"] == "прогон"


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (OSError(28, "No space left on device"), 2, "Error: No space left on device"),
        (PermissionError(13, "Permission denied", "a\nb"), 2, "Error: 'a\\nb': Permission denied"),
        (MemoryError(), 2, "Error: out of memory"),
        (RecursionError("deep"), 70, "Error: this is a bug in rag_evals: RecursionError: deep"),
        (ValueError("x\ny"), 70, "Error: this is a bug in rag_evals: ValueError: x y"),
        (KeyboardInterrupt(), 130, "Error: interrupted by SIGINT"),
    ],
)
def test_whatever_ends_a_command_is_one_line(
    capsys: pytest.CaptureFixture[str], raised: BaseException, code: int, line: str
) -> None:
    """A full disk and too little memory are no bugs; the rest is, and says so."""

    def work() -> None:
        raise raised

    assert exit_code_of(work) == code
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(line)
