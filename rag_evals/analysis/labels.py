"""Human labels: reading them from files and columns, and matching them with verdicts.

A row in a labels file has one of these forms:

- `sample_id` (or `id`) and `label`: a label for the row;
- these fields and `statement` (index in the result, from 0) or `text`: a label for one statement;
- `statements`, a list of `{"text": ..., "label": ...}`: labels for all statements in the row.

Each of the judge's statements is matched with the labelled text that shares the most words with it.
The judge's verdict on a labelled text is "supported" if every statement matched with it is.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from rag_evals.core import MISSING, About, Finding, fault_of
from rag_evals.dataset import ColumnMap, read_rows
from rag_evals.errors import ConfigurationError, DataError, UnknownNameError
from rag_evals.run import Record, Run, findings_in, label_files, load_run
from rag_evals.text import words_of

_WORDS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_MOST_DIGITS = 9
_OWN_COLUMNS = ("label", "statements")
# Texts with less overlap are treated as different claims.
_MIN_OVERLAP = 0.6
_NOUNS: Mapping[About, str] = {
    "statement": "statements",
    "reference": "statements",
    "citation": "citations",
    "chunk": "chunks",
    "answer": "verdicts",
}

K = TypeVar("K", str, int)

RunInput = str | Path | Run
"""A run folder, or a run in memory."""

LabelSources = str | Path | Sequence[str | Path]
"""Label files, or columns of a run's data; an empty sequence selects the run's own labels."""


@dataclass(frozen=True, slots=True)
class Label:
    """One person's label for a row or a statement.

    Attributes:
        value: 1 for supported, 0 for unsupported; only a row's label can be in between.
        statement: Index in the judge's result; None if only the text is known.
        text: The statement; None for a label on the whole row.
        grader: The grader whose verdict is labelled; None for any grader.
        complete: True if the source labels every statement in the row.
        weight: Number of rows that the row represents; None if all were equally likely to be drawn.
        is_second: True if the label replaces an earlier one after a second look.
    """

    sample_id: str
    value: float
    statement: int | None = None
    text: str | None = None
    grader: str | None = None
    annotator: str | None = None
    complete: bool = False
    note: str = ""
    weight: float | None = None
    is_second: bool = False

    @property
    def place(self) -> int | str | None:
        """The statement's index, or its text if no index is known; None for a label on a row."""
        return self.text if self.statement is None else self.statement

    @property
    def thing(self) -> Hashable:
        return self.sample_id, self.grader, self.place


