"""Teaching a judge from labels: adding examples and criteria to its prompt, measuring the gain."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import repeat
from operator import eq
from pathlib import Path
from typing import Any, Unpack

import yaml

from rag_evals.analysis.labels import (
    Label,
    LabelledRun,
    LabelSources,
    RunInput,
    Unit,
    only_grader,
)
from rag_evals.analysis.tuning import LEAST_LABELS, LEAST_OF_EACH, split_folds
from rag_evals.catalog import grader_from_file
from rag_evals.core import Finding, Sample, fingerprint, private_file
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError, DataError, TooFewLabelsError, WeakJudgeError
from rag_evals.prompt import Prompt
from rag_evals.run import RunOptions, StoredSample, evaluate, findings_in, load_run
from rag_evals.stats import Interval, compare_paired, fit_support_map
from rag_evals.text import words_of
from rag_evals.verify import read_judge

SIZES = (8, 4, 12)
"""Numbers of examples to try; the first is used if the budget does not allow a search."""

_FOLDS = 5
_CALLS_PER_LABEL = 10
_MOST_PEERS = 4
_HEADING = "What counts as supported here, in the words of the people who decided:"


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row with a label and the judge's verdict.

    The few-shot `example` is None if too few of the row's statements are labelled.
    """

    id: str
    question: str
    label: bool
    judged: bool
    example: Mapping[str, Any] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The gain from adding lessons (examples and notes) to a prompt, cross-validated by question.

    Attributes:
        before: Share of rows on which the judge agrees with people, using the run's prompt.
        after: The same share, using prompts taught on other questions.
        gain: after - before.
        examples: Number of examples that the prompt shows for every row.
        peers: Number of examples shown only for other answers to the same question; `gain` does
            not include them, because cross-validation leaves out whole questions.
        calls: Number of calls to the judge.
        date: Date of the measurement, UTC.
        fingerprint: Hash of the labels, the judge and the base prompt.
    """

    judge: str
    labels: int
    questions: int
    before: float
    after: float
    gain: Interval
    examples: int
    peers: int
    calls: int
    labels_from: tuple[str, ...]
    date: str
    fingerprint: str

    @property
    def proved(self) -> bool:
        """True if the gain's entire interval is above 0."""
        return self.gain.low > 0

    def __str__(self) -> str:
        gain = self.gain
        peers = f"{self.peers} more for other answers to the same question, " if self.peers else ""
        return "\n".join(
            [
                f"{self.judge}: {self.labels} labelled rows of {self.questions} questions, "
                f"{self.examples} examples, {peers}{self.calls} calls",
                f"  agreement before    {self.before:.1%}",
                f"  agreement after     {self.after:.1%}, on questions left out of teaching",
                f"  gain                {gain.estimate:+.1%} [{gain.low:+.1%}, {gain.high:+.1%}]"
                f"{'' if self.proved else ': not proved, the interval includes 0'}",
            ]
        )

    def header(self) -> dict[str, Any]:
        """Return the receipt as a dictionary for the prompt's front matter."""
        gain = [round(one, 4) for one in (self.gain.estimate, self.gain.low, self.gain.high)]
        found = asdict(self) | {"gain": gain, "labels_from": list(self.labels_from)}
        found |= {name: round(getattr(self, name), 4) for name in ("before", "after")}
        if not self.proved:
            found["warning"] = "the gain is not proved: its interval includes 0"
        return found


AskJudge = Callable[[Sequence[LabelledRow], Sequence[LabelledRow]], list[bool]]
"""Shows the judge the first rows as examples, and returns its verdicts on the other rows."""


def learn(
    rows: Sequence[LabelledRow], ask: AskJudge, *, sizes: Sequence[int]
) -> tuple[list[LabelledRow], Interval]:
    """Return the chosen examples, and the gain in agreement on held-out questions."""
    after: dict[str, float] = {}
    for taught, tested in split_questions(rows, _FOLDS):
        examples = _choose_best(taught, ask, sizes)
        for row, judged in zip(tested, ask(examples, tested), strict=True):
            after[row.id] = float(judged == row.label)
    before = [float(row.judged == row.label) for row in rows]
    clusters = [row.question for row in rows]
    gain = compare_paired(before, [after[row.id] for row in rows], clusters=clusters).difference
    return _choose_best(rows, ask, sizes), gain


