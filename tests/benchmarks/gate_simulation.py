"""How often is a gate wrong, and how many rows does it take?

Run by hand: `python -m tests.benchmarks.gate_simulation [SIMULATIONS]`. Prints a table for each way
to ask: rows of a data set drawn until it is decided, rows like these looked at every 20 rows, and
rows of documents that are alike.
"""

import random
import sys
from statistics import median

from rag_evals.stats import SequentialGate, gate_test

GATE = 0.85
ROWS = 1000
DISTANCES = (-0.10, -0.05, -0.03, -0.01, 0.01, 0.03, 0.05, 0.10)


def graded_rows(rng: random.Random, mean: float, rows: int, *, clusters: int = 1) -> list[float]:
    """Draw scores of answers of one to eight statements, alike within `clusters` rows."""
    scores: list[float] = []
    while len(scores) < rows:
        rate = rng.betavariate(4 * mean, 4 * (1 - mean))
        for _ in range(clusters):
            statements = rng.randint(1, 8)
            scores.append(sum(rng.random() < rate for _ in range(statements)) / statements)
    return scores[:rows]


def yes_no_rows(rng: random.Random, mean: float, rows: int) -> list[float]:
    """Draw rows of which exactly the share `mean` is right."""
    right = round(mean * rows)
    scores = [1.0] * right + [0.0] * (rows - right)
    rng.shuffle(scores)
    return scores


def drawn(scores: list[float], gate: float) -> tuple[str, int]:
    """Draw the rows of a data set until the gate is decided."""
    watch = SequentialGate(gate, len(scores))
    for used, score in enumerate(scores, 1):
        watch.add(score)
        if watch.verdict != "not decided":
            return watch.verdict, used
    return watch.verdict, len(scores)


def looked_at(scores: list[float], gate: float, size: int) -> tuple[str, int]:
    """Ask after every 20 clusters whether all rows like these reach the gate."""
    step = 20 * size
    for used in range(step, len(scores) + 1, step):
        clusters = None if size == 1 else [row // size for row in range(used)]
        verdict = gate_test(scores[:used], gate, clusters=clusters).verdict
        if verdict != "not decided":
            return verdict, used
    return "not decided", len(scores)


def main() -> None:
    """Print how often each way is wrong, and the median of the rows."""
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| rows | distance | wrong | not decided | median rows |\n|---|---|---|---|---|")
    for distance in DISTANCES:
        for name in ("drawn, yes/no", "drawn, graded", "looked at", "looked at, documents of 5"):
            rng = random.Random(f"{name} {distance}")
            wrong, open_, used = 0, 0, []
            # Looking asks all rows again each time.
            rounds = simulations if name.startswith("drawn") else simulations // 10
            for _ in range(rounds):
                mean = GATE + distance
                if name == "drawn, yes/no":
                    verdict, rows = drawn(yes_no_rows(rng, mean, ROWS), GATE)
                elif name == "drawn, graded":
                    scores = graded_rows(rng, mean, ROWS)
                    # The gate is as far from this data set's own mean.
                    verdict, rows = drawn(scores, sum(scores) / ROWS - distance)
                else:
                    size = 5 if name.endswith("5") else 1
                    scores = graded_rows(rng, mean, ROWS, clusters=size)
                    verdict, rows = looked_at(scores, GATE, size)
                wrong += verdict == ("passed" if distance < 0 else "failed")
                open_ += verdict == "not decided"
                used.append(rows)
            share = f"{100 * wrong / rounds:.1f} % of {rounds}"
            cells = (name, f"{distance:+.2f}", share, f"{100 * open_ / rounds:.0f} %")
            print(f"| {' | '.join(cells)} | {median(used):.0f} |", flush=True)


if __name__ == "__main__":
    main()
