"""How does a run become one HTML file? A template, the page's own style and script, and the rows.

Everything from data is escaped by the template or written by the script as text. The content
security policy allows this script and this style, by their hashes, and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from rag_evals.analysis import (
    Comparison,
    RunInput,
    detectable_words,
    difference_words,
    group_verdict_words,
    interval_words,
    p_words,
    verdict_words,
)
from rag_evals.core import Phrases, fingerprint, private_file
from rag_evals.errors import ConfigurationError
from rag_evals.report.numbers import GraderNumbers, View, grader_numbers, usage_of
from rag_evals.report.page.charts import histogram, interval_bar, position_use, positions_chart
from rag_evals.report.page.page_data import PageData
from rag_evals.report.tables import group_cells
from rag_evals.run import Run, collector_paused, load_run
from rag_evals.stats import DEFAULT_BANDS, Band


@collector_paused()
def report_html(
    run: RunInput,
    *,
    view: View | None = None,
    only: Iterable[tuple[str, str]] | None = None,
    labelling: bool = False,
) -> str:
    """Make the report of a run.

    Args:
        run: A run folder, or a run in memory; the latter has no questions, answers and chunks.
        view: Groups, clusters and bands; None takes the defaults.
        only: The (sample id, grader) pairs to show as rows; None shows all. The numbers on top are
            those of the whole run.
        labelling: Whether the page opens for labelling.

    Raises:
        DataError: The folder holds no run, or a column is not in the data.
    """
    stored, view = load_run(run), view or View()
    cards = [_card(stored, numbers, view) for numbers in grader_numbers(stored, view)]
    settings = {"sides": [_name(stored, view.say)], "labelling": labelling, "key": _key(stored)}
    return _rendered(
        PageData([stored], _settings(view) | settings, view.say, only),
        title=view.say("page.title", run=_name(stored, view.say)),
        cards=cards,
        facts=[_facts(stored, view.say)],
        labelling=labelling,
        view=view,
    )


@collector_paused()
def comparison_html(
    comparison: Comparison, baseline: RunInput, candidate: RunInput, *, view: View | None = None
) -> str:
    """Make a page that shows two runs side by side.

    Args:
        comparison: What `compare` found.
        baseline: The first run.
        candidate: The second run.
        view: Bands; None takes the defaults.
    """
    runs, view = [load_run(baseline), load_run(candidate)], view or View()
    say = view.say
    settings = {
        "sides": [say("compare.name_of_baseline"), say("compare.name_of_candidate")],
        "labelling": False,
        "key": "+".join(map(_key, runs)),
    }
    return _rendered(
        PageData(runs, _settings(view) | settings, view.say),
        title=say("compare.title", baseline=comparison.baseline, candidate=comparison.candidate),
        comparison=comparison,
        verdicts=[
            (grader, verdict_words(grader, say), p_words(grader, len(comparison.graders), say))
            for grader in comparison.graders
        ],
        detectable=partial(detectable_words, say=say),
        difference=partial(difference_words, say=say),
        interval=partial(interval_words, say=say),
        group_verdict=partial(group_verdict_words, say=say),
        facts=[_facts(run, view.say) for run in runs],
        view=view,
    )


def write_private(path: str | Path, text: str) -> Path:
    """Write a file that only its owner can read: it holds a user's data.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    path = Path(path)
    with private_file(path) as file:
        file.write(text.encode("utf-8"))
    return path