def read_labels(sources: LabelSources, run: Run, *, column: str = "label") -> list[Label]:
    """Read labels from files or from columns of the run's data.

    By default, labels are read from `labels*.jsonl` in the run folder or, if there are no such
    files, from the columns `label` and `statements`.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    given = given or list(label_files(run.folder))
    columns = {name for sample in run.samples.values() for name in sample.columns}
    own = [] if given else [name for name in _OWN_COLUMNS if name in columns]
    labels = [label for name in own for label in _column_labels(run, name)]
    seen: dict[Hashable, tuple[float, str]] = {}
    for source in given:
        if fault_of(Path(source)) != MISSING:
            name = Path(source).name.split(".")[0] if len(given) > 1 else None
            labels += _file_labels(Path(source), column, name, seen)
        elif source in columns:
            labels += _column_labels(run, str(source))
        else:
            raise DataError(
                f"labels {str(source)!r} are neither a file nor a column of the run's data; "
                f"its columns are {', '.join(sorted(columns)) or 'none'}"
            )
    if not labels:
        raise DataError(
            "there are no labels; give a file with 'sample_id' and 'label', "
            "or a data column that contains labels"
        )
    again = {label.thing for label in labels if label.is_second}
    return [label for label in labels if label.is_second or label.thing not in again]


def _file_labels(
    path: Path, column: str, annotator: str | None, seen: dict[Hashable, tuple[float, str]]
) -> Iterator[Label]:
    for place, row in read_rows(path):
        where = f"{str(path)!r}, {place}"
        labels = list(_row_labels(row, _sample_id(row, where), column, where))
        is_note = (row.get("note") or "answer" in row) and row.get(column, "") is None
        if not labels and not is_note:
            raise DataError(f"{where}: no {column!r} and no 'statements'; one is required")
        for label in labels:
            label = label if label.annotator else replace(label, annotator=annotator)
            key = (label.thing, label.annotator, label.is_second)
            value, before = seen.setdefault(key, (label.value, where))
            if value != label.value:
                who = "one person" if label.annotator is None else repr(label.annotator)
                raise DataError(
                    f"{before} and {where}: {who} labels {label.sample_id!r} {value:g} and "
                    f"{label.value:g}; remove one, or name the annotators in an 'annotator' column"
                )
            yield label


def _column_labels(run: Run, name: str) -> Iterator[Label]:
    for sample in run.samples.values():
        value = sample.columns.get(name)
        row = {"statements" if isinstance(value, list) else "label": value}
        where = f"column {name!r} of row {sample.sample_id!r}"
        yield from _row_labels(row, sample.sample_id, "label", where)


def _row_labels(row: Mapping[str, Any], sample_id: str, column: str, where: str) -> Iterator[Label]:
    weight = None if row.get("weight") in (None, "") else _number(row["weight"])
    if weight is not None and not 1 <= weight < math.inf:
        raise DataError(f"{where}: the weight is {row['weight']!r}; expected 1 or more")
    label = Label(
        sample_id,
        math.nan,
        grader=row.get("grader"),
        annotator=str(row["annotator"]) if row.get("annotator") else None,
        note=str(row.get("note") or ""),
        weight=weight,
        is_second=row.get("second_look") is True,
    )
    if row.get(column) not in (None, ""):
        place, text = row.get("statement"), str(row.get("text") or "")
        if place in (None, ""):
            value = _value(row[column], where, fraction=not text)
            yield replace(label, value=value, text=text or None)
        elif str(place).isdecimal() and len(str(place)) <= _MOST_DIGITS:
            value = _value(row[column], where, fraction=False)
            yield replace(label, value=value, statement=int(str(place)), text=text)
        else:
            raise DataError(
                f"{where}: the statement is {place!r}; expected its index in the result, from 0"
            )
    if isinstance(statements := row.get("statements"), list):
        labelled = [one for one in statements if isinstance(one, Mapping) and "label" in one]
        for number, entry in enumerate(labelled):
            entry_where = f"{where}: statements[{number}]"
            if not isinstance(entry.get("text"), str):
                raise DataError(f"{entry_where} has no 'text'")
            if entry["label"] is not None:
                value = _value(entry["label"], entry_where, fraction=False)
                complete = len(labelled) == len(statements)
                yield replace(label, value=value, text=entry["text"], complete=complete)


def _sample_id(row: Mapping[str, Any], where: str) -> str:
    for name in ("sample_id", "id"):
        if row.get(name) not in (None, ""):
            return str(row[name])
    # Rows without ids get an id derived from their content.
    sample = ColumnMap().sample(row)
    if sample.answer is None:
        raise DataError(f"{where}: no 'sample_id'; a label must identify its row")
    return sample.content_hash()


def _value(raw: object, where: str, *, fraction: bool) -> float:
    value = _WORDS.get(str(raw).strip().lower())
    value = _number(raw) if value is None else value
    if not 0 <= value <= 1 or (0 < value < 1 and not fraction):
        number = ", or a number from 0 to 1" if fraction else ""
        raise DataError(
            f"{where}: the label is {raw!r}; expected true or false, 1 or 0, yes or no{number}"
        )
    return value


def _number(raw: object) -> float:
    try:
        return float(str(raw))
    except ValueError:
        return math.nan


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement or a row with each person's label and the judge's verdict or score.

    `verdicts` is empty if only a score is known. `ranking` is the result's ranking score.
    """

    sample_id: str
    labels: dict[Hashable, float]
    judged: float
    verdicts: tuple[Finding, ...] = ()
    ranking: float | None = None
    weight: float | None = None

    @property
    def support(self) -> float | None:
        """The lowest support among the verdicts; None if a verdict has no support."""
        supports = [one.support for one in self.verdicts if one.support is not None]
        return min(supports) if len(supports) == len(self.verdicts) > 0 else None

    @property
    def decided_by(self) -> str | None:
        """The verifier that returned the verdicts; None if there were several."""
        deciders = {one.decided_by for one in self.verdicts}
        return deciders.pop() if len(deciders) == 1 else None

    @property
    def label(self) -> float | None:
        """The majority of yes/no labels, or the mean of fractional labels; None for a tie."""
        values = list(self.labels.values())
        share = sum(values) / len(values)
        if any(0 < value < 1 for value in values):
            return share
        return None if share == 0.5 else float(share > 0.5)


