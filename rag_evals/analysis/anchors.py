"""Does a judge still say what it said? Its anchors are graded again, and compared with before."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evals.analysis.comparing import compare
from rag_evals.analysis.comparison import Comparison, GraderComparison
from rag_evals.analysis.differences import moved_judge
from rag_evals.analysis.tables_html import bounded_table, notes_html
from rag_evals.analysis.wording import difference_words
from rag_evals.core import Phrases, named_arguments, phrases
from rag_evals.dataset import ColumnMap
from rag_evals.errors import UnpairedScoresError
from rag_evals.judge import Client
from rag_evals.run import (
    DEFAULT_CONCURRENCY,
    Graders,
    Plan,
    Report,
    Run,
    RunOptions,
    anchor_samples,
    execute,
    load_anchors,
    make_plan,
    reason_words,
    require_same_instrument,
)
from rag_evals.stats import holm_adjusted
from rag_evals.text import html_head

_MOST_P = 0.05


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """What anchors say of a judge.

    Attributes:
        rows: How many rows were graded again.
        moved: Which model answered then and now, in words; None where replies name the same one, or
            none.
        comparison: The stored verdicts as baseline, those of now as candidate.
    """

    rows: int
    moved: str | None
    comparison: Comparison

    @property
    def drifted(self) -> list[str]:
        """Graders whose rows pass no more as they did, or whose scores moved.

        By McNemar's test and by the test of `compare`, all of them taken together (Holm).
        """
        found = self.comparison.graders
        passes = [each.passes.p_value for each in found]
        scores = [each.paired.significance.p_value for each in found]
        adjusted = holm_adjusted([*passes, *scores])
        pairs = zip(found, adjusted, adjusted[len(found) :], strict=False)
        return [each.grader for each, *p_values in pairs if min(p_values) <= _MOST_P]

    def numbers(self) -> dict[str, Any]:
        """Return what a program reads of it."""
        graders = {
            each.grader: {
                "drifted": each.grader in self.drifted,
                "passed_only_then": each.passes.only_baseline,
                "pass_only_now": each.passes.only_candidate,
                "p_value": each.passes.p_value,
                "difference": each.paired.difference.estimate,
            }
            for each in self.comparison.graders
        }
        return {"rows": self.rows, "moved": self.moved, "graders": graders}

    def lines(self, say: Phrases | None = None) -> list[str]:
        """Say what changed: another model first, then each grader.

        Args:
            say: In which language; None is English.
        """
        say, drifted = say or phrases(), self.drifted
        return [
            *self.comparison.notes(say=say),
            *(_line(each, each.grader in drifted, say) for each in self.comparison.graders),
            *(
                say(
                    "anchors.unscored",
                    grader=say.named("graders", each.grader),
                    why=reason_words(each.missing, say),
                )
                for each in self.comparison.unscored
            ),
        ]

    def __str__(self) -> str:
        """One line for each thing to say."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        """One line."""
        found = "; ".join(self.lines())
        return f"AnchorCheck({self.rows} rows; {found})"

    def _repr_html_(self) -> str:
        drifted = self.drifted
        rows = [
            (
                each.grader,
                "drifted" if each.grader in drifted else "no drift is shown",
                str(each.passes.only_baseline),
                str(each.passes.only_candidate),
                f"{each.passes.p_value:.2g}",
                difference_words(each.paired),
            )
            for each in self.comparison.graders
        ]
        head = ("grader", "verdict", "passed only then", "passes only now", "p", "mean changed by")
        table = bounded_table(head, rows, noun="graders")
        return html_head(f"{self.rows} anchors") + notes_html(self.comparison.warnings) + table


@named_arguments
def check_anchors(
    anchors: str | Path | Run,
    graders: Graders = "faithfulness",
    client: Client = None,
    *,
    model: str | None = None,
    out: str | Path | None = None,
    progress: Report | bool | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    options: RunOptions | None = None,
) -> AnchorCheck:
    """Grade anchors again, and compare the verdicts with those that are stored.

    Stored replies of the judge are not used: they are what it said before.

    Args:
        anchors: What `keep_anchors` returned, or its folder.
        graders: As for `evaluate`: those that graded them.
        client: As for `evaluate`: who graded them.
        model: As for `evaluate`.
        out: Folder to keep the new verdicts in; None keeps none.
        progress: As for `evaluate`.
        concurrency: As for `evaluate`.
        options: Limits, settings and tuned files, as `evaluate` takes them.

    Raises:
        ConfigurationError: They were graded by another judge, prompt or setting.
        TooManyFailuresError: The judge could not be asked.
        UnpairedScoresError: No row has a score now.
    """
    kept = load_anchors(anchors)
    plan = anchor_plan(kept, graders, client, model=model, concurrency=concurrency, options=options)
    return checked_anchors(kept, execute(plan, out=out, progress=progress))


def anchor_plan(
    kept: Run,
    graders: Graders,
    client: Client,
    *,
    model: str | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    options: RunOptions | None = None,
) -> Plan:
    """Plan to grade anchors again; arguments as for `check_anchors`.

    Raises:
        ConfigurationError: As for `check_anchors`.
    """
    again: RunOptions = {**(options or {}), "cache": False, "limit": None}
    plan = make_plan(
        anchor_samples(kept),
        graders,
        client,
        model=model,
        columns=ColumnMap(),
        concurrency=concurrency,
        options=again,
    )
    require_same_instrument(kept, plan)
    return plan


def checked_anchors(kept: Run, fresh: Run) -> AnchorCheck:
    """Compare anchors with the run that graded them again.

    Raises:
        UnpairedScoresError: No row has a score now.
    """
    if not any(record["score"] is not None for record in fresh.records):
        raise UnpairedScoresError(f"none of the {len(kept.samples)} anchors has a score now")
    moved = moved_judge(kept, fresh)
    said = None if moved is None else str(moved)
    return AnchorCheck(len(kept.samples), said, compare(kept, fresh))


def _line(found: GraderComparison, drifted: bool, say: Phrases) -> str:
    passes = found.passes
    return say(
        "anchors.grader",
        grader=say.named("graders", found.grader),
        rows=found.coverage.scored,
        then=passes.only_baseline,
        now=passes.only_candidate,
        p=say.written(f"{passes.p_value:.2g}"),
        change=difference_words(found.paired, say),
        p_of_mean=say.written(f"{found.paired.significance.p_value:.2g}"),
        verdict=say("anchors.drifted" if drifted else "anchors.no_drift"),
    )
