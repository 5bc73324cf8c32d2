"""What do people say? Reads labels from a report's export, a labelled file, or a run's own columns.

One row of a file is one label or several:

- `sample_id` (or `id`) and `label`: a label of the row;
- the same with `statement` (its place in the result, from 0) and `text`: a label of one statement,
  as the report exports it;
- the same with a `note` and the label `null`: a note alone, not a label;
- `statements`, a list of `{"text": ..., "label": ...}`: labels of all statements of the row.

A label is true or false, 1 or 0, yes or no, or for a row a number between.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evals.core import MISSING, fault_of
from rag_evals.dataset import ColumnMap, read_rows
from rag_evals.errors import DataError
from rag_evals.run import Record, Run, findings_in

_WORDS = {
    "true": 1.0, "yes": 1.0, "1": 1.0, "supported": 1.0, "faithful": 1.0,
    "false": 0.0, "no": 0.0, "0": 0.0, "unsupported": 0.0, "contradicted": 0.0, "unfaithful": 0.0,
}  # fmt: skip
_MOST_DIGITS = 9
_OWN_COLUMNS = ("label", "statements")


@dataclass(frozen=True, slots=True)
class Label:
    """What one person says about a row or a statement.

    Attributes:
        sample_id: The row.
        value: 1 for supported, 0 for not; for a row, anything between.
        statement: Place of the statement in the judge's result; None where only the text is known.
        text: The statement; None for a label of the whole row.
        grader: Whose verdict it is about; None for any.
        annotator: Who said so; None where nobody is named.
        complete: Whether the row's other statements are labelled too, as far as the source knows.
    """

    sample_id: str
    value: float
    statement: int | None = None
    text: str | None = None
    grader: str | None = None
    annotator: str | None = None
    complete: bool = False

    @property
    def of_row(self) -> bool:
        """Whether it is about the whole row."""
        return self.statement is None and self.text is None


def read_labels(
    sources: str | Path | Sequence[str | Path], run: Run, *, column: str = "label"
) -> list[Label]:
    """Read labels for a run.

    Args:
        sources: Files, or columns of the run's data; without any, its columns `label` and
            `statements`.
        run: The run that is labelled.
        column: The column of a file that holds the label.

    Raises:
        DataError: A source is neither, a label cannot be read, or there is none.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    labels = list(_own_labels(run)) if not given else []
    for source in given:
        if fault_of(Path(source)) != MISSING:
            name = Path(source).name.split(".")[0] if len(given) > 1 else None
            labels += _file_labels(Path(source), column, name)
        else:
            labels += _column_labels(run, str(source))
    if not labels:
        raise DataError(
            "there are no labels; name a file with 'sample_id' and 'label', "
            "or a column of the data that holds them"
        )
    return labels


def _own_labels(run: Run) -> Iterator[Label]:
    there = {name for sample in run.samples.values() for name in sample.columns}
    for name in _OWN_COLUMNS:
        if name in there:
            yield from _column_labels(run, name)


def _file_labels(path: Path, column: str, annotator: str | None) -> Iterator[Label]:
    for place, row in read_rows(path):
        where = f"{str(path)!r}, {place}"
        sample_id = _sample_id(row, where)
        who = row.get("annotator") or annotator
        found = list(_row_labels(row, sample_id, column, where))
        if not found and row.get("note") and row.get(column, "") is None:
            continue  # a note without a verdict, as the report exports it
        if not found:
            raise DataError(f"{where}: no {column!r} and no 'statements'; a label needs one")
        for label in found:
            yield Label(
                label.sample_id,
                label.value,
                label.statement,
                label.text,
                row.get("grader"),
                None if who is None else str(who),
                label.complete,
            )


def _row_labels(row: Mapping[str, Any], sample_id: str, column: str, where: str) -> Iterator[Label]:
    if row.get(column) not in (None, ""):
        statement, text = row.get("statement"), row.get("text")
        if isinstance(statement, str) and not statement.isdecimal():
            statement, text = None, statement
        number = None if statement in (None, "") else _statement_number(statement, where)
        of_row = number is None and not text
        value = _value(row[column], where, fraction=of_row)
        yield Label(sample_id, value, number, None if of_row else str(text or ""))
    if isinstance(statements := row.get("statements"), list):
        yield from _statement_labels(statements, sample_id, where)


def _statement_number(written: object, where: str) -> int:
    digits = str(written)
    # Not isdigit(), which takes "²" for a digit; a result has few statements.
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        raise DataError(
            f"{where}: the statement is {written!r}; expected its place in the result, from 0"
        )
    return int(digits)


def _column_labels(run: Run, name: str) -> Iterator[Label]:
    names = {column for sample in run.samples.values() for column in sample.columns}
    if name not in names:
        raise DataError(
            f"labels {name!r} are neither a file nor a column of the run's data; "
            f"its columns are {', '.join(sorted(names)) or 'none'}"
        )
    for sample in run.samples.values():
        value = sample.columns.get(name)
        where = f"column {name!r} of row {sample.sample_id!r}"
        if isinstance(value, list):
            yield from _statement_labels(value, sample.sample_id, where)
        elif value not in (None, ""):
            yield Label(sample.sample_id, _value(value, where, fraction=True))


def _statement_labels(statements: list[Any], sample_id: str, where: str) -> Iterator[Label]:
    labelled = [entry for entry in statements if isinstance(entry, Mapping) and "label" in entry]
    complete = len(labelled) == len(statements)
    for number, entry in enumerate(labelled):
        text = entry.get("text") or entry.get("statement")
        if not isinstance(text, str):
            raise DataError(f"{where}: statements[{number}] has no 'text'")
        if entry["label"] is not None:
            value = _value(entry["label"], f"{where}, statements[{number}]", fraction=False)
            yield Label(sample_id, value, text=text, complete=complete)


def _sample_id(row: Mapping[str, Any], where: str) -> str:
    for name in ("sample_id", "id"):
        if row.get(name) not in (None, ""):
            return str(row[name])
    # The same rows without ids: the run named them after their content.
    sample = ColumnMap().sample(row)
    if sample.answer is None:
        raise DataError(f"{where}: no 'sample_id'; a label must say which row it is about")
    return sample.content_hash()


def _value(raw: object, where: str, *, fraction: bool) -> float:
    value = _WORDS.get(str(raw).strip().lower())
    if value is not None:
        return value
    try:
        number = float(str(raw))
    except ValueError:
        number = -1.0
    if not (0 <= number <= 1) or (0 < number < 1 and not fraction):
        wanted = "true or false, 1 or 0, yes or no" + (
            ", or a number from 0 to 1" if fraction else ""
        )
        raise DataError(f"{where}: the label is {raw!r}; expected {wanted}")
    return number


def has_verdicts(record: Record) -> bool:
    """Say whether an outcome has anything that people can agree with or not."""
    return any(finding.verdict is not None for finding in findings_in(record))