@dataclass(slots=True)
class Matched:
    """One grader's labels, each with its verdict.

    Attributes:
        rows: Rows with a label (or labels for all their statements) and a score.
        scored_rows: Rows with a score, each labelled with its share of supported statements.
        unmatched: Number of statement labels that do not match a verdict.
        other_verdicts: Row id and value of each verdict without a label.
    """

    grader: str
    statements: list[Unit] = field(default_factory=list)
    rows: list[Unit] = field(default_factory=list)
    scored_rows: list[Unit] = field(default_factory=list)
    unmatched: int = 0
    unscored: list[str] = field(default_factory=list)
    other_verdicts: list[tuple[str, bool]] = field(default_factory=list)
    noun: str = "statements"


def labelled_units(units: Iterable[Unit]) -> list[tuple[Unit, float]]:
    """Return the units with their labels, excluding ties."""
    pairs = [(unit, unit.label) for unit in units]
    return [(unit, label) for unit, label in pairs if label is not None]


def weights_of(units: Sequence[Unit]) -> list[float] | None:
    """Return the weights; None if every row was equally likely to be drawn."""
    weights = [unit.weight for unit in units]
    known = [one for one in weights if one is not None]
    if 0 < len(known) < len(weights):
        raise DataError(
            f"{len(known)} of {len(weights)} labels were drawn with --focus uncertain, but the "
            "others were not; use labels from a single draw"
        )
    return known or None


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run and its labels by row; `foreign` is the number of labels for rows not in the run."""

    run: Run
    by_row: Mapping[str, Sequence[Label]]
    matched: list[Matched]
    foreign: int
    labels_from: tuple[str, ...]

    @classmethod
    def load(
        cls, run: RunInput, sources: LabelSources, grader: str | None = None, column: str = "label"
    ) -> "LabelledRun":
        """Read a run and its labels for one grader, or for all graders if `grader` is None."""
        stored = load_run(run)
        names = stored.graders if grader is None else [only_grader(stored, grader)]
        by_row: dict[str, list[Label]] = {}
        for label in read_labels(sources, stored, column=column):
            by_row.setdefault(label.sample_id, []).append(label)
        matched = [Matched(name) for name in names]
        for one in matched:
            for record in stored.of_grader(one.grader):
                own = by_row.get(record["sample_id"], [])
                fitting = [label for label in own if label.grader in (None, one.grader)]
                _match_row(one, record, fitting, of_reference=len(names) == 1)
        named = (sources,) if isinstance(sources, str | Path) else tuple(sources)
        there = {record["sample_id"] for record in stored.records}
        found = cls(
            stored,
            by_row,
            [one for one in matched if one.statements or one.rows or one.unscored or one.unmatched],
            sum(len(own) for name, own in by_row.items() if name not in there),
            tuple(Path(one).name for one in named),
        )
        if not found.matched:
            raise found.nothing_fits()
        return found

    def nothing_fits(self) -> DataError:
        if self.foreign == sum(map(len, self.by_row.values())):
            return DataError(
                f"none of the {self.foreign} labels is for a row in this run; "
                f"the first is for {next(iter(self.by_row))!r}"
            )
        unscored = sum(len(of_grader.unscored) for of_grader in self.matched)
        return DataError(
            f"no label matches a verdict: {self.foreign} are for other rows, {unscored} labelled "
            "rows have no score, and the rest are for statements that the judge did not find"
        )


def only_grader(run: Run, grader: str | None) -> str:
    """Return `grader`, or the run's only grader if it is None."""
    if grader is not None:
        if grader not in run.graders:
            raise UnknownNameError.of("grader", grader, run.graders)
        return grader
    if len(run.graders) != 1:
        raise ConfigurationError(
            f"the run has the graders {', '.join(run.graders)}; choose one of them"
        )
    return run.graders[0]


