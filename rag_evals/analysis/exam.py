"""An exam for judges: 200 pairs of answers that differ in one detail.

The passages support one answer in each pair but not the other. The judge gets a pair right if the
supported answer reaches the threshold and the other one does not. A judge that accepts everything
gets no pair right.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Unpack

from rag_evals.base import Grader
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run import Record, Run, RunOptions, evaluate, findings_in
from rag_evals.run.plan.options import refuse_sampling
from rag_evals.stats import Interval, compare_paired, mean_interval
from rag_evals.stats.paired import PairedComparison

_SIDES = ("supported", "unsupported")


@dataclass(frozen=True, slots=True)
class ExamPair:
    """A question with passages, and two answers that differ in one detail.

    Attributes:
        id: Such as `number-03`.
        skill: The tested skill, such as `negation`.
        language: `en` or `ru`.
        context: Two to five passages, which support only the answer `supported`.
    """

    id: str
    skill: str
    language: str
    question: str
    context: tuple[str, ...]
    supported: str
    unsupported: str

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a labelled row for each answer."""
        for side in _SIDES:
            yield {
                "id": f"{self.id}-{side}",
                "question": self.question,
                "context": list(self.context),
                "answer": getattr(self, side),
                "language": self.language,
                "skill": self.skill,
                "label": int(side == "supported"),
            }


@cache
def exam_pairs() -> tuple[ExamPair, ...]:
    """Return the shipped pairs."""
    text = (resources.files("rag_evals") / "_data" / "exam.jsonl").read_text(encoding="utf-8")
    found = map(json.loads, text.splitlines())
    return tuple(ExamPair(**{**one, "context": tuple(one["context"])}) for one in found)


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    score: float | None
    why: str

    def __str__(self) -> str:
        return f"{'-' if self.score is None else format(self.score, '.2f')}: {self.why}"


@dataclass(frozen=True, slots=True)
class ExamTrial:
    pair: ExamPair
    supported: ExamAnswer
    unsupported: ExamAnswer
    threshold: float

    @property
    def accepts(self) -> tuple[bool, bool]:
        """Whether the supported answer passes, and whether the unsupported one does."""
        scores = (self.supported.score, self.unsupported.score)
        first, second = (score is not None and score >= self.threshold for score in scores)
        return first, second

    @property
    def right(self) -> bool:
        return self.unsupported.score is not None and self.accepts == (True, False)

    def lines(self) -> Iterator[str]:
        accepted, fooled = self.accepts
        yield f"{self.pair.id}: {self.pair.question}"
        if not accepted:
            yield f"  supported, {self.supported}\n    {self.pair.supported}"
        if fooled or self.unsupported.score is None:
            yield f"  unsupported, {self.unsupported}\n    {self.pair.unsupported}"


@dataclass(frozen=True, slots=True)
class ExamComparison:
    """Difference between two exams, later minus earlier; `lost` and `won` are pair ids."""

    paired: PairedComparison
    lost: tuple[str, ...]
    won: tuple[str, ...]

    def __str__(self) -> str:
        found, p_value = self.paired.difference, self.paired.significance.p_value
        word = "could be chance" if found.contains(0) else "a difference"
        return (
            f"against the earlier exam: {found.estimate:+.1%} [{found.low:+.1%}, {found.high:+.1%}]"
            f", {word} (p = {p_value:.3g}); won {len(self.won)}, lost {len(self.lost)}"
        )


