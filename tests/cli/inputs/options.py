"""Options: every number out of its range, names that are none, paths of every kind."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.cli.inputs.table import ROW, Content, Entry

OK = "over 1 scored of 1"
_DATA: dict[str, Content] = {"d.jsonl": ROW}
_DIGITS = "9" * 5000

NUMBERS: dict[tuple[str, ...], list[tuple[str, str, int, str]]] = {
    ("grade", "d.jsonl", "--quiet"): [
        ("--limit", "0", 2, "limit is 0; expected at least"),
        ("--limit", "-1", 2, "limit is -1; expected at least"),
        ("--limit", "abc", 2, "'--limit'"),
        ("--limit", "", 2, "'--limit'"),
        ("--limit", "1.5", 2, "'--limit'"),
        ("--limit", "²", 2, "'--limit'"),
        ("--limit", _DIGITS, 2, "'--limit'"),
        ("--limit", "9" * 30, 0, OK),
        ("--concurrency", "0", 2, "concurrency is 0; expected at least"),
        ("--concurrency", "-5", 2, "concurrency is -5; expected at least"),
        ("--concurrency", "много", 2, "'--concurrency'"),
        ("--concurrency", _DIGITS, 2, "'--concurrency'"),
        ("--concurrency", "1000000000", 0, OK),
        ("--concurrency", "9" * 30, 0, OK),
        ("--timeout", "0", 2, "timeout is 0"),
        ("--timeout", "-1", 2, "timeout is -1"),
        ("--timeout", "nan", 2, "timeout is nan"),
        ("--timeout", "inf", 2, "timeout is inf"),
        ("--timeout", "1e999", 2, "timeout is inf"),
        ("--timeout", "две", 2, "'--timeout'"),
        ("--timeout", "1e300", 2, "timeout does nothing with 'embedded'"),
        ("--tuned", "no.json", 2, "'no.json' does not exist; expected a file written"),
        (
            "--tuned",
            "d.jsonl",
            2,
            "'d.jsonl' was not written by `rag-evals judge tune`: stage",
        ),
        ("--rpm", "0", 2, "rpm is 0"),
        ("--rpm", "-1", 2, "rpm is -1"),
        ("--rpm", "nan", 2, "rpm is nan"),
        ("--rpm", "x", 2, "'--rpm'"),
        ("--tpm", "0", 2, "tpm is 0"),
        ("--tpm", "-inf", 2, "tpm is -inf"),
        ("--tpm", "", 2, "'--tpm'"),
        ("--max-failures", "²", 2, "max_failures is '²'; expected a number or a percentage"),
        ("--max-failures", "-1", 2, "max_failures is '-1'; expected a number or a percentage"),
        ("--max-failures", "101%", 2, "max_failures is '101%'; expected a number or a percentage"),
        ("--max-failures", "%", 2, "max_failures is '%'; expected a number or a percentage"),
        ("--max-failures", "", 2, "max_failures is ''; expected a number or a percentage"),
        ("--max-failures", "1.5", 2, "max_failures is '1.5'; expected a number or a percentage"),
        ("--max-failures", _DIGITS, 2, "expected a number or a percentage"),
        ("--max-failures", "0", 0, OK),
        ("--max-failures", "٣%", 0, OK),
        ("--set", "temperature", 2, "--set 'temperature' is not NAME=VALUE, as in temperature=0"),
        ("--set", "", 2, "is not NAME=VALUE"),
        ("--set", "=1", 2, "is not NAME=VALUE"),
        ("--set", "seed=", 2, "is not NAME=VALUE"),
        ("--set", "temprature=0", 2, "no setting 'temprature'; did you mean 'temperature'?"),
        ("--set", "температура=0", 2, "no setting 'температура'; available: max_tokens"),
        ("--set", "temperature=hot", 2, "temperature is 'hot'; expected a number from 0 to 2"),
        ("--set", "temperature=3", 2, "temperature is 3.0; expected a number from 0 to 2"),
        ("--set", "temperature=nan", 2, "temperature is nan; expected"),
        ("--set", "max_tokens=0", 2, "max_tokens is 0; expected at least 1"),
        ("--set", "max_tokens=1.5", 2, "max_tokens is '1.5'; expected a whole number"),
        ("--set", "seed=" + _DIGITS, 2, "expected a whole number"),
        ("--set", "top_p=2", 2, "top_p is 2.0; expected a number from 0 to 1"),
        ("--set", "temperature=0", 2, "settings (temperature) are given, but the judge 'embedded'"),
        ("--reasks", "-1", 2, "reasks is -1; expected at least"),
        ("--reasks", "x", 2, "'--reasks'"),
        ("--reasks", "0", 2, "reasks does nothing with 'embedded'"),
        ("--fail-under", "-0.1", 2, "'--fail-under'"),
        ("--fail-under", "1.1", 2, "'--fail-under'"),
        ("--fail-under", "x", 2, "'--fail-under'"),
    ],
    ("report", "run"): [
        ("--format", "pdf", 2, "'--format'"),
        ("--language", "de", 2, "'--language'"),
        ("--by", "тема", 2, "no column 'тема' in the data"),
        ("--cluster", "тема", 2, "no column 'тема' in the data"),
    ],
    ("compare", "run", "run"): [
        ("--fail-if-worse", "2", 2, "'--fail-if-worse'"),
        ("--by", "нет", 2, "no column 'нет'"),
    ],
    ("judge", "label", "run"): [
        ("--decisions", "0", 2, "'--decisions'"),
        ("--decisions", "-1", 2, "'--decisions'"),
        ("--decisions", "x", 2, "'--decisions'"),
        ("--decisions", "9" * 30, 0, "to decide on"),
        ("--seed", "1.5", 2, "'--seed'"),
    ],
}

CHOICES: list[tuple[str, tuple[str, ...], int, str]] = [
    ("no command of that name", ("grad", "d.jsonl"), 2, "No such command 'grad'"),
    ("no data", ("grade",), 2, "Missing argument"),
    ("an unknown option", ("grade", "d.jsonl", "--limt", "3"), 2, "--limt"),
    ("an option without its value", ("grade", "d.jsonl", "--limit"), 2, "--limit"),
    ("two data files", ("grade", "d.jsonl", "e.jsonl"), 2, "unexpected extra argument"),
    ("an unknown grader", ("grade", "d.jsonl", "--grader", "точность"), 2, "no grader 'точность'"),
    ("an empty grader", ("grade", "d.jsonl", "--grader", ""), 2, "no grader ''"),
    ("a long grader", ("grade", "d.jsonl", "--grader", "я" * 9999), 2, "no grader"),
    ("an unknown judge", ("grade", "d.jsonl", "--judge", "судья"), 2, "судья"),
    ("an unknown provider", ("grade", "d.jsonl", "--judge", "opnai/m"), 2, "no provider 'opnai'"),
    ("a judge of one sign", ("grade", "d.jsonl", "--judge", ">"), 2, "'"),
    (
        "a threshold that is none",
        ("grade", "d.jsonl", "--judge", "embedded@x"),
        2,
        "no threshold 'x'",
    ),
    ("a threshold over 1", ("grade", "d.jsonl", "--judge", "embedded@7"), 2, "7"),
    ("a column without field", ("grade", "d.jsonl", "--column", "=a"), 2, "is not FIELD=SOURCE"),
    ("a column without source", ("grade", "d.jsonl", "--column", "answer="), 2, "FIELD=SOURCE"),
    ("an unknown field", ("grade", "d.jsonl", "--column", "ответ=a"), 2, "is not FIELD=SOURCE"),
    ("an unknown column", ("grade", "d.jsonl", "--column", "answer=ответ"), 2, "no column 'ответ'"),
    ("a superscript place", ("grade", "d.jsonl", "--column", "answer=context.²"), 2, "context.²"),
    ("a place too far", ("grade", "d.jsonl", "--column", "answer=context.7"), 2, "context.7"),
    (
        "a place of 5,000 digits",
        ("grade", "d.jsonl", "--column", f"answer=context.{_DIGITS}"),
        2,
        "no column",
    ),
    (
        "a path of 5,000 steps",
        ("grade", "d.jsonl", "--column", "answer=" + "a." * 5000),
        2,
        "no column",
    ),
    ("a place", ("grade", "d.jsonl", "--column", "answer=context.0", "--quiet"), 0, OK),
    (
        "a field twice",
        ("grade", "d.jsonl", "--column", "answer=a", "--column", "answer=b"),
        2,
        "given twice",
    ),
    ("an unknown group", ("grade", "d.jsonl", "--by", "тема"), 2, "no column 'тема' to group by"),
    (
        "a language that is none",
        ("grade", "d.jsonl", "--language", "по-русски!"),
        2,
        "is not a known code",
    ),
    ("a verifier for nobody", ("grade", "d.jsonl", "--verifier", "embedded"), 2, "--verifier"),
    ("an attack without judge", ("judge", "attack", "--quiet"), 2, "embedded"),
    (
        "an attack on no prompt",
        ("judge", "attack", "--grader", "faithfulness_hhem"),
        2,
        "has no prompt to attack",
    ),
    ("a prompt of no name", ("prompts", "show", "нет"), 2, "no prompt about 'нет'"),
    ("a prompt outside", ("prompts", "show", "../../pyproject"), 2, "no prompt '../../pyproject'"),
    ("a prompt in no language", ("prompts", "show", "xx/score_faithfulness"), 2, "no prompt"),
    (
        "a number of rag as a grader",
        ("grade", "d.jsonl", "--grader", "claim_recall"),
        2,
        "it is a metric of the grader 'rag'",
    ),
    ("a prompt that is none", ("prompts", "check", "нет"), 2, "'нет'"),
    (
        "a copy that is there",
        ("prompts", "show", "score_faithfulness", "--to", "there"),
        2,
        "already exists; remove it",
    ),
    (
        "a copy into a file",
        ("prompts", "show", "score_faithfulness", "--to", "d.jsonl"),
        2,
        "d.jsonl",
    ),
]


def _made_as(make: str) -> Content:
    def fifo(path: Path) -> None:
        os.mkfifo(path)

    def plug(path: Path) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(path.name)
        server.close()

    def folder(path: Path) -> None:
        path.mkdir()

    def nowhere(path: Path) -> None:
        path.symlink_to("nowhere")

    def loop(path: Path) -> None:
        path.symlink_to(path.name)

    def zeros(path: Path) -> None:
        path.symlink_to("/dev/zero")

    made = {"fifo": fifo, "socket": plug, "folder": folder, "nowhere": nowhere}
    return {**made, "loop": loop, "zeros": zeros}[make]


PATHS: list[tuple[str, tuple[str, ...], dict[str, Content], int, str]] = [
    ("missing data", ("grade", "нет.jsonl"), {}, 2, "'нет.jsonl' does not exist"),
    ("no name", ("grade", ""), {}, 2, "folder"),
    ("a folder", ("grade", "."), {}, 2, "'.' is a folder"),
    (
        "a folder named as data",
        ("grade", "f.jsonl"),
        {"f.jsonl": _made_as("folder")},
        2,
        "a folder",
    ),
    ("a name of 300 letters", ("grade", "a" * 300 + ".jsonl"), {}, 2, "name too long"),
    ("a path of 5,000 letters", ("grade", "a/" * 2500 + "b.jsonl"), {}, 2, "name too long"),
    ("a file as folder", ("grade", "d.jsonl/e.jsonl"), _DATA, 2, "Not a directory"),
    ("a pipe", ("grade", "p.jsonl"), {"p.jsonl": _made_as("fifo")}, 2, "is a pipe or a device"),
    ("a socket", ("grade", "s.jsonl"), {"s.jsonl": _made_as("socket")}, 2, "is a pipe or a device"),
    (
        "endless zeros",
        ("grade", "z.jsonl"),
        {"z.jsonl": _made_as("zeros")},
        2,
        "is a pipe or a device",
    ),
    (
        "a link to nothing",
        ("grade", "l.jsonl"),
        {"l.jsonl": _made_as("nowhere")},
        2,
        "does not exist",
    ),
    ("a link to itself", ("grade", "l.jsonl"), {"l.jsonl": _made_as("loop")}, 2, "cannot be read"),
    ("no kind", ("grade", "d"), {"d": ROW}, 2, "cannot be read; expected a file"),
    ("a name with a line end", ("grade", "a\nb.txt"), {"a\nb.txt": ROW}, 2, "cannot be read"),
    ("a name that is not UTF-8", ("grade", "\udcff.jsonl"), {}, 2, "does not exist"),
    (
        "a name of 249 letters",
        ("grade", "a" * 249 + ".jsonl", "--quiet"),
        {"a" * 249 + ".jsonl": ROW},
        0,
        OK,
    ),
    (
        "a name of 120 Russian letters",
        ("grade", "я" * 120 + ".jsonl", "--quiet"),
        {"я" * 120 + ".jsonl": ROW},
        0,
        OK,
    ),
    (
        "a file in the place of the run",
        ("grade", "d.jsonl", "--out", "d.jsonl"),
        _DATA,
        2,
        "would overwrite the data",
    ),
    ("a run in a file", ("grade", "d.jsonl", "--out", "d.jsonl/run"), _DATA, 2, "cannot be used"),
    *(
        (f"a run named like {file}", ("grade", "d.jsonl", "-o", file), _DATA, 2, "name of a file")
        for file in ("x.json", "x.xls", "x.xslx", "x.PDF")
    ),
    ("a run with a version", ("grade", "d.jsonl", "-q", "-o", "gpt-4.1"), _DATA, 0, "gpt-4.1"),
    *(
        (" ".join(words), words, _DATA, 2, "has the wrong suffix; expected")
        for words in (
            ("report", "run", "-o", "r.pdf"),
            ("report", "run", "-o", "r.md"),
            ("report", "run", "--format", "md", "-o", "r.html"),
            ("compare", "run", "run", "-o", "c.pdf"),
            ("judge", "label", "run", "-o", "l.jsonl"),
        )
    ),
    (
        "a run with a long name",
        ("grade", "d.jsonl", "--out", "a" * 300),
        _DATA,
        2,
        "cannot be used",
    ),
    (
        "a run named in Russian",
        ("grade", "d.jsonl", "--out", "прогон 1", "--quiet"),
        _DATA,
        0,
        "прогон 1",
    ),
    ("a report into a folder", ("report", "run", "-o", "."), _DATA, 2, "cannot be written"),
    (
        "a report into a file",
        ("report", "run", "-o", "d.jsonl/r.html"),
        _DATA,
        2,
        "cannot be written",
    ),
    (
        "a report with a long name",
        ("report", "run", "-o", "a" * 300),
        _DATA,
        2,
        "cannot be written",
    ),
    (
        "a report into a pipe",
        ("report", "run", "-o", "p"),
        {"p": _made_as("fifo")},
        2,
        "cannot be written",
    ),
    (
        "prompts that are missing",
        ("grade", "d.jsonl", "--prompts", "нет"),
        _DATA,
        2,
        "is not a folder",
    ),
    (
        "prompts that are a file",
        ("grade", "d.jsonl", "--prompts", "d.jsonl"),
        _DATA,
        2,
        "is not a folder",
    ),
]


def entries() -> Iterator[Entry]:
    """Yield the entries of this family."""
    there: dict[str, Content] = {**_DATA, "there/score_faithfulness.jinja": "x"}
    for words, rows in NUMBERS.items():
        for option, value, code, says in rows:
            shown = value if len(value) < 40 else f"{value[:5]}... ({len(value)})"
            name = f"{words[0]} {option} {shown}"
            yield Entry(name, (*words, option, value), code, says, there)
    for name, words, code, says in CHOICES:
        yield Entry(f"{words[0]}: {name}", words, code, says, there)
    for name, words, files, code, says in PATHS:
        yield Entry(f"path: {name}", words, code, says, files)
