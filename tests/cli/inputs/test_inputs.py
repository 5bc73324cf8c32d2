"""Whatever a user hands in, a command ends as promised: its exit code, one line, no traceback."""

import gzip
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from rag_evals import evaluate
from rag_evals.text.screen import is_obeyed
from tests.cli.inputs import data_files, options, prompts_and_runs
from tests.cli.inputs.table import ROW, Content, Entry
from tests.conftest import Command
from tests.slow import some_slow

ENTRIES = [*data_files.entries(), *options.entries(), *prompts_and_runs.entries()]
_LONGEST_LINE = 1010


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grade one row into a folder that the entries read."""
    folder = tmp_path_factory.mktemp("graded")
    evaluate(prompts_and_runs.run_folder(folder / "d.jsonl"), out=folder / "run", progress=False)
    return folder / "run"


def make(name: str, content: Content) -> None:
    """Put something at a path of the working folder."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
    else:
        content(path)


def test_the_table_is_long_and_names_each_entry_once() -> None:
    """At least 250 inputs."""
    names = [entry.name for entry in ENTRIES]

    assert len(names) >= 250
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("entry", some_slow(ENTRIES, 3), ids=lambda entry: ascii(entry.name)[1:70])
def test_a_hostile_input_ends_as_promised(
    command: Command, graded: Path, monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    """The exit code of the table; one error line that says what is wrong; nothing is obeyed."""
    copytree(graded, "run")
    for name, content in entry.files.items():
        make(name, content)
    for name, value in entry.environment.items():
        monkeypatch.setenv(name, value)
    ended = command(*entry.words)

    said = ended.out + ended.err
    assert ended.code == entry.code, said[-2000:]
    assert "Traceback" not in said
    assert not any(map(is_obeyed, said.replace("\r\n", "\n")))
    errors = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    if entry.code == 0:
        assert not errors
        assert entry.says in said
    else:
        assert len(errors) == 1, ended.err
        assert entry.says in errors[0]
        assert len(errors[0]) <= _LONGEST_LINE


def _sparse(path: Path) -> None:
    """Make a file of 1 GB that takes no room."""
    with path.open("wb") as file:
        file.truncate(1_000_000_000)


def _gigabyte(path: Path) -> None:
    """Make an archive of one line of 300 MB."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(bytes(1_000_000))


LARGE: dict[str, tuple[list[str], Content, int, str]] = {
    "a line of 1 GB": (["grade", "f.jsonl"], _sparse, 2, "line 1 is larger than 256 MB"),
    "a list of 1 GB": (["grade", "f.json"], _sparse, 2, "the file is larger than 256 MB"),
    "a table of 1 GB": (["grade", "f.csv"], _sparse, 2, "line 1 is larger than 256 MB"),
    "a bomb": (["grade", "f.jsonl.gz"], _gigabyte, 2, "line 1 is larger than 256 MB"),
    "a prompt of 1 GB": (
        ["prompts", "check", "f.jinja", "--grader", "faithfulness"],
        _sparse,
        2,
        "has more than 10 MB",
    ),
    "1,000,000,000 gradings at a time": (
        ["grade", "f.jsonl", "--quiet", "--concurrency", "1000000000"],
        ROW,
        0,
        "over 1 scored of 1",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_large_input_fits_into_memory(name: str) -> None:
    """1.5 GB of addresses are enough, whatever stands in the file."""
    words, content, code, says = LARGE[name]
    file = next(word for word in words if word.startswith("f."))
    make(file, content)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2)\n"
        "from rag_evals.cli.main import run; run()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    Path(file).unlink()

    assert ended.returncode == code, ended.stderr
    assert says in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "line"),
    [(signal.SIGINT, 130, "Error: interrupted by SIGINT\n"), (signal.SIGTERM, -signal.SIGTERM, "")],
)
def test_a_signal_ends_a_command_that_has_not_begun_to_grade(
    number: signal.Signals, code: int, line: str
) -> None:
    """While it waits for a slow disk, Ctrl-C ends it in one line, and SIGTERM at once."""
    program = (
        "import sys, time; from rag_evals.cli.shared.exits import exit_code_of\n"
        "sys.exit(exit_code_of(lambda: (print('waits', flush=True), time.sleep(3600))))"
    )
    waiting = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "waits\n"
    waiting.send_signal(number)
    _, said = waiting.communicate()

    assert (waiting.returncode, said) == (code, line)
