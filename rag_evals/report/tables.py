"""A run's numbers for pages, as Markdown and as JSON."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from rag_evals.analysis import (
    Comparison,
    RunInput,
)
from rag_evals.core import Finding, Phrases, phrases
from rag_evals.embedded import evidence_words
from rag_evals.report.failures import row_link, worst_records
from rag_evals.run import GraderSummary, Record, Run, findings_in, load_run, reason_of
from rag_evals.run.plan.sampling import SampledMean
from rag_evals.run.record.facts import Size
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
    """One grader's numbers, ready to show."""

    counted: GraderSummary
    mean: Interval | None
    bands: Mapping[str, int]
    clusters: Clusters | None
    sizes: Sequence[Size]
    groups: Sequence[GroupScores] = ()

    @property
    def unscored(self) -> dict[str, int]:
        """Counts of outcomes without a score, by error or reason."""
        return {**self.counted.failed, **self.counted.not_scorable}


def grader_numbers(run: Run, view: View) -> list[GraderNumbers]:
    groups = None if view.by is None else run.column(view.by)
    counted = run.summary(cluster=view.cluster).graders
    return [
        _numbers(counted[grader], run, view, groups) for grader in run.graders if grader in counted
    ]


def _numbers(
    counted: GraderSummary,
    run: Run,
    view: View,
    groups: Mapping[str, str | None] | None,
) -> GraderNumbers:
    labels = {band.name: band.label(view.language, counted.grader) for band in view.bands}
    return GraderNumbers(
        counted,
        counted.interval(),
        {labels[name]: count for name, count in counted.bands(view.bands).items()},
        counted.clusters(),
        counted.sizes(),
        () if groups is None else _groups(run, view, groups, counted),
    )


def _groups(
    run: Run, view: View, groups: Mapping[str, str | None], counted: GraderSummary
) -> list[GroupScores]:
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
    numbers = grader_numbers(stored, view)
    judge, lines = stored.summary().judge, []
    if judge is not None:
        lines += [markdown_text(view.say("summary.judge", judge=judge)), ""]
    lines += _grader_table(numbers, view)
    for each in numbers:
        grader = view.say.named("graders", each.counted.grader)
        lines += [
            line
            for said in numbers_words(each, view)
            for line in ("", markdown_text(f"{grader}: {said}"))
        ]
    lines += _group_tables(numbers, view)
    lines += _worst_rows(stored, view)
    lines += [line for note in stored.notes(say=view.say) for line in ("", markdown_text(note))]
    return "\n".join(lines) + "\n"


def comparison_markdown(comparison: Comparison, *, view: View | None = None) -> str:
    say = (view or View()).say
    names = (
        *("table.grader", "compare.name_of_baseline", "compare.name_of_candidate"),
        *("compare.difference", "table.p", "compare.verdict", "compare.rows"),
    )
    lines = [markdown_row(*map(say, names)), "|---|---|---|---|---|---|---|"]
    for grader in comparison.graders:
        words = grader.words(len(comparison.graders), say)
        shown = (words[name] for name in ("baseline", "candidate", "difference", "p", "verdict"))
        name = say.named("graders", grader.grader)
        lines.append(markdown_row(name, *shown, grader.paired.samples))
        if grader.verdict == "not distinguishable":
            least = say("table.detectable", words=words["detectable"])
            lines += ["", markdown_text(least), ""]
    for grader in comparison.graders:
        name = say.named("graders", grader.grader)
        for size in grader.sizes:
            told = say(
                "compare.a_row",
                grader=name,
                size=say.named("sizes", size.name),
                words=size.words(say),
            )
            lines.append(f"- {markdown_text(told)}")
    lines += [f"- {markdown_text(note)}" for note in comparison.notes(say=say)]
    return "\n".join(lines) + "\n"


def _grader_table(numbers: Sequence[GraderNumbers], view: View) -> Iterator[str]:
    say = view.say
    names = ("grader", "score", "interval", "scored", "not_scored", "bands")
    yield markdown_row(*(say(f"table.{name}") for name in names))
    yield "|---|---|---|---|---|---|"
    for each in numbers:
        mean, worst = each.mean, each.counted.worst_mean()
        failed_as_zero = "" if worst is None else say("table.worst", mean=view.number(worst))
        yield markdown_row(
            say.named("graders", each.counted.grader),
            say("page.no_score")
            if mean is None
            else say(
                "table.mean",
                mean=view.number(mean.estimate),
                percent=f"{say.number(mean.estimate * 100, 1)}%",
                worst=failed_as_zero,
            ),
            _range(mean, view),
            say("table.of", part=each.counted.scored, whole=each.counted.total),
            _unscored(each.unscored, say),
            ", ".join(
                say("table.count", count=count, name=label) for label, count in each.bands.items()
            ),
        )