def _match_row(
    matched: Matched, record: Record, labels: Sequence[Label], *, of_reference: bool
) -> None:
    sample_id, score = record["sample_id"], record["score"]
    if score is None:
        if labels:
            matched.unscored.append(sample_id)
        return
    found = findings_in(record)
    kinds = {one.about for one in found if _is_statement(one)}
    # With several graders, a labelled text without a grader is assumed to be from the answer.
    of_any = of_reference or "reference" not in kinds
    of_statements = [
        label
        for label in labels
        if label.statement is not None
        or (label.text is not None and kinds and (of_any or label.grader is not None))
    ]
    fitting = _fitting(found, of_statements)
    for same, places in fitting:
        verdicts = tuple(found[place] for place in places)
        judged = float(all(one.verdict for one in verdicts))
        unit = Unit(sample_id, _by_person(same), judged, verdicts, weight=same[0].weight)
        matched.statements.append(unit)
        matched.unmatched -= len(same)
    matched.unmatched += len(of_statements)
    # A finding about a conversation turn is only a heading, without a verdict.
    matched.noun = next((_NOUNS[one.about] for one in found if one.about != "turn"), matched.noun)
    used = {place for _, places in fitting for place in places}
    verdicts = tuple(one for one in found if one.verdict is not None)
    free = (one.verdict for place, one in enumerate(found) if place not in used)
    matched.other_verdicts += [(sample_id, verdict) for verdict in free if verdict is not None]
    # An unmatched label counts only if the source labels every statement in the row.
    known = {label for same, _ in fitting for label in same}
    shares = _shares([one for one in of_statements if one.complete or one in known], len(verdicts))
    if shares:
        matched.scored_rows.append(Unit(sample_id, shares, score, weight=labels[0].weight))
    row_labels = _by_person(label for label in labels if label.place is None)
    row_labels = row_labels or {who: float(share == 1) for who, share in shares.items()}
    if row_labels:
        ranking, weight = record.get("ranking_score"), labels[0].weight
        matched.rows.append(Unit(sample_id, row_labels, score, verdicts, ranking, weight))


def _is_statement(finding: Finding) -> bool:
    """True if the text alone identifies the finding."""
    return finding.about in ("statement", "reference") and finding.verdict is not None


def _by_person(labels: Iterable[Label]) -> dict[Hashable, float]:
    return {label.annotator: label.value for label in labels}


def _shares(labels: Sequence[Label], verdicts: int) -> dict[Hashable, float]:
    """Return the share of supported statements for each person who labelled the whole row."""
    by_person: dict[Hashable, dict[Hashable, Label]] = {}
    for label in labels:
        by_person.setdefault(label.annotator, {})[label.place] = label
    return {
        who: sum(label.value for label in given.values()) / len(given)
        for who, given in by_person.items()
        if len(given) >= verdicts > 0 or all(label.complete for label in given.values())
    }


def _fitting(
    found: Sequence[Finding], labels: Sequence[Label]
) -> list[tuple[list[Label], list[int]]]:
    """Group labels by statement, and return each group with the indices of its findings."""
    by_place: dict[int, list[Label]] = {}
    by_text: dict[str, list[Label]] = {}
    for label in labels:
        place, text = label.statement, label.text or ""
        is_there = place is not None and place < len(found) and found[place].verdict is not None
        # The result may have changed since labelling, so the index may point to a different text.
        if place is not None and is_there and text in ("", found[place].text):
            by_place.setdefault(place, []).append(label)
        elif text:
            by_text.setdefault(text, []).append(label)
    assigned = _assign(found, list(by_text))
    pairs = [(same, [place]) for place, same in by_place.items()]
    return pairs + [(same, assigned[text]) for text, same in by_text.items() if text in assigned]


def _assign(found: Sequence[Finding], texts: Sequence[str]) -> dict[str, list[int]]:
    """Map each labelled text to the judge's statements that share the most words with it.

    A text without any such statement is mapped to the longer statement that contains it.
    """
    labelled = {text: Counter(words_of(text)) for text in texts}
    judged = {
        place: Counter(words_of(finding.text))
        for place, finding in enumerate(found)
        if _is_statement(finding)
    }
    assigned: dict[str, list[int]] = {}
    for place, own in judged.items():
        text = _nearest(own, labelled)
        if text is not None:
            assigned.setdefault(text, []).append(place)
    for text, own in labelled.items():
        whole = None if text in assigned else _nearest(own, judged)
        if whole is not None:
            assigned[text] = [whole]
    return assigned


def _nearest(own: Counter[str], others: Mapping[K, Counter[str]]) -> K | None:
    """Return the key of the text with the largest word overlap; None if all overlaps are small."""
    nearest, most = None, 0.0
    for key, other in others.items():
        shorter = min(own.total(), other.total()) or 1
        # If overlaps are equal, prefer the text closest in length.
        share = (own & other).total() / shorter - 1e-6 * abs(own.total() - other.total())
        if share > most:
            nearest, most = key, share
    return nearest if most >= _MIN_OVERLAP else None
