"""Gates, samples and batches: `grade` options that select rows and determine the exit code.

`grade --batch` stores its options in the run folder; `rag-evals batch collect` runs the same
command again in the same working directory, with different steps.
"""

import contextlib
import json
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_evals.cli.shared.exits import DONE, GATE_MISSED, NOT_DECIDED, TOO_MANY_FAILURES
from rag_evals.core import Phrases
from rag_evals.errors import ConfigurationError
from rag_evals.report.screen import echo, echo_error
from rag_evals.run import (
    DEFAULT_ERROR,
    DEFAULT_MIN_SCORED,
    Gate,
    GateAt,
    GateDecision,
    GraderSummary,
    Missed,
    Run,
    Sampling,
    reason_words,
    require_counts,
    require_gate,
)
from rag_evals.run.engine.batches import (
    BatchSteps,
    aexecute_batches,
    open_batches,
    parts_under_way,
)
from rag_evals.run.plan.options import parse_share
from rag_evals.run.plan.plan import Plan


def share(text: object) -> float:
    """Parse an option's value, which is a number if it comes from a config file."""
    try:
        return parse_share(str(text))
    except ConfigurationError as error:
        raise typer.BadParameter(str(error)) from None


share_option = partial(typer.Option, parser=share, metavar="SHARE")
gate_option = partial(typer.Option, rich_help_panel="Gate: exit with 1 if missed")
gate_share = partial(gate_option, parser=share, metavar="SHARE")
_draw_option = partial(typer.Option, rich_help_panel="Grade only some of the rows")

GateError = Annotated[
    float | None,
    gate_share("--error", help="Probability of a wrong --gate verdict. Default: 0.05."),
]


def _reason_and_score(text: str) -> tuple[str, float]:
    reason, _, score = text.partition("=")
    try:
        found = reason.strip(), float(score)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not REASON=VALUE, as in empty_context=0") from None
    require_counts({found[0]: found[1]})
    return found


MinScored = Annotated[
    float | None,
    gate_share(
        help="Minimum share of rows with a score, such as 0.9 or 90%; failed rows have no score. "
        "Default with a gate: 0.9.",
    ),
]

Counts = Annotated[
    list[Any] | None,  # pairs: typer does not support a list of tuples
    gate_option(
        "--count",
        parser=_reason_and_score,
        metavar="REASON=VALUE",
        help="Score for rows that are not scorable for this reason, such as empty_context=0; "
        "repeatable.",
    ),
]


@dataclass(frozen=True, slots=True)
class GateResult:
    """Gate verdicts: lines to print, and an exit code."""

    lines: tuple[str, ...] = ()
    code: int = DONE

    @classmethod
    def missed(cls, missed: Sequence[Missed], asked: str, say: Phrases) -> "GateResult":
        """Return one line per failed rule, or one line saying that `asked` passed."""
        lines = tuple(say("gate.missed", told=each.line(say)) for each in missed)
        return cls(lines or (say("gate.passed", told=asked),), GATE_MISSED if missed else DONE)

    @classmethod
    def decided(cls, decision: GateDecision, say: Phrases) -> "GateResult":
        lines = tuple(say("gate.line", told=line) for line in decision.lines(say))
        return cls(lines, _CODES[decision.verdict])

    @classmethod
    def unscored(cls, graders: Sequence[GraderSummary], say: Phrases) -> "GateResult":
        told = [
            say(
                "gate.unscored",
                grader=say.named("graders", one.grader),
                rows=one.total,
                why=reason_words({**one.not_scorable, **one.failed}, say),
            )
            for one in graders
        ]
        return cls(("; ".join(told),), TOO_MANY_FAILURES) if told else cls()

    def then(self, later: "GateResult") -> "GateResult":
        """Add the lines and the exit code of a later gate, unless this one failed."""
        return self if self.code else GateResult((*self.lines, *later.lines), later.code)

    def exit(self) -> None:
        is_error = self.code == TOO_MANY_FAILURES
        for line in self.lines[:-1] if is_error else self.lines:
            echo(line, err=True)
        if is_error:
            echo_error(self.lines[-1])
        if self.code:
            raise typer.Exit(self.code)


_CODES = {"passed": DONE, "failed": GATE_MISSED, "not decided": NOT_DECIDED}


@dataclass(frozen=True)
class Gates:
    gate: Annotated[
        float | None,
        gate_share(
            metavar="MEAN",
            help="Test whether each grader's mean is above MEAN: passed, failed (exit code 1) or "
            "not decided (4), with the number of rows needed.",
        ),
    ] = None
    error: GateError = None
    fail_under: Annotated[
        float | None, gate_share(metavar="MEAN", help="Minimum mean score of each grader.")
    ] = None
    at: Annotated[
        GateAt | None,
        gate_option(
            help="What --fail-under checks: the mean (default) or its lower confidence limit."
        ),
    ] = None
    min_scored: MinScored = None
    count: Counts = None

    def __post_init__(self) -> None:
        check_error(self.gate, self.error)
        if self.fail_under is None and self.at is not None:
            raise ConfigurationError(f"--at {self.at} does nothing without --fail-under")

    def __bool__(self) -> bool:
        return self._rules is not None or self.gate is not None

    @property
    def counts(self) -> dict[str, float]:
        return dict(self.count or ())

    @property
    def least_scored(self) -> float:
        return DEFAULT_MIN_SCORED if self.min_scored is None else self.min_scored

    @property
    def _rules(self) -> Gate | None:
        if self.fail_under is None and self.min_scored is None:
            return None
        return Gate(self.fail_under, self.at or "mean", self.least_scored, self.counts)

    def decision(self, run: Run, cluster: str | None) -> GateDecision | None:
        """Return the decision of `--gate`; None if it is not set or rows are still pending."""
        if self.gate is None or run.summary().pending:
            return None
        return run.gate(
            self.gate,
            error=check_error(self.gate, self.error),
            min_scored=self.least_scored,
            count=self.counts,
            cluster=cluster,
        )

    def result(self, run: Run, say: Phrases, cluster: str | None = None) -> "GateResult":
        summary, rules = run.summary(cluster=cluster), self._rules
        if summary.pending:
            pending = GateDecision((), summary.pending)
            return GateResult.decided(pending, say) if self else GateResult()
        found = GateResult()
        if rules is not None and (self.gate is None or self.fail_under is not None):
            found = GateResult.missed(rules.missed(summary), rules.asked(), say)
        if self.fail_under is not None and self.at is None:
            found = replace(found, lines=(say("gate.mean_warning"), *found.lines))
        if not found.code and (decision := self.decision(run, cluster)) is not None:
            found = found.then(GateResult.decided(decision, say))
        unscored = [one for one in summary.graders.values() if one.mean(self.counts) is None]
        return found.then(GateResult.unscored(unscored, say))