def write_report(
    run: RunInput,
    path: str | Path | None = None,
    *,
    by: str | None = None,
    cluster: str | None = None,
    bands: Sequence[Band] | None = None,
    language: str = "en",
) -> Path:
    """Write the report of a run as one HTML file that needs nothing else.

    Args:
        run: A run folder, or a run in memory.
        path: Where to write it; None takes `report.html` in the run's folder.
        by: Column of the data to show groups by.
        cluster: Column that rows which are not independent share.
        bands: Names and limits; None takes high, good, medium and low.
        language: Of all that is shown: "en" or "ru".

    Returns:
        Where it was written.

    Raises:
        DataError: The folder holds no run, or a column is not in the data.
        ConfigurationError: No path for a run in memory, or the file cannot be written.
    """
    stored = load_run(run)
    if path is None and stored.folder is None:
        raise ConfigurationError("a run in memory has no folder; say where to write the report")
    view = View(by, cluster, DEFAULT_BANDS if bands is None else bands, language)
    target = Path(path) if path is not None else (stored.folder or Path()) / "report.html"
    return write_private(target, report_html(stored, view=view))


def _rendered(page_data: PageData, view: View, **values: Any) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    return str(
        _template().render(
            rows=page_data.rows,
            chunks=page_data.chunks,
            style=style,
            script=script,
            view=view,
            say=view.say,
            cells=group_cells,
            band_meanings=_band_meanings(view),
            policy=(
                f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
                "img-src data:; base-uri 'none'; form-action 'none'"
            ),
            **values,
        )
    )


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only a report needs it
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # What our own files hold is markup; all else is escaped.
    environment.filters["ours"] = Markup
    return environment.from_string(_asset("page.html.jinja"))


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _card(run: Run, numbers: GraderNumbers, view: View) -> dict[str, Any]:
    uses = position_use(run, run.of_grader(numbers.grader))
    return {
        "numbers": numbers,
        "line": None if numbers.mean is None else interval_bar(numbers.mean, view),
        "histogram": histogram(numbers.scores, view) if numbers.scores else None,
        "positions": positions_chart(uses, view.say) if uses else None,
    }


def _settings(view: View) -> dict[str, Any]:
    """Return what the page's script needs to speak the reader's language."""
    return {
        "language": view.language,
        "bands": [
            [band.label(view.language), band.lower, band.meaning(view.language)]
            for band in view.bands
        ],
        "phrases": view.say.section("script"),
        "reasons": view.say.section("reasons"),
        "titles": view.say.section("graders"),
    }


def _band_meanings(view: View) -> list[tuple[str, str]]:
    """Say of each band where it lies and what it means; of bands without a meaning, nothing."""
    upper, meanings = 1.0, []
    for band in view.bands:
        if (meaning := band.meaning(view.language)) is not None:
            low, high = f"{band.lower * 100:g}", f"{upper * 100:g}"
            said = view.say("page.meaning", low=low, high=high, meaning=meaning)
            meanings.append((band.label(view.language), said))
        upper = band.lower
    return meanings


def _facts(run: Run, say: Phrases) -> dict[str, Any]:
    """List what a reader may want to know of a run: settings, fingerprints, cost and time."""
    facts: dict[str, Any] = {"run": _name(run, say)}
    if notes := run.notes(say=say):
        facts["note"] = "; ".join(notes)
    for name in ("created", "finished", "rag_evals", "rows"):
        if run.manifest.get(name) is not None:
            facts["version" if name == "rag_evals" else name] = run.manifest[name]
    for name, value in run.identity.items():
        for inner, text in value.items() if isinstance(value, dict) else [(None, value)]:
            if text not in (None, "", [], {}):
                facts[f"{name}: {inner}" if inner else name] = text
    facts["spent"] = ", ".join(
        f"{value:,g} {say.named('usage', name)}" for name, value in usage_of(run).items()
    )
    return {_fact_name(name, say): value for name, value in facts.items()}


def _fact_name(name: str, say: Phrases) -> str:
    kind, colon, inner = name.partition(": ")
    return f"{say.named('facts', kind)}{colon}{say.named('graders', inner)}"


def _name(run: Run, say: Phrases) -> str:
    return say("page.in_memory") if run.folder is None else run.folder.name or str(run.folder)


def _key(run: Run) -> str:
    """Name the run for the browser's store: labels of another run must not show up in it."""
    return fingerprint(run.identity, run.manifest.get("created"))[:16]
