"""The same three rows in every form: files, frames, objects, and the columns of other tools."""

import csv
import dataclasses
import gzip
import io
import json
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import zstandard
from pydantic import BaseModel

from tests.late import Late

if TYPE_CHECKING:
    import datasets
    import openpyxl
    import pandas
    import polars
    import pyarrow
    import pyarrow.dataset
    import pyarrow.feather
    import pyarrow.parquet
else:
    datasets, openpyxl = Late("datasets"), Late("openpyxl")
    pandas, polars = Late("pandas"), Late("polars")
    pyarrow = Late("pyarrow", "dataset", "feather", "parquet")

ROWS: list[dict[str, Any]] = [
    {"question": "Где?", "answer": "Башня стоит в Париже.", "context": ["Башня стоит в Париже."]},
    {
        "question": "When?",
        "answer": "It was finished in 1889. It is 500 metres tall.",
        "context": ["It was finished in 1889.", "It is 330 metres tall."],
    },
    {"question": "Who?", "answer": "Napoleon built it.", "context": ["Gustave Eiffel built it."]},
]  # fmt: skip
"""What is graded; their scores are 1, 0.5 and 0."""


class Model(BaseModel):
    """A row as a pydantic model."""

    question: str
    answer: str
    context: list[str]


@dataclasses.dataclass
class Plain:
    """A row as a dataclass."""

    question: str
    answer: str
    context: list[str]


@attrs.define
class Attrs:
    """A row as an attrs class."""

    question: str
    answer: str
    context: list[str]


Named = namedtuple("Named", ["question", "answer", "context"])


class Capsule:
    """A table of a library that nobody here knows: it speaks Arrow's C stream."""

    def __init__(self, table: "pyarrow.Table") -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def arrow() -> "pyarrow.Table":
    """Make an Arrow table of the rows."""
    return pyarrow.Table.from_pylist(ROWS)


def delimited(rows: list[dict[str, Any]], sign: str = ",", *, ends: str = "\r\n") -> str:
    """Write rows as Excel does; lists as JSON."""
    target = io.StringIO()
    writer = csv.writer(target, delimiter=sign, lineterminator=ends)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(
            json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell
            for cell in row.values()
        )
    return target.getvalue()


def written(name: str, content: bytes | str) -> str:
    """Write a file, and return its path."""
    raw = content.encode() if isinstance(content, str) else content
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(raw)
    return name


def lines(rows: list[dict[str, Any]]) -> str:
    """Write rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def parquet(name: str, table: "pyarrow.Table") -> None:
    """Write a Parquet file."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, name)


def parts(wanted: str) -> str:
    """Write the rows as one Parquet file each, and return a path to all of them."""
    for place, row in enumerate(ROWS):
        parquet(f"parts/deep/part-{place}.parquet", pyarrow.Table.from_pylist([row]))
    return wanted


def parquet_file() -> str:
    """Write the rows as one Parquet file."""
    parquet("a.parquet", arrow())
    return "a.parquet"


def arrow_file() -> str:
    """Write the rows as an Arrow file."""
    with pyarrow.OSFile("a.arrow", "wb") as file, pyarrow.ipc.new_file(file, arrow().schema) as out:
        out.write_table(arrow())
    return "a.arrow"


def arrow_stream() -> str:
    """Write the rows as an Arrow stream."""
    with (
        pyarrow.OSFile("s.arrow", "wb") as file,
        pyarrow.ipc.new_stream(file, arrow().schema) as out,
    ):
        out.write_table(arrow())
    return "s.arrow"


def feather() -> str:
    """Write the rows as a Feather file."""
    pyarrow.feather.write_feather(arrow(), "a.feather")
    return "a.feather"


