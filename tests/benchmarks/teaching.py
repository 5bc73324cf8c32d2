"""How often is a rule proved, how often chance, and is the interval of the gain right?

    python -m tests.benchmarks.teaching [DATA_DIR]

With a folder of labelled sets: how many of 16 % flipped labels are in the first fifth of the
suspicious ones, the embedded judge being the judge.

Simulated judges and 50 labels: of every row the judge says the wrong thing in 5 %, and the rule
concerns some rows. Shown one example of the rule, the judge follows it, but for 2 % of its answers.
"""

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rag_evals import evaluate
from rag_evals.analysis import suspicious_labels
from rag_evals.analysis.teaching import SIZES, AskJudge, LabelledRow, learn
from rag_evals.stats import Interval


def simulated(
    seed: int, *, share: float, is_random: bool = False, a_question: int = 1
) -> tuple[list[LabelledRow], AskJudge]:
    """Draw 50 labelled rows, and the judge of them.

    Args:
        seed: Same seed, same rows.
        share: Share of rows that the rule concerns.
        is_random: Labels follow nothing.
        a_question: Rows of each question.
    """
    draw = random.Random(seed)
    rows, concerned = [], {}
    for number in range(50):
        ruled, fair = draw.random() < share, draw.random() < 0.5
        judged = (ruled or fair) is not (draw.random() < 0.05)
        label = draw.random() < 0.5 if is_random else fair and not ruled
        words = f"{'price without tax' if ruled else 'opening hours'} {draw.random()}"
        name, question = f"r{number}", f"q{number // a_question}"
        rows.append(LabelledRow(name, question, label, judged, {"answer": words}))
        concerned[name] = ruled

    def ask(examples: Sequence[LabelledRow], tested: Sequence[LabelledRow]) -> list[bool]:
        knows = any(concerned[one.id] and not one.label for one in examples)
        said = [one.judged and not (knows and concerned[one.id]) for one in tested]
        return [one is not (draw.random() < 0.02) for one in said]

    return rows, ask


def gain(
    seed: int, *, share: float = 0.35, is_random: bool = False, a_question: int = 1
) -> Interval:
    """Return the gain of one draw."""
    rows, ask = simulated(seed, share=share, is_random=is_random, a_question=a_question)
    return learn(rows, ask, sizes=SIZES)[1]


def found_flips(path: Path, draws: int = 20) -> float:
    """Return the share of flipped labels in the first fifth, mean over draws."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    rows = [row for row in map(json.loads, lines) if row.get("statements")]
    random.Random(0).shuffle(rows)
    while sum(len(row["statements"]) for row in rows) > 1_200:
        rows.pop()
    with tempfile.TemporaryDirectory() as folder:
        units = [
            {"id": f"{n}-{m}", "context": row["context"], "answer": one["text"],
             "label": int(one["label"])}
            for n, row in enumerate(rows)
            for m, one in enumerate(row["statements"])
        ]  # fmt: skip
        unlabelled = [{k: v for k, v in unit.items() if k != "label"} for unit in units]
        run = evaluate(unlabelled, client="embedded", progress=False)
        shares = []
        for seed in range(draws):
            flipped = set(random.Random(seed).sample(range(len(units)), round(0.16 * len(units))))
            file = Path(folder) / f"{seed}.jsonl"
            file.write_text("\n".join(
                json.dumps({"id": unit["id"], "label": unit["label"] ^ (n in flipped)})
                for n, unit in enumerate(units)
            ))  # fmt: skip
            listed = suspicious_labels(run, file)
            first = {one.sample_id for one in listed[: len(listed) // 5]}
            shares.append(fmean(units[n]["id"] in first for n in flipped))
    return fmean(shares)


def main() -> None:
    """Print every figure."""
    for folder in sys.argv[1:]:
        for name in ("lfqa", "factscore"):
            share = found_flips(Path(folder) / f"{name}.jsonl.gz", draws=5)
            print(f"{name}: {share:.0%} of the flipped labels are in the first fifth", flush=True)
    for share in (0.35, 0.2):
        proved = sum(gain(seed, share=share).low > 0 for seed in range(200))
        print(f"a rule that concerns {share:.0%} of the rows: proved in {proved} of 200 draws")
    chance = sum(gain(seed, is_random=True).low > 0 for seed in range(200))
    print(f"random labels: proved in {chance} of 200 draws")
    for a_question in (1, 2):
        drawn = [gain(seed, a_question=a_question) for seed in range(2_000)]
        truth = fmean(one.estimate for one in drawn)
        covered = fmean(one.low <= truth <= one.high for one in drawn)
        print(f"{a_question} rows a question: the interval covers {truth:.3f} in {covered:.1%}")


if __name__ == "__main__":
    main()