def count_calls(rows: Sequence[LabelledRow], sizes: Sequence[int]) -> int:
    calls = len(rows)
    if len(sizes) > 1:
        groups = [*(taught for taught, _ in split_questions(rows, _FOLDS)), rows]
        calls += len(sizes) * sum(len(next(split_questions(group, 2))[1]) for group in groups)
    return calls


def _choose_best(
    rows: Sequence[LabelledRow], ask: AskJudge, sizes: Sequence[int]
) -> list[LabelledRow]:
    """Choose examples, using the number that works best on a held-out half of the questions."""
    if len(sizes) == 1:
        return choose_examples(rows, sizes[0])
    taught, tested = next(split_questions(rows, 2))
    labels = [row.label for row in tested]

    def agreement(size: int) -> int:
        return sum(map(eq, ask(choose_examples(taught, size), tested), labels))

    return choose_examples(rows, max(sizes, key=agreement))


def split_questions(
    rows: Sequence[LabelledRow], count: int
) -> Iterator[tuple[list[LabelledRow], list[LabelledRow]]]:
    """Yield the rows to teach with and the rows to test on, split by question."""
    # The judge can learn only from its errors, so spread them evenly across the folds.
    wrong = [row.judged != row.label for row in rows]
    for tested, taught in split_folds([row.question for row in rows], wrong, count):
        yield [rows[place] for place in taught], [rows[place] for place in tested]


def choose_examples(rows: Sequence[LabelledRow], size: int) -> list[LabelledRow]:
    """Choose diverse errors of both kinds, and similar rows that the judge got right."""
    usable = [row for row in rows if row.example is not None]
    kinds = [(False, True), (True, False), (False, False), (True, True)]
    groups = {kind: [row for row in usable if (row.label, row.judged) == kind] for kind in kinds}
    words = {row.id: set(words_of(str(row.example))) for row in usable}
    chosen: list[LabelledRow] = []

    def likeness(row: LabelledRow) -> float:
        own = words[row.id]
        shares = (len(own & words[c.id]) / len(own | words[c.id] or {""}) for c in chosen)
        return max(shares, default=0)

    while any(groups.values()):
        for label, judged in (kind for kind in kinds if groups[kind]):
            if len(chosen) == size:
                return chosen
            best = (max if label == judged else min)(groups[label, judged], key=likeness)
            chosen.append(best)
            # A second row with the same question would add little.
            for kind, group in groups.items():
                groups[kind] = [row for row in group if row.question != best.question]
    return chosen