def _group_tables(numbers: Sequence[GraderNumbers], view: View) -> Iterator[str]:
    say = view.say
    for each in numbers:
        if each.groups:
            names = ("group", "score", "interval", "scored", "not_scored")
            grader = markdown_text(say.named("graders", each.counted.grader))
            yield ""
            yield say("table.by", grader=grader, column=markdown_text(view.by))
            yield ""
            yield markdown_row(*(say(f"table.{name}") for name in names))
            yield "|---|---|---|---|---|"
            yield from (markdown_row(*group_cells(group, view)) for group in each.groups)


def group_cells(group: GroupScores, view: View) -> list[str]:
    mean, say = group.mean, view.say
    return [
        say("table.no_group") if group.group is None else group.group,
        say("page.no_score") if mean is None else view.number(mean.estimate),
        _range(mean, view),
        say("table.of", part=group.scored, whole=group.rows),
        _unscored(group.unscored, say),
    ]


def numbers_words(numbers: GraderNumbers, view: View) -> list[str]:
    say, found = view.say, []
    if numbers.clusters is not None:
        found.append(clusters_words(numbers.clusters, say).lstrip(", "))
    if numbers.sizes:
        sizes = ", ".join(size_words(size, say) for size in numbers.sizes)
        found.append(say("summary.sizes", sizes=sizes).strip())
    return found


def _range(mean: Interval | None, view: View) -> str:
    if mean is None:
        return ""
    return view.say("table.range", low=view.number(mean.low), high=view.number(mean.high))


def _unscored(counts: Mapping[str, int], say: Phrases) -> str:
    return ", ".join(
        say("table.count", count=count, name=say.named("reasons", reason))
        for reason, count in counts.items()
    )


def _why(record: Record, say: Phrases) -> str | None:
    reason = reason_of(record)
    return None if reason is None else say.named("reasons", reason)


def _worst_rows(run: Run, view: View) -> Iterator[str]:
    say = view.say
    worst = worst_records(run, _WORST_ROWS)
    if not worst:
        return
    yield ""
    names = ("row", "grader", "score", "against", "evidence")
    yield markdown_row(*(say(f"table.{name}") for name in names))
    yield "|---|---|---|---|---|"
    for record in worst:
        score = record["score"]
        faults = [one for one in findings_in(record) if one.counts_against]
        chunks = run.chunks(record["sample_id"])
        found = (line for one in faults for line in evidence_words(one, chunks, say))
        shown = (
            _why(record, say)
            if score is None
            else say("terminal.score_cell", score=say.number(score), percent=say.percent(score))
        )
        row = markdown_row(
            record["sample_id"],
            say.named("graders", record["grader"]),
            shown,
            _listed(faults, say),
            "; ".join(found),
        )
        link = row_link(run, record["sample_id"])
        if link and link.startswith("https://"):
            name = markdown_text(record["sample_id"])
            row = row.replace(
                f"| {name} |", f"| [{name}]({_MARKDOWN_IN_URL.sub(_coded, link)}) |", 1
            )
        yield row


_MARKDOWN_IN_URL = re.compile(r"[\s()<>|\\]")


def _coded(sign: re.Match[str]) -> str:
    return quote(sign[0], safe="")


def _listed(findings: Iterable[Finding], say: Phrases) -> str:
    return "; ".join(f"{say.label(one.label)}: {say.text(one.text)}" for one in findings)


def markdown_row(*cells: object) -> str:
    return f"| {' | '.join(markdown_text(cell) for cell in cells)} |"


def markdown_text(value: object) -> str:
    text = " ".join(str(value).split())
    if len(text) > _MAX_CELL_CHARS:
        text = text[: _MAX_CELL_CHARS - 1] + "…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Mentions and links in the data must not be active on a build page.
    text = re.sub(r"([\\`*_{}\[\]|~!#])", r"\\\1", text)
    return text.replace("@", "@\u200b").replace("://", ":\u200b//")