@dataclass(frozen=True)
class Draws:
    stop_early: Annotated[
        bool,
        _draw_option(
            "--stop-early",
            help="Grade rows in random order, and stop as soon as --gate is decided for all rows.",
        ),
    ] = False
    sample: Annotated[
        int | None,
        _draw_option(
            metavar="ROWS",
            help="Grade a random sample with the judge and every row with the embedded judge, and "
            "estimate the mean of all rows.",
        ),
    ] = None
    budget: Annotated[
        str | None,
        _draw_option(
            metavar="MONEY",
            help="Like --sample, but with as many rows as this amount pays for at list prices, "
            "such as 5usd; no calls are made once it is spent.",
        ),
    ] = None

    def sampling(self, gates: Gates) -> Sampling | None:
        if self.stop_early and gates.gate is None:
            raise ConfigurationError("--stop-early does nothing without --gate")
        drawn = self.sample is not None or self.budget is not None
        if self.stop_early and drawn:
            other = "--sample" if self.budget is None else "--budget"
            raise ConfigurationError(
                f"--stop-early and {other} cannot be combined: each determines which rows to grade"
            )
        if self.stop_early:
            return Sampling(gate=gates.gate, error=gates.error, count=gates.counts or None)
        return Sampling(self.sample, self.budget) if drawn else None


def check_error(gate: float | None, error: float | None) -> float:
    if gate is None and error is not None:
        raise ConfigurationError(f"--error {error:g} does nothing without --gate")
    asked = DEFAULT_ERROR if error is None else error
    if gate is not None:
        require_gate("--gate", gate, asked)
    return asked


_steps: ContextVar[BatchSteps | None] = ContextVar("batch_steps", default=None)
_PATH = "path"


Execute = Callable[[Plan], Coroutine[Any, Any, Run]]


@dataclass(frozen=True)
class Batches:
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Send all judge calls as a batch, at half the price, and exit; "
            "`rag-evals batch collect` fetches the replies.",
        ),
    ] = False
    wait: Annotated[
        bool, typer.Option("--wait", help="With --batch, wait until no row is pending.")
    ] = False

    def executor(self, context: typer.Context, sampling: Sampling | None) -> Execute | None:
        if not self.batch:
            if self.wait:
                raise ConfigurationError("--wait does nothing without --batch")
            return None
        if sampling is not None:
            raise ConfigurationError(
                "--batch sends all rows at once, so it cannot be combined with --stop-early, "
                "--sample or --budget; to grade only the first rows, use --limit"
            )
        if context.params.get("data") == "-":
            raise ConfigurationError(
                "--batch reads the data again later, but standard input can be read only once; "
                "write the data to a file"
            )
        steps, command = _steps.get(), None
        if steps is None:
            steps = BatchSteps(wait=self.wait)
            stored = {"options": context.params, "folder": Path.cwd()}
            command = json.dumps(stored, default=_written)
        tell = partial(echo, err=True)
        return partial(aexecute_batches, steps=steps, command=command, tell=tell)


def refuse_batches_under_way(folder: Path) -> None:
    """Reject direct calls if their requests are already in a pending batch."""
    if parts := parts_under_way(folder):
        raise ConfigurationError(
            f"{sum(part.requests for part in parts)} requests of {str(folder)!r} are in a pending "
            f"batch, and would be paid for twice; run `rag-evals batch collect {folder}` to fetch "
            "their replies, or use --restart to start over"
        )


def grade_again(
    grade: Callable[..., None],
    context: typer.Context,
    folder: Path,
    steps: BatchSteps,
    *,
    json_output: bool,
) -> None:
    command = open_batches(folder).command_file
    if not command.exists():
        raise ConfigurationError(
            f"{str(folder)!r} does not contain the command that started its batches; run that "
            "command again: rag-evals grade DATA ... --batch"
        )
    kept = json.loads(command.read_text(), object_hook=_read)
    options = {**kept["options"], "out": folder.absolute(), "restart": False}
    options["json_output"] = json_output or options["json_output"]
    token = _steps.set(steps)
    try:
        with contextlib.chdir(kept["folder"]):
            grade(context=context, **options)
    finally:
        _steps.reset(token)


def _written(value: object) -> dict[str, str]:
    assert isinstance(value, Path), f"unexpected option value {value!r}"
    return {_PATH: str(value)}


def _read(found: dict[str, Any]) -> Any:
    return Path(found[_PATH]) if found.keys() == {_PATH} else found