@dataclass(frozen=True)
class Teaching:
    """A plan for teaching; the judge has not been called yet.

    Attributes:
        rows: The labelled rows.
        sizes: Numbers of examples to try.
        calls: Number of calls that `learn` makes, excluding retries.
    """

    rows: list[LabelledRow]
    sizes: Sequence[int]
    calls: int
    judge: str
    labelled: LabelledRun
    prompt: Prompt
    folders: Sequence[Path]
    options: RunOptions

    def learn(self) -> "Lesson":
        """Teach the judge and measure the gain.

        Raises:
            TooManyFailuresError: As in `evaluate`.
        """
        examples, gain = learn(self.rows, self._ask, sizes=self.sizes)
        count, peers = len(self.rows), self._peers(examples)
        before = sum(row.judged == row.label for row in self.rows) / count
        labels = [[row.id, row.label] for row in self.rows]
        receipt = Receipt(
            judge=self.judge,
            labels=count,
            questions=len({row.question for row in self.rows}),
            before=before,
            after=before + gain.estimate,
            gain=gain,
            examples=len(examples),
            peers=len(peers),
            calls=self.calls,
            labels_from=self.labelled.labels_from,
            date=datetime.now(UTC).date().isoformat(),
            fingerprint=fingerprint(labels, self.judge, self.prompt.sources())[:16],
        )
        return Lesson(receipt, self._text(examples, receipt, peers))

    def _peers(self, chosen: Sequence[LabelledRow]) -> list[LabelledRow]:
        """Return examples for other answers to the same question, the judge's errors first."""
        answers = Counter(sample.question for sample in self.labelled.run.samples.values())
        peers, used = [], Counter[str]()
        for row in sorted(self.rows, key=lambda row: row.judged == row.label):
            is_peer = row.example and row not in chosen and answers[row.question] > 1
            if is_peer and used[row.question] < _MOST_PEERS:
                used[row.question] += 1
                peers.append(row)
        return peers

    def _ask(self, examples: Sequence[LabelledRow], tested: Sequence[LabelledRow]) -> list[bool]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "taught.jinja"
            path.write_text(self._text(examples), encoding="utf-8")
            grader = grader_from_file(path, folders=self.folders)
            samples = [_sample(self.labelled.run.samples[row.id]) for row in tested]
            options: RunOptions = {"progress": False, **self.options}
            run = evaluate(samples, [grader], self.judge, **options)
        scores = {outcome.sample_id: outcome.score for outcome in run.outcomes}
        # A row that the judge could not grade counts as a disagreement.
        return [
            not row.label if (score := scores[row.id]) is None else score >= 1 for row in tested
        ]

    def _text(
        self,
        examples: Sequence[LabelledRow],
        receipt: Receipt | None = None,
        peers: Sequence[LabelledRow] = (),
    ) -> str:
        header = self.prompt.header.model_dump(exclude_defaults=True)
        name = self.labelled.matched[0].grader
        header |= {"name": name, "response_model": header.get("response_model", name)}
        if receipt is not None:
            header["receipt"] = receipt.header()
        header["examples"] = [
            *({**(row.example or {}), "same_question": True} for row in peers),
            *(dict(row.example or {}) for row in examples),
        ]
        written = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=100)
        return f"---\n{written}---\n{self._body(examples)}"

    def _body(self, examples: Sequence[LabelledRow]) -> str:
        notes = list(dict.fromkeys(" ".join(row.note.split()) for row in examples if row.note))
        listed = "\n".join(["", _HEADING, *(f"- {note}" for note in notes)]) if notes else ""
        # A note is plain text; Jinja syntax in it must not be interpreted.
        listed = listed and f"{{% raw %}}{listed.replace('{%', '{ %')}\n{{% endraw %}}\n"
        stem = self.prompt.stem
        if stem is None:
            plain = not self.prompt.places_data and "{% extends" not in self.prompt.text
            return f"{self.prompt.text.rstrip()}\n{listed if plain else ''}"
        if not listed:
            return f'{{% extends "{stem}.jinja" %}}\n'
        return (
            f'{{% extends "{stem}.jinja" %}}\n{{% block criteria %}}\n{{{{ super() }}}}'
            f"{listed}{{% endblock %}}\n"
        )


@dataclass(frozen=True, slots=True)
class Lesson:
    """The text of a prompt with lessons (examples and notes) added, and the measured gain."""

    receipt: Receipt
    text: str

    def write(self, path: str | Path, *, anyway: bool = False) -> None:
        """Write the prompt file.

        Args:
            path: Path of the file.
            anyway: Write the prompt even if its gain is not proved, and add a warning to it.

        Raises:
            ConfigurationError: The gain is not proved, or the file cannot be written.
        """
        if not self.receipt.proved and not anyway:
            gain = self.receipt.gain
            raise ConfigurationError(
                f"nothing was written: the gain of {gain.estimate:+.1%} has an interval from "
                f"{gain.low:+.1%} to {gain.high:+.1%}, which includes 0; label more rows, or "
                "write the prompt anyway (--anyway)"
            )
        with private_file(Path(path)) as file:
            file.write(self.text.encode())


def _sample(stored: StoredSample) -> Sample:
    pairs = zip(stored.metadata or repeat({}), stored.chunks, strict=False)
    return Sample(
        question=stored.question,
        answer=stored.answer,
        context=[{**metadata, "text": text} for metadata, text in pairs],
        reference=stored.reference,
        language=stored.language,
        id=stored.sample_id,
    )


