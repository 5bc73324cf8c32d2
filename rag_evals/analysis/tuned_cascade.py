"""Where may each stage of a cascade decide alone? Learnt stage by stage from labelled rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_evals.analysis.labels import read_labels
from rag_evals.analysis.tuning import tune
from rag_evals.core import Sample
from rag_evals.dataset import ColumnMap, Columns, Data, data_from
from rag_evals.errors import ConfigurationError, DataError, RagEvalsError
from rag_evals.run import Graders, Run, evaluate
from rag_evals.verify import Tuning, from_string


def tune_cascade(
    client: str,
    labels: str | Path | Sequence[str | Path],
    data: Data | None = None,
    *,
    graders: Graders = "faithfulness",
    columns: Columns = None,
    max_error: float = 0.05,
    confidence: float = 0.95,
) -> tuple[Tuning, ...]:
    """Tune every stage of a cascade but the last on labelled rows.

    Each stage is tuned on the statements that those before it leave open, which is what it will
    decide. The last stage is not asked.

    Args:
        client: The cascade, such as `"embedded>openai/gpt-4o-mini"`.
        labels: Labelled rows: files that have question, answer, context and labels; or labels
            alone, of rows of `data`.
        data: Where the rows are that labels alone are of.
        graders: The grader that will use it.
        columns: Where the fields are, as in `evaluate`.
        max_error: Share of verdicts that may be wrong where a stage decides alone.
        confidence: How often that holds for all stages together.

    Returns:
        One tuning for each stage but the last; `evaluate` takes them as `tuned=`.

    Raises:
        ConfigurationError: The judge is no cascade, or a stage may decide nothing.
        DataError: Labels match no row.
        TooFewLabelsError: As for `tune`.
    """
    parts = [part.strip() for part in client.split(">")]
    if len(parts) < 2:
        raise ConfigurationError(
            f"max_error bounds what the first judge of a cascade decides alone, and {client!r} "
            "is one judge; use a cascade such as 'embedded>openai/gpt-4o-mini'"
        )
    sources = [labels] if isinstance(labels, str | Path) else list(labels)
    rows = list(_labelled_rows(sources, data, ColumnMap.of(columns)))
    of_stage = 1 - (1 - confidence) / (len(parts) - 1)
    tunings: list[Tuning] = []
    for count in range(1, len(parts)):
        run = evaluate(
            rows,
            graders,
            ">".join(parts[:count]),
            tuned=tunings,
            progress=False,
            cache=False,
        )
        stage = _name_of(parts[count - 1])
        tunings.append(tune(run, sources, stage=stage, max_error=max_error, confidence=of_stage))
    return tuple(tunings)


def _name_of(part: str) -> str:
    verifier = from_string(part)
    if verifier is None:
        raise ConfigurationError(
            f"{part!r} stands before another judge, and its support is only 0 or 1; a stage "
            "before another is 'embedded', 'hf:MODEL' or 'yes-no:PROVIDER/MODEL'"
        )
    return verifier.name


def _labelled_rows(
    sources: Sequence[str | Path], data: Data | None, columns: ColumnMap
) -> Iterator[Sample]:
    """Yield the rows that labels are of: from their own file, else from the data."""
    wanted: set[str] = set()
    for source in sources:
        own = list(_samples(source, columns))
        if own:
            yield from own
        else:
            wanted.update(label.sample_id for label in read_labels(source, Run([])))
    if not wanted:
        return
    found = [] if data is None else [one for one in _samples(data, columns) if one.id in wanted]
    if not found:
        raise DataError(
            f"none of the {len(wanted)} labelled rows is in the data; the first is {min(wanted)!r}"
        )
    yield from found


def _samples(data: Any, columns: ColumnMap) -> Iterator[Sample]:
    """Yield the rows that have an answer and a context, each with its id."""
    try:
        for row in data_from(data, columns, frozenset()):
            if isinstance(row.sample, Sample) and row.sample.answer and row.sample.context:
                yield _with_id(row.sample, row.name)
    except RagEvalsError:
        # A file of labels alone may be no rows at all; who reads labels says what is wrong.
        return


def _with_id(sample: Sample, name: str) -> Sample:
    return Sample(
        question=sample.question,
        answer=sample.answer,
        context=sample.context,
        reference=sample.reference,
        id=name,
        language=sample.language,
    )
