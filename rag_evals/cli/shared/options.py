"""Options shared by several commands.

A command receives a group of options as one object: `@flat` replaces a parameter whose type is a
dataclass with the fields of that class, and `**options: Unpack[RunOptions]` with run options.

In commands that show a run (`report`, `export`, `judge label`), `--language` is the language of the
reader. In commands that grade, it is the language of the rows, and also of the output unless
RAG_EVALS_LANGUAGE is set.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer
from pydantic_core import to_json

from rag_evals.cli.shared.gates import share_option
from rag_evals.core import phrases
from rag_evals.core.arguments import parse_settings
from rag_evals.core.wording import LANGUAGE_VARIABLE, LANGUAGES
from rag_evals.dataset import ColumnMap, DataFile
from rag_evals.report.screen import echo, echo_json
from rag_evals.run import OPTIONS, RunOptions

_limit_option = partial(typer.Option, rich_help_panel="Limits")
_file_option = partial(typer.Option, rich_help_panel="Reading the data")


ReaderLanguage = Annotated[
    Literal["en", "ru"],
    typer.Option("--language", envvar=LANGUAGE_VARIABLE, help="Language of the output."),
]

OutFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/NAME-SETTINGS."),
]

OutFolderOrTable = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR|FILE",
        help="Run folder, or an extra .csv, .xlsx, .parquet, .jsonl or .html file to write. "
        "Default: runs/NAME-SETTINGS.",
    ),
]

out_file = partial(typer.Option, "--out", "-o", metavar="FILE")

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Hide progress and the suggested next command.")
]

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]

By = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Also show results by group, using this column."),
]

Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|none",
        help="Column with the same value in dependent rows, or none if all rows are independent. "
        "Default: question, else context, if more than 5 % of the rows share it.",
    ),
]

Threshold = Annotated[
    float, share_option(metavar="SCORE", help="Minimum score for a row to count as right.")
]


@dataclass(frozen=True)
class LabelOptions:
    labels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABELS]...",
            help="People's labels: files, or columns of the data. Default: the columns label and "
            "statements.",
        ),
    ] = None
    grader: Annotated[
        str | None, typer.Option("--grader", metavar="NAME", help="Use only this grader.")
    ] = None
    label_column: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of a labels file that contains the label.")
    ] = "label"

    # Any: the arguments have different types.
    def arguments(self) -> dict[str, Any]:
        return {"labels": self.labels or [], "grader": self.grader, "column": self.label_column}


@dataclass(frozen=True)
class RowFile:
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=SOURCE", help="Column to use for a field; repeatable."),
    ] = None
    sheet: Annotated[str | None, _file_option(help="Sheet of an Excel file.")] = None
    encoding: Annotated[
        str | None, _file_option(help="Encoding of a CSV file, such as cp1251. Default: detected.")
    ] = None
    delimiter: Annotated[
        str | None, _file_option(help="Delimiter of a CSV file. Default: detected.")
    ] = None

    def file(self, data: str) -> DataFile:
        return DataFile(data, self.sheet, self.encoding, self.delimiter)

    def columns(self) -> ColumnMap:
        return ColumnMap.parse(self.column or [])


_SPELLED: Mapping[str, tuple[Any, Any]] = {
    "settings": (
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Judge setting: temperature (default 0), max_tokens, seed, top_p, "
            "reasoning_effort or window; repeatable.",
        ),
    ),
    "cache": (bool, _limit_option("--cache/--no-cache", help="Use stored replies.")),
    "restart": (bool, typer.Option("--restart", help=OPTIONS["restart"].help)),
    "keep_replies": (bool, typer.Option("--keep-replies", help=OPTIONS["keep_replies"].help)),
    "max_failures": (str, _limit_option(metavar="N|N%", help=OPTIONS["max_failures"].help)),
}
"""Run options that have a special form on the command line."""

_DEFAULTS: Mapping[str, Any] = {"cache": True}
OF_A_RUN = (
    *("settings", "limit", "restart", "repeat", "concurrency", "timeout", "rpm", "tpm"),
    *("max_wait", "max_failures", "reasks", "cache", "keep_replies"),
)


def flat(command: Callable[..., None], names: Sequence[str] = OF_A_RUN) -> Callable[..., None]:
    """Turn a command's option groups into separate options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    taken: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(kind := hints[name]):
            groups[name] = kind  # type: ignore[assignment]  # a class: types are annotated
            taken += _fields(groups[name])
        elif parameter.kind is Parameter.VAR_KEYWORD:
            taken += [*(_from_table(option) for option in names), _HELP_ALL]
        else:
            taken.append(_keyword(name, kind, parameter.default))

    @wraps(command)
    def flattened(**given: Any) -> None:
        given.pop(_HELP_ALL.name, None)
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        if "settings" in given:
            given["settings"] = parse_settings(given["settings"])
        command(**given)

    # Typer reads both.
    flattened.__signature__ = Signature(taken)  # type: ignore[attr-defined]  # of functions
    flattened.__annotations__ = {one.name: one.annotation for one in taken}
    return flattened


SHOWS_ALL = "rag_evals.shows_all"
"""Key in a command's context, set if it was called with `--help-all`."""


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[SHOWS_ALL] = True
        echo(context.get_help())
        raise typer.Exit


def _keyword(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _fields(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [_keyword(one.name, hints[one.name], one.default) for one in fields(group)]


def _from_table(name: str) -> Parameter:
    option = OPTIONS[name]
    kind, form = _SPELLED.get(name) or (
        get_args(RunOptions.__annotations__[name])[0],
        _limit_option(help=option.help),
    )
    return _keyword(name, Annotated[kind, form], _DEFAULTS.get(name, option.default))


_HELP_ALL = _keyword(
    "help_all",
    Annotated[
        bool,
        typer.Option(
            "--help-all",
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show every option and exit.",
        ),
    ],
    False,
)


@dataclass(frozen=True)
class Output:
    json_output: Json = False
    quiet: Quiet = False

    def result(self, numbers: object, text: object) -> None:
        if self.json_output:
            echo_json(to_json(numbers).decode())
        else:
            echo(text)

    def offer_next(self, *words: object, language: str = "en") -> None:
        if not (self.quiet or self.json_output):
            command = shlex.join(["rag-evals", *map(str, words)])
            echo(phrases(language)("terminal.next", command=command), err=True)


def grading_language(rows: str | None) -> str:
    code = (rows or "").lower().replace("_", "-").partition("-")[0]
    return os.environ.get(LANGUAGE_VARIABLE) or (code if code in LANGUAGES else "en")