def prepare_teaching(
    run: RunInput,
    labels: LabelSources = (),
    *,
    prompt: Path | None = None,
    grader: str | None = None,
    column: str = "label",
    budget: int | None = None,
    **options: Unpack[RunOptions],
) -> Teaching:
    """Read a run's labels and plan the teaching, without calling the judge.

    Args:
        run: A run graded with the prompt to teach; `learn` will call its judge.
        labels: Label files or data columns, as in `agreement`.
        prompt: The run's prompt file; by default, the grader's shipped prompt.
        grader: The grader to teach; by default, the run's only grader.
        column: Name of the label column in a labels file.
        budget: Maximum number of calls; by default, 10 per label.
        options: As in `evaluate`, except `sampling`.

    Raises:
        DataError: The run's judge does not use a prompt, or the labels cannot be read or matched.
        TooFewLabelsError: Too few rows are labelled: at least 30 are needed, 5 with each label,
            and two different questions.
        ConfigurationError: Lessons cannot be added to the prompt, or the budget is too small.
    """
    stored = load_run(run)
    name, judge = only_grader(stored, grader), stored.summary().judge
    if judge is None:
        raise ConfigurationError("the run's judge is not recorded; grade the rows again")
    with suppress(ConfigurationError):
        # The name of a user's own client cannot be parsed as a judge.
        if read_judge(judge).verifier is not None:
            raise DataError(
                f"the run's judge {judge!r} does not use a prompt, so it cannot be taught; grade "
                "rows with a model, such as openai/gpt-4o-mini, or tune it: rag-evals judge tune"
            )
    if prompt is None and name != "faithfulness":
        raise ConfigurationError(
            f"the run's grader {name!r} has no shipped prompt that can be taught; give the "
            "prompt file that it used (--prompt), with the response model faithfulness or pass_fail"
        )
    taught = Prompt.shipped("score_faithfulness") if prompt is None else Prompt.from_file(prompt)
    labelled = LabelledRun.load(stored, labels, name, column)
    rows = _labelled_rows(labelled)
    sizes = _affordable_sizes(rows, budget)
    return Teaching(
        rows=rows,
        sizes=sizes,
        calls=count_calls(rows, sizes),
        judge=judge,
        labelled=labelled,
        prompt=taught,
        folders=() if prompt is None else (prompt.parent,),
        options=options,
    )


def _labelled_rows(labelled: LabelledRun) -> list[LabelledRow]:
    run, matched = labelled.run, labelled.matched[0]
    found = {one["sample_id"]: findings_in(one) for one in run.of_grader(matched.grader)}
    rows = [
        _row(unit, run.samples[unit.sample_id], found[unit.sample_id], labelled.by_row)
        for unit in matched.rows
        if unit.label in (0, 1) and unit.sample_id in run.samples
    ]
    right = sum(row.label for row in rows)
    if len(rows) < LEAST_LABELS or min(right, len(rows) - right) < LEAST_OF_EACH:
        raise TooFewLabelsError(
            f"{len(rows)} labelled rows, {right} of them supported; teaching needs {LEAST_LABELS} "
            f"rows, and {LEAST_OF_EACH} with each label"
        )
    if len({row.question for row in rows}) == 1:
        raise TooFewLabelsError(
            f"all {len(rows)} labelled rows have the same question; teaching needs at least two "
            "questions, because the gain is measured on questions that were not taught"
        )
    return rows


def _affordable_sizes(rows: Sequence[LabelledRow], budget: int | None) -> Sequence[int]:
    most = _CALLS_PER_LABEL * len(rows) if budget is None else budget
    fitting = [n for n in range(1, len(SIZES) + 1) if count_calls(rows, SIZES[:n]) <= most]
    if not fitting:
        raise ConfigurationError(
            f"the budget is {most} calls; {len(rows)} labelled rows need at least {len(rows)}"
        )
    return SIZES[: max(fitting)]