@dataclass(frozen=True, slots=True)
class ExamReport:
    """The result of an exam; `cost_usd` is None if the model's price is unknown."""

    grader: str
    judge: str | None
    trials: tuple[ExamTrial, ...]
    calls: int
    cost_usd: float | None

    @classmethod
    def of(cls, run: Run, *, threshold: float = 1.0) -> "ExamReport":
        """Read a run written by `exam`; an answer passes if its score is at least `threshold`.

        Raises:
            ConfigurationError: The run is not an exam.
        """
        records = {one["sample_id"]: one for one in run.records}
        names = {pair.id: [f"{pair.id}-{side}" for side in _SIDES] for pair in exam_pairs()}
        done = [pair for pair in exam_pairs() if records.keys() >= set(names[pair.id])]
        if not done or len(run.graders) != 1:
            raise ConfigurationError(
                "the run is not an exam of one grader; "
                "`rag-evals judge exam --out FOLDER` writes one"
            )
        summary = run.summary()
        answers = {name: _answer(record) for name, record in records.items()}
        trials = (
            ExamTrial(pair, answers[names[pair.id][0]], answers[names[pair.id][1]], threshold)
            for pair in done
        )
        grader = run.graders[0]
        return cls(grader, summary.judge, tuple(trials), summary.usage.calls, summary.cost_usd)

    @property
    def failed(self) -> list[ExamTrial]:
        """The pairs that the judge got wrong."""
        return [trial for trial in self.trials if not trial.right]

    def rates(self, skill: str | None = None) -> Interval:
        """Return the share of right pairs; `skill` None means all skills."""
        chosen = [one for one in self.trials if skill in (None, one.pair.skill)]
        return mean_interval([float(one.right) for one in chosen])

    def skills(self) -> dict[str, Interval]:
        """Return the share of right pairs by skill."""
        names = dict.fromkeys(trial.pair.skill for trial in self.trials)
        return {name: self.rates(name) for name in names}

    def against(self, other: "ExamReport") -> ExamComparison:
        """Compare with an earlier exam, pair by pair.

        Raises:
            ConfigurationError: The two exams have no pair in common.
        """
        earlier = {trial.pair.id: trial.right for trial in other.trials}
        now = {one.pair.id: one.right for one in self.trials if one.pair.id in earlier}
        if not now:
            raise ConfigurationError("the two exams have no pair in common")
        return ExamComparison(
            compare_paired([float(earlier[name]) for name in now], list(map(float, now.values()))),
            lost=tuple(name for name, right in now.items() if earlier[name] and not right),
            won=tuple(name for name, right in now.items() if right and not earlier[name]),
        )


def _answer(record: Record) -> ExamAnswer:
    if record["score"] is None:
        error = record.get("error")
        why = f"{error['type']}: {error['message']}" if error else str(record.get("reason"))
        return ExamAnswer(None, why)
    found = findings_in(record)
    against = [one for one in found if one.counts_against]
    shown = next(iter(against or found), None)
    why = "no finding" if shown is None else shown.reasoning or shown.label
    return ExamAnswer(record["score"], why)


def exam(
    grader: Grader[Any],
    client: Client = None,
    *,
    out: str | Path | None = None,
    threshold: float = 1.0,
    **options: Unpack[RunOptions],
) -> ExamReport:
    """Examine a judge with 400 answers, each graded separately.

    Args:
        grader: The grader whose prompt is examined; it must not need a reference.
        client: The judge, as in `Grader.grade`.
        out: Run folder, for a report or a comparison; None stores nothing.
        threshold: Lowest score at which an answer passes.
        options: As in `evaluate`, except `sampling`; progress is off by default.

    Raises:
        ConfigurationError: The grader needs a field that the pairs do not have.
        TooManyFailuresError: As in `evaluate`.
    """
    refuse_sampling(options, "an exam")
    if missing := set(grader.requires) - {"question", "answer", "context"}:
        raise ConfigurationError(
            f"grader {grader.name!r} needs a {missing.pop()}, but the exam's pairs have only a "
            "question, context and answers; choose a grader for answers, such as faithfulness"
        )
    rows = [row for pair in exam_pairs() for row in pair.rows()]
    asked: RunOptions = {"progress": False, **options}
    return ExamReport.of(evaluate(rows, [grader], client, out=out, **asked), threshold=threshold)


def exam_numbers(report: ExamReport, against: ExamComparison | None = None) -> Mapping[str, Any]:
    """Return an exam's numbers for JSON."""
    failed = [
        {
            "id": one.pair.id,
            "skill": one.pair.skill,
            **{
                side: {"answer": getattr(one.pair, side), **asdict(getattr(one, side))}
                for side in _SIDES
            },
        }
        for one in report.failed
    ]
    numbers = {
        "grader": report.grader,
        "judge": report.judge,
        "pairs": len(report.trials),
        "right": report.rates(),
        "skills": report.skills(),
        "calls": report.calls,
        "cost_usd": report.cost_usd,
        "failed": failed,
    }
    return numbers if against is None else {**numbers, "against": against}
