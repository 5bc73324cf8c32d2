"""Which rows show whether a judge drifts? Anchors: a few rows of a run, graded again with others.

They are kept as a run of their own, with the verdicts that they had: `load_run` reads it.
"""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from rag_evals.core import Chunk, Sample, named_arguments, require_whole
from rag_evals.dataset import NumberedSample
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.run.plan import Plan
from rag_evals.run.run import Run, load_run
from rag_evals.run.samples import StoredSample
from rag_evals.run.store import RunStore, identity_differences, require_empty

DEFAULT_ANCHORS = 50
_FEWEST_ANCHORS = 10
# What must be the same when anchors are graded again. The address may be another: whether the same
# model answers the same there is what anchors can tell.
_INSTRUMENT = ("judge", "graders", "models", "settings", "sources")
_KEPT = (*_INSTRUMENT, "address")


@named_arguments
def keep_anchors(
    run: str | Path | Run, out: str | Path | None = None, *, n: int = DEFAULT_ANCHORS, seed: int = 0
) -> Run:
    """Keep a random set of a run's rows with their verdicts, to be graded again by later runs.

    Args:
        run: A run that has a folder.
        out: Folder to keep them in; None adds `-anchors` to the name of the run's.
        n: How many rows, at least 10; each has a score of every grader.
        seed: Same seed, same rows.

    Returns:
        The anchors: a run of those rows.

    Raises:
        ConfigurationError: Too few rows, a run in memory, or a folder that is not empty.
        DataError: The folder holds no run, or no samples.
    """
    whole = load_run(run)
    if whole.folder is None:
        raise ConfigurationError(
            "anchors are kept of a run that has a folder; grade with out='runs/NAME'"
        )
    chosen = _drawn(whole, n, seed)
    folder = Path(out) if out is not None else whole.folder.with_name(f"{_name(whole)}-anchors")
    require_empty(folder, "name a new folder for the anchors, or use those in it")
    places = {row: place for place, row in enumerate(chosen)}
    with RunStore(folder, _manifest(whole, len(chosen), seed)) as store:
        for row, place in places.items():
            store.samples.keep(_numbered(whole.samples[row], place))
        for record in whole.records:
            if (at := places.get(record["sample_id"])) is not None:
                store.append_line(to_json({**record, "index": at}) + b"\n")
        store.finish(())
    return load_run(folder)


def load_anchors(anchors: str | Path | Run) -> Run:
    """Read anchors.

    Raises:
        ConfigurationError: The folder holds another run: all of its rows would be graded again.
        DataError: The folder holds no run, a broken one, or one without rows or verdicts.
    """
    kept = load_run(anchors)
    if kept.folder is None or "anchors" not in kept.manifest:
        raise ConfigurationError(
            f"{str(kept.folder or 'a run in memory')!r} holds a run, not anchors; keep some of its "
            "rows with `rag-evals anchors RUN`"
        )
    if not kept.samples or not kept.records:
        raise DataError(
            f"{str(kept.folder)!r} has lost its rows or their verdicts; keep new anchors with "
            "`rag-evals anchors RUN`"
        )
    return kept


def anchor_samples(kept: Run) -> list[Sample]:
    """Return the rows of anchors as they are to be graded again."""
    return [_sample(stored) for stored in kept.samples.values()]


def require_same_instrument(kept: Run, plan: Plan) -> None:
    """Refuse to grade anchors in another way than they were graded: that is no drift.

    Raises:
        ConfigurationError: It names what differs.
    """
    before, now = (_instrument(identity) for identity in (kept.identity, plan.identity))
    if told := identity_differences(before, now):
        raise ConfigurationError(
            f"the anchors in {str(kept.folder)!r} were graded in another way: {'; '.join(told)}; "
            "keep new ones of a run that is graded as this one, with `rag-evals anchors RUN`"
        )


def _drawn(whole: Run, n: int, seed: int) -> list[str]:
    """Draw rows that every grader scored, in the order of the data."""
    require_whole("n", n)
    if n < _FEWEST_ANCHORS:
        raise ConfigurationError(
            f"{n} anchors show no drift, whatever the judge does; keep at least {_FEWEST_ANCHORS}"
        )
    scored: dict[str, int] = {}
    for record in whole.records:
        scored[record["sample_id"]] = scored.get(record["sample_id"], 0) + (
            record["score"] is not None
        )
    fit = [row for row, count in scored.items() if count == len(whole.graders)]
    if missing := [row for row in fit if row not in whole.samples]:
        raise DataError(
            f"{str(whole.folder)!r} has no sample of row {missing[0]!r}, so it cannot be graded "
            "again; grade the data anew, with --restart"
        )
    if n > len(fit):
        raise ConfigurationError(
            f"{n} anchors are more than the {len(fit)} rows of {str(whole.folder)!r} that have a "
            "score of every grader"
        )
    drawn = set(random.Random(seed).sample(fit, n))
    return [row for row in fit if row in drawn]


def _name(whole: Run) -> str:
    assert whole.folder is not None, "the caller looked"
    return whole.folder.name or whole.folder.resolve().name


def _manifest(whole: Run, rows: int, seed: int) -> dict[str, Any]:
    kept = {name: whole.identity[name] for name in _KEPT if name in whole.identity}
    identity = {**kept, "data": "rows", "file": None, "columns": {}, "limit": None}
    taken = {"run": str(whole.folder), "rows": rows, "seed": seed}
    left_out = ("identity", "stopped", "merged")
    others = {name: value for name, value in whole.manifest.items() if name not in left_out}
    return {**others, "rows": rows, "identity": identity, "anchors": taken, "finished": None}


def _instrument(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {name: identity[name] for name in _INSTRUMENT if identity.get(name) is not None}


def _numbered(stored: StoredSample, place: int) -> NumberedSample:
    sample = _sample(stored)
    return NumberedSample(place, stored.sample_id, sample, stored.columns, stored.fingerprint)


def _sample(stored: StoredSample) -> Sample:
    return Sample(
        question=stored.question,
        answer=stored.answer,
        context=list(_chunks(stored)),
        reference=stored.reference,
        id=stored.sample_id,
        language=stored.language,
    )


def _chunks(stored: StoredSample) -> Iterator[Chunk]:
    metadata = stored.metadata or ({},) * len(stored.chunks)
    for place, (text, about) in enumerate(zip(stored.chunks, metadata, strict=True)):
        yield Chunk(place, text, about)