def excel(name: str = "a.xlsx", rows: list[dict[str, Any]] = ROWS, *, more: bool = False) -> str:
    """Write the rows as an Excel file; with a second sheet where wanted."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Ответы"
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(
            [json.dumps(c, ensure_ascii=False) if isinstance(c, list) else c for c in row.values()]
        )
    if more:
        book.create_sheet("Notes").append(["nothing"])
    book.save(name)
    return name


def generated() -> Iterator[dict[str, Any]]:
    """Yield the rows once."""
    yield from ROWS


FRAMES: dict[str, Callable[[], Any]] = {
    "list of mappings": lambda: ROWS,
    "generator": generated,
    "pydantic": lambda: [Model(**row) for row in ROWS],
    "dataclass": lambda: [Plain(**row) for row in ROWS],
    "attrs": lambda: [Attrs(**row) for row in ROWS],
    "namedtuple": lambda: [Named(**row) for row in ROWS],
    "pandas": lambda: pandas.DataFrame(ROWS),
    "pandas, arrow types": lambda: arrow().to_pandas(types_mapper=pandas.ArrowDtype),
    "pandas, lists as text": lambda: pandas.DataFrame(ROWS).assign(
        context=lambda f: f.context.map(str)
    ),
    "pandas, arrays": lambda: arrow().to_pandas(),
    "pandas, any index": lambda: pandas.DataFrame(ROWS, index=["x", "x", "y"]),
    "pairs of iterrows": lambda: pandas.DataFrame(ROWS).iterrows(),
    "dict of columns": lambda: pandas.DataFrame(ROWS).to_dict("list"),
    "polars": lambda: polars.DataFrame(ROWS),
    "polars, lazy": lambda: polars.LazyFrame(ROWS),
    "pyarrow table": arrow,
    "pyarrow batch": lambda: arrow().to_batches()[0],
    "pyarrow data set": lambda: pyarrow.dataset.dataset(arrow()),
    "pyarrow reader": lambda: arrow().to_reader(),
    "C stream": lambda: Capsule(arrow()),
    "Hugging Face": lambda: datasets.Dataset.from_list(ROWS),
    "Hugging Face, streamed": lambda: datasets.Dataset.from_list(ROWS).to_iterable_dataset(),
}
"""What `evaluate` takes, with the rows in it."""

FILES: dict[str, Callable[[], str]] = {
    "jsonl": lambda: written("a.jsonl", lines(ROWS)),
    "json": lambda: written("a.json", json.dumps(ROWS)),
    "csv": lambda: written("a.csv", delimited(ROWS)),
    "csv, Python lists": lambda: written(
        "p.csv", delimited([{**row, "context": str(row["context"])} for row in ROWS])
    ),
    "tsv": lambda: written("a.tsv", delimited(ROWS, "\t")),
    "jsonl.gz": lambda: written("a.jsonl.gz", gzip.compress(lines(ROWS).encode())),
    "csv.zst": lambda: written("a.csv.zst", zstandard.compress(delimited(ROWS).encode())),
    "parquet": parquet_file,
    "parquet, folder": lambda: parts("parts"),
    "parquet, pattern": lambda: parts("parts/**/part-*.parquet"),
    "arrow": arrow_file,
    "arrow stream": arrow_stream,
    "feather": feather,
    "xlsx": excel,
    "file://": lambda: f"file://{Path(written('f.jsonl', lines(ROWS))).resolve()}",
    "Excel: CSV UTF-8": lambda: written("e1.csv", "\ufeff" + delimited(ROWS)),
    "Excel: CSV, Russian Windows": lambda: written("e2.csv", delimited(ROWS, ";").encode("cp1251")),
    "Excel: CSV UTF-8, semicolons": lambda: written("e3.csv", "\ufeff" + delimited(ROWS, ";")),
    "Excel: Unicode text": lambda: written("e4.csv", delimited(ROWS, "\t").encode("utf-16")),
    "Excel: text, Russian Windows": lambda: written("e5.tsv", delimited(ROWS, "\t").encode("1251")),
    "Excel: sep=": lambda: written("e6.csv", "sep=;\r\n" + delimited(ROWS, ";")),
    "koi8-r": lambda: written("k.csv", delimited(ROWS).encode("koi8-r")),
}  # fmt: skip
"""Files with the rows in them, by kind."""
