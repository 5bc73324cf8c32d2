"""A run's metrics for HTML pages, Markdown and JSON."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from rag_evals.analysis import Comparison, RunInput
from rag_evals.core import Phrases, phrases
from rag_evals.embedded import evidence_words
from rag_evals.report.failures import row_link, worst_records
from rag_evals.run import GraderSummary, Run, findings_in, load_run, reason_of
from rag_evals.run.plan.sampling import SampledMean
from rag_evals.run.record.summary import clusters_words, size_words
from rag_evals.stats import DEFAULT_BANDS, Band, Clusters, Interval, summarize_groups
from rag_evals.stats.bands import GroupScores

_WORST_ROWS = 10
_MAX_CELL_CHARS = 200


@dataclass(frozen=True, slots=True)
class View:
    """How to show a run.

    Attributes:
        by: Column to group rows by, or None.
        cluster: Column shared by rows that are not independent, or None.
        bands: Score bands, from highest to lowest.
        language: Language of the page: "en" or "ru".
    """

    by: str | None = None
    cluster: str | None = None
    bands: Sequence[Band] = DEFAULT_BANDS
    language: str = "en"

    @property
    def say(self) -> Phrases:
        return phrases(self.language)

    def number(self, value: float, digits: int = 3) -> str:
        return self.say.number(value, digits)


@dataclass(frozen=True, slots=True)
class GraderNumbers:
    """One grader's metrics, ready to display."""

    counted: GraderSummary
    mean: Interval | None
    bands: Mapping[str, int]
    clusters: Clusters | None
    sizes: Mapping[str, Interval]
    groups: Sequence[GroupScores] = ()

    @property
    def unscored(self) -> dict[str, int]:
        """Number of outcomes without a score, by error or reason."""
        return {**self.counted.failed, **self.counted.not_scorable}


def grader_numbers(run: Run, view: View) -> list[GraderNumbers]:
    groups = None if view.by is None else run.column(view.by)
    counted = run.summary(cluster=view.cluster).graders
    numbers = []
    for one in (counted[grader] for grader in run.graders if grader in counted):
        bands = one.labelled_bands(view.say, view.bands)
        by_group = () if groups is None else _groups(run, view, groups, one)
        found = (one.interval(), bands, one.clusters(), one.sizes(), by_group)
        numbers.append(GraderNumbers(one, *found))
    return numbers


def _groups(
    run: Run, view: View, groups: Mapping[str, str | None], counted: GraderSummary
) -> Sequence[GroupScores]:
    design, rows = counted.design, list(run.scored_rows(counted.grader))
    _, shared = run.shared(cluster=view.cluster)
    found = summarize_groups(
        [row.score for row in rows],
        [groups.get(row.sample_id) for row in rows],
        reasons=[row.reason for row in rows],
        clusters=[shared.get(row.sample_id) for row in rows] if shared else None,
        bands=view.bands,
    )
    if not isinstance(design, SampledMean):
        return found
    # The cheap judge's scores also contribute to a group's mean.
    members: defaultdict[str | None, set[str]] = defaultdict(set)
    for row, group in groups.items():
        members[group].add(row)
    return [replace(group, mean=design.of_rows(members[group.group]).interval()) for group in found]


def report_markdown(run: RunInput, *, view: View | None = None) -> str:
    stored, view = load_run(run), view or View()
    return str(
        template("report.md.jinja").render(
            view=view,
            say=view.say,
            judge=stored.summary().judge,
            numbers=grader_numbers(stored, view),
            worst_rows=list(_worst_rows(stored, view.say)),
            notes=stored.notes(say=view.say),
            words=numbers_words,
            cells=group_cells,
            range_words=_range_words,
            count_words=_count_words,
        )
    )


def comparison_markdown(comparison: Comparison, *, view: View | None = None) -> str:
    say = (view or View()).say
    return str(template("comparison.md.jinja").render(comparison=comparison, say=say))


@cache
def template(name: str) -> Any:
    """Load an HTML or Markdown template that escapes all values for its format."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only a report needs it
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    def finalize(value: object) -> object:
        return value if isinstance(value, Markup) else Markup(markdown_text(value))

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize if name.endswith(".md.jinja") else None,
    )
    # Only this package's files are treated as markup; everything else is escaped.
    environment.filters["ours"] = Markup
    return environment.from_string(asset(name))


@cache
def asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def group_cells(group: GroupScores, view: View) -> list[str]:
    mean, say = group.mean, view.say
    return [
        say("table.no_group") if group.group is None else group.group,
        say("page.no_score") if mean is None else view.number(mean.estimate),
        _range_words(mean, view),
        say("table.of", part=group.scored, whole=group.rows),
        _count_words(group.unscored, say),
    ]


def numbers_words(numbers: GraderNumbers, view: View) -> list[str]:
    say, found = view.say, []
    if numbers.clusters is not None:
        found.append(clusters_words(numbers.clusters, say).lstrip(", "))
    if numbers.sizes:
        sizes = ", ".join(size_words(*size, say) for size in numbers.sizes.items())
        found.append(say("summary.sizes", sizes=sizes).strip())
    return found


def _range_words(mean: Interval | None, view: View) -> str:
    if mean is None:
        return ""
    return view.say("table.range", low=view.number(mean.low), high=view.number(mean.high))


def _count_words(counts: Mapping[str, int], say: Phrases) -> str:
    return ", ".join(
        say("table.count", count=count, name=say.named("reasons", reason))
        for reason, count in counts.items()
    )


def _worst_rows(run: Run, say: Phrases) -> Iterator[dict[str, Any]]:
    for record in worst_records(run, _WORST_ROWS):
        sample_id, score, reason = record["sample_id"], record["score"], reason_of(record)
        faults = [one for one in findings_in(record) if one.counts_against]
        chunks = run.chunks(sample_id)
        found = (line for one in faults for line in evidence_words(one, chunks, say))
        shown = None if reason is None else say.named("reasons", reason)
        if score is not None:
            shown = say("terminal.score_cell", score=say.number(score), percent=say.percent(score))
        link = row_link(run, sample_id) or ""
        yield {
            "id": sample_id,
            "grader": record["grader"],
            "score": shown,
            "against": "; ".join(f"{say.label(one.label)}: {say.text(one.text)}" for one in faults),
            "evidence": "; ".join(found),
            # A link to a local file would not work on a build page.
            "link": link.startswith("https://")
            and re.sub(r"[\s()<>|\\]", lambda sign: quote(sign[0], safe=""), link),
        }


def markdown_text(value: object) -> str:
    text = " ".join(str(value).split())
    if len(text) > _MAX_CELL_CHARS:
        text = text[: _MAX_CELL_CHARS - 1] + "…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Mentions and links in the data must not be active on a build page.
    text = re.sub(r"([\\`*_{}\[\]|~!#])", r"\\\1", text)
    return text.replace("@", "@\u200b").replace("://", ":\u200b//")
