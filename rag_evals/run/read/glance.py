"""The numbers and the worst rows of a large run, from its index alone, in about a second.

The index of a finished run is taken at its word where it covers the files as long as they are; it
is not summed up and checked against their hashes, as a reader of all outcomes does.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Self

from rag_evals.run.read.run import Run
from rag_evals.run.record.index import INDEX, RESULTS, STATUSES, RunIndex
from rag_evals.run.record.reading import LogFile
from rag_evals.run.record.samples import SAMPLES
from rag_evals.run.record.store import read_manifest


class ScoreCount(NamedTuple):
    """How many outcomes of a grader ended alike."""

    grader: str
    status: str
    score: float | None
    why: str | None
    rows: int


class RunGlance:
    """A look at a run folder."""

    def __init__(self, folder: Path, counts: Sequence[ScoreCount]) -> None:
        self.folder = folder
        self.counts = counts

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Look at a folder; None where only a reader of the log can say what counts.

        That is a run that is not finished, one whose rows were graded twice, and one whose index is
        missing or behind.
        """
        manifest = read_manifest(folder)
        names = manifest.get("identity", {}).get("graders", {})
        try:
            with closing(_read_only(folder)) as database:
                covered = dict(database.execute("SELECT file, size FROM covered").fetchall())
                ((samples,),) = database.execute("SELECT COUNT(*) FROM sample")
                counts = [
                    ScoreCount(grader, STATUSES[status], score, why, count)
                    for grader, status, score, why, count in database.execute(RunIndex.COUNTED)
                ]
        except sqlite3.Error:
            return None
        sizes = {
            name: (folder / name).stat().st_size if (folder / name).exists() else 0
            for name in (RESULTS, SAMPLES)
        }
        total = sum(one.rows for one in counts)
        is_whole = manifest.get("finished") and total == samples * len(names)
        return cls(folder, counts) if is_whole and covered == sizes else None

    @property
    def total(self) -> int:
        """Outcomes, scored or not."""
        return sum(one.rows for one in self.counts)

    def worst(self, most: int, begin: int = 0) -> Run:
        """Return a run of some of its rows: failed ones, then the lowest scores."""
        with closing(_read_only(self.folder)) as database:
            lines = database.execute(RunIndex.WORST, (most, begin)).fetchall()
            marks = ",".join("?" * len(lines))
            places = database.execute(
                f"SELECT MAX(place) FROM sample WHERE sample IN ({marks}) GROUP BY sample",
                [sample for _, sample in lines],
            ).fetchall()
        results, samples = LogFile(self.folder / RESULTS), LogFile(self.folder / SAMPLES)
        found = [samples.sample(place) for (place,) in places]
        return Run(
            [results.outcome(place) for place, _ in lines],
            folder=self.folder,
            manifest=read_manifest(self.folder),
            samples={sample.sample_id: sample for sample in found},
        )


def _read_only(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{(folder / INDEX).absolute().as_uri()}?mode=ro", uri=True)