def _row(
    unit: Unit,
    sample: StoredSample,
    found: Sequence[Finding],
    by_row: Mapping[str, Sequence[Label]],
) -> LabelledRow:
    label, labels = unit.label == 1, by_row[unit.sample_id]
    row = LabelledRow(unit.sample_id, sample.question or unit.sample_id, label, unit.judged >= 1)
    verdicts = _verdicts(found, label, labels)
    if verdicts is None:
        return row
    note = " ".join(one.note for one in labels if one.note)
    why = note or f"People decided: {'supported' if label else 'not supported'}."
    result: dict[str, Any] = {"reasoning": why, "passed": label}
    if found[0].about != "answer":
        statements = (
            {
                "statement": one.text,
                "reasoning": why,
                "supporting_chunk_ids": _showing(one, sample.chunks) if verdict else [],
                "is_supported": verdict,
            }
            for one, verdict in zip(found, verdicts, strict=True)
        )
        result = {"statements": list(statements)}
    data = {"question": sample.question, "answer": sample.answer, "context": list(sample.chunks)}
    example = {name: value for name, value in data.items() if value} | {"result": result}
    return replace(row, example=example, note=note)


def _verdicts(found: Sequence[Finding], label: bool, labels: Sequence[Label]) -> list[bool] | None:
    """Return the label of each finding; None if any finding is unlabelled."""
    if not found:
        return None
    if label or len(found) == 1:
        return [label] * len(found)
    by_place = {one.statement: one.value for one in labels}
    by_text = {one.text: one.value for one in labels}
    values = [by_place.get(n, by_text.get(one.text)) for n, one in enumerate(found)]
    return None if None in values else [value == 1 for value in values]


def _showing(finding: Finding, chunks: Sequence[str]) -> list[int]:
    """Return the ids of the chunks that the judge cited, or else of the most similar chunk."""
    if finding.chunk_ids:
        return list(finding.chunk_ids)
    words = set(words_of(finding.text))
    return [max(range(len(chunks)), key=lambda n: len(words & set(words_of(chunks[n]))))]


@dataclass(frozen=True, slots=True)
class SuspiciousLabel:
    """A label that may be wrong.

    Attributes:
        text: The labelled statement, or all statements in a labelled row.
        suspicion: Distance between the label and its expected value, 0 to 1.
    """

    sample_id: str
    text: str
    label: bool
    judged: bool
    suspicion: float


def suspicious_labels(
    run: RunInput,
    labels: LabelSources = (),
    *,
    grader: str | None = None,
    column: str = "label",
) -> list[SuspiciousLabel]:
    """Return all yes/no labels, most suspicious first.

    The expected value is the share of yes labels among texts with the same support from the
    embedded judge. If another judge graded the run, its verdict is given equal weight.

    Args:
        run: A run that contains the labelled rows.
        labels: As in `agreement`.
        grader: As in `prepare_teaching`.
        column: As in `prepare_teaching`.

    Raises:
        DataError: The labels cannot be read, or no label matches a verdict.
    """
    stored = load_run(run)
    matched = LabelledRun.load(stored, labels, only_grader(stored, grader), column).matched[0]
    found = matched.statements or matched.rows
    units = [unit for unit in found if unit.label in (0, 1) and unit.verdicts]
    truth = [unit.label == 1 for unit in units]
    verifier = EmbeddedVerifier()
    texts = [[one.text for one in unit.verdicts] for unit in units]
    supports = [
        min(one.support for one in verifier.verify(own, stored.chunks(unit.sample_id)))
        for own, unit in zip(texts, units, strict=True)
    ]
    with suppress(WeakJudgeError, TooFewLabelsError):
        supports = list(map(fit_support_map(truth, supports), supports))
    listed = []
    for unit, own, label, support in zip(units, texts, truth, supports, strict=True):
        doubts = [abs(label - support)]
        if unit.decided_by != verifier.name:
            doubts.append(float((unit.judged >= 1) != label))
        text, judged = " ".join(own), unit.judged >= 1
        suspicion = sum(doubts) / len(doubts)
        listed.append(SuspiciousLabel(unit.sample_id, text, label, judged, suspicion))
    return sorted(listed, key=lambda one: -one.suspicion)
