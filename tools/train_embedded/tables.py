"""Feature tables, made by the shipped engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag_evals.embedded.decide import cited_chunks, compare_with, evidence_for
from rag_evals.embedded.model import FEATURES, Model, features
from rag_evals.embedded.passage import read_chunk
from tools.train_embedded.rows import Labelled

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """The readings of a source's statements; a statement counts by its best reading.

    Attributes:
        features: One row for each reading.
        starts: The first reading of each statement; it has at least one.
        labels: One for each statement, 1 supported.
        cited: Chunk ids of each reading's evidence, best first.
        gold: Chunk ids that support each statement; empty if unknown or if there is one chunk only.
    """

    features: Array
    starts: npt.NDArray[np.intp]
    labels: Array
    cited: Sequence[tuple[int, ...]]
    gold: Sequence[tuple[int, ...]]

    def best_rows(self, scores: Array) -> npt.NDArray[np.intp]:
        """Return the row of each statement's best reading, the first of equal ones."""
        ends = np.append(self.starts[1:], len(scores))
        counts = ends - self.starts
        owner = np.repeat(np.arange(len(self.starts)), counts)
        order = np.lexsort((np.arange(len(scores)), -scores, owner))
        return np.asarray(order[self.starts], dtype=np.intp)

    def first(self, count: int) -> "Table":
        count = min(count, len(self.labels))
        end = self.starts[count] if count < len(self.starts) else len(self.features)
        return Table(
            self.features[:end],
            self.starts[:count],
            self.labels[:count],
            self.cited[:end],
            self.gold[:count],
        )

    def without(self, place: int) -> "Table":
        """Return the table with all values of one feature set to 0."""
        blank = self.features.copy()
        blank[:, place] = 0.0
        return replace(self, features=blank)

    def gold_hits(self, supports: Array) -> tuple[int, int]:
        """Count the supported statements that cite a gold chunk, and those that could."""
        hits = total = 0
        ends = [*self.starts[1:], len(supports)]
        for start, end, gold, label in zip(self.starts, ends, self.gold, self.labels, strict=True):
            if gold and label:
                readings = list(zip(self.cited[start:end], supports[start:end], strict=True))
                total += 1
                hits += bool(set(gold) & set(cited_chunks(readings)))
        return hits, total


def see(statements: Sequence[Labelled], model: Model) -> Table:
    values: list[list[float]] = []
    starts: list[int] = []
    cited: list[tuple[int, ...]] = []
    for item in statements:
        starts.append(len(values))
        chunks = [read_chunk(chunk) for chunk in item.chunks]
        found = list(compare_with(model, item.text, chunks))
        values.extend(map(features, found))
        cited.extend(tuple([one.chunk_id for one in evidence_for(each)]) for each in found)
        if not found:
            values.append([0.0] * len(FEATURES))
            cited.append(())
    return Table(
        np.array(values, dtype=np.float64).reshape(-1, len(FEATURES)),
        np.array(starts, dtype=np.intp),
        np.array([item.label for item in statements], dtype=np.float64),
        cited,
        [item.gold_chunks if len(item.chunks) > 1 else () for item in statements],
    )
