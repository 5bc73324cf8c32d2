"""Which options do several commands share? One spelling and one help text for each."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rag_evals.cli.shared.complete import graders, presets
from rag_evals.errors import ConfigurationError
from rag_evals.stats import DEFAULT_BANDS, Band, build_bands


class Language(StrEnum):
    """Languages in which a run can be shown."""

    EN = "en"
    RU = "ru"


ReaderLanguage = Annotated[
    Language | None,
    typer.Option(
        "--language", help="Language of all that is shown. Default: $RAG_EVALS_LANGUAGE, else en."
    ),
]


GraderNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|MODULE:OBJECT",
        help="What to grade, such as faithfulness (the default) or your own my_graders:strict; "
        "may be repeated.",
        autocompletion=graders,
    ),
]

PromptFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Prompt file to use instead of a shipped one."),
]

ColumnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FIELD=SOURCE", help="Column of a field; may be repeated."),
]

LIMITS = "Limits"
"""The panel of the options that bound a run."""

_FILE = "Reading the data"

PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Tool whose column names count, such as deepeval. Default: recognised.",
        autocompletion=presets,
        rich_help_panel=_FILE,
    ),
]

SheetOption = Annotated[
    str | None,
    typer.Option("--sheet", help="Sheet of an Excel file.", rich_help_panel=_FILE),
]

EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Of a CSV file, such as cp1251. Default: found.", rich_help_panel=_FILE
    ),
]

DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="Between the cells of CSV. Default: found.", rich_help_panel=_FILE
    ),
]

OutFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/NAME-SETTINGS."),
]

Limit = Annotated[int | None, typer.Option(min=1, help="Grade the first rows only.")]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the judge: temperature (default 0), max_tokens, seed, top_p or "
        "reasoning_effort; may be repeated.",
    ),
]

Reasks = Annotated[
    int,
    typer.Option(min=0, help="How often an invalid reply is asked again.", rich_help_panel=LIMITS),
]

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no progress, and offer no next command.")
]

JsonForTable = Annotated[
    bool, typer.Option("--json", help="Print the numbers as JSON instead of the table.")
]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")]

Labels = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LABELS]...",
        help="Labels from people: files, or columns of the data. Default: the data's columns "
        "label and statements.",
    ),
]

By = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Also show each group of rows by this column.")
]

Cluster = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Treat rows with the same value here as dependent."),
]

Threshold = Annotated[
    float, typer.Option(min=0, max=1, help="Score from which a row counts as right.")
]

LabelColumn = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column of a labels file that holds the label.")
]

Json = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]

OneGrader = Annotated[
    str | None,
    typer.Option(
        "--grader", metavar="NAME", help="The only grader to take.", autocompletion=graders
    ),
]

Bands = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=LIMIT,...",
        help="Bands and the score each starts at; one must start at 0. Default: "
        "high=0.9,good=0.7,medium=0.5,low=0.",
    ),
]


def parsed_bands(text: str | None) -> tuple[Band, ...]:
    """Read bands as the command line has them.

    Raises:
        ConfigurationError: Not NAME=LIMIT, or limits that make no bands.
    """
    if text is None:
        return DEFAULT_BANDS
    limits: dict[str, float] = {}
    for part in text.split(","):
        name, limit = (word.strip() for word in (part.partition("=")[::2]))
        if name in limits:
            raise ConfigurationError(f"band {name!r} is given twice")
        try:
            limits[name] = float(limit)
        except ValueError:
            name = ""
        if not name:
            raise ConfigurationError(f"band {part!r} is not NAME=LIMIT, as in high=0.9,low=0")
    return build_bands(limits)
