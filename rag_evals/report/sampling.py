"""Which rows should people label? A random sample with all levels of score in proportion."""

import random
from collections.abc import Sequence

from rag_evals.analysis import has_verdicts
from rag_evals.run import Record, Run


def rows_to_label(run: Run, count: int, *, seed: int = 0) -> list[tuple[str, str]]:
    """Draw outcomes to label, each with the same chance, spread evenly over graders and scores.

    Rows are shuffled, sorted by grader and score, and every k-th one is taken from a random start
    (systematic sampling): each row has the same chance, so corrections hold, and low, middle and
    high scores are there in their shares.

    Args:
        run: The run; outcomes without a verdict cannot be labelled and are left out.
        count: How many outcomes; all of them when there are no more.
        seed: Same seed, same rows.

    Returns:
        Sample id and grader of each, in the order of the data.
    """
    records = [r for r in run.records if r["score"] is not None and has_verdicts(r)]
    chosen = _systematic(records, count, random.Random(seed))
    return [(r["sample_id"], r["grader"]) for r in records if id(r) in chosen]


def _systematic(records: Sequence[Record], count: int, rng: random.Random) -> set[int]:
    if count >= len(records):
        return {id(record) for record in records}
    mixed = rng.sample(records, len(records))
    mixed.sort(key=lambda record: (record["grader"], record["score"]))
    step = len(mixed) / count
    start = rng.random() * step
    return {id(mixed[min(int(start + place * step), len(mixed) - 1)]) for place in range(count)}
