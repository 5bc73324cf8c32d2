"""How narrow is a mean over all rows, of which a dear judge graded 200 and the free one all?

Labels of people stand for the dear judge, statements for rows. The embedded judge is trained
without the set that it is measured on. Prints the Markdown table of docs/how-many.md:

    python tests/benchmarks/sampled_judge.py DATA_DIR --draws 1000
"""

import argparse
import random
import sys
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rag_evals.run.plan.sampling import SampledMean
from rag_evals.stats import mean_interval
from tests.benchmarks.tuned_judges import Labelled, labelled_sets


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=200)
    options = parser.parse_args()
    size = options.sample
    head = f"| set | rows | {size} grades alone: width | holds the mean |"
    print(f"{head} with the free judge: width | holds the mean | each grade is worth | left out |")
    print("|---|---|---|---|---|---|---|---|")
    for data in labelled_sets(options.data):
        if len(data.labels) >= 2 * size:
            print(_line(data, size, options.draws), flush=True)


def _line(data: Labelled, size: int, draws: int) -> str:
    """Draw samples, and say how wide the intervals are and how often they hold the mean."""
    rng = random.Random(0)
    truth = fmean(data.labels)
    free = [_record(row, support) for row, support in enumerate(data.supports)]
    alone, together, held_alone, held, worth, left_out = [], [], 0, 0, [], 0
    for _ in range(draws):
        chosen = rng.sample(range(len(free)), size)
        dear = [_record(row, data.labels[row]) for row in chosen]
        both = SampledMean(dear, free, "people", "embedded")
        corrected, shown = both.corrected(), both.interval()
        assert corrected is not None
        assert shown is not None
        plain = mean_interval([float(data.labels[row]) for row in chosen])
        alone.append(plain.width)
        together.append(shown.width)
        held_alone += plain.contains(truth)
        held += shown.contains(truth)
        worth.append(corrected.effective_labels / corrected.labels)
        left_out += shown.width == plain.width
    used = f"{fmean(worth):.2f} | {left_out / draws:.0%}"
    return (
        f"| {data.name} | {len(free)} | {fmean(alone):.3f} | {held_alone / draws:.1%} | "
        f"{fmean(together):.3f} | {held / draws:.1%} | {used} |"
    )


def _record(row: int, score: float) -> dict[str, object]:
    return {"sample_id": str(row), "score": float(score)}


if __name__ == "__main__":
    main()
