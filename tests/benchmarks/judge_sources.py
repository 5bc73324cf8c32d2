"""How good is the embedded judge on sources that chose nothing of it?

python -m tests.benchmarks.judge_sources DATA_DIR [--weights FOLDER] [--fresh ABC]

The folder holds labelled rows as for the training command. Every figure of a source comes from a
limit chosen on all other sources, and with `--weights` from weights fitted without it (the training
command writes them: `--each FOLDER`). Intervals are of 95 % over questions, not over rows.
`--fresh` counts the cases of `tests/data/fresh_cases.jsonl` that are decided right, an answer by
its weakest statement: half A may be looked at while the judge is built, half B is only counted,
C is the later set.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rag_evals.embedded import EmbeddedVerifier
from tools.train_embedded import figures
from tools.train_embedded.cases import claims_of, half_of, verify_answer
from tools.train_embedded.figures import Array
from tools.train_embedded.measured import choose_limit, score_answers
from tools.train_embedded.rows import SINGLE_CLAIMS, read_rows, read_statements

_FRESH = Path(__file__).parents[1] / "data" / "fresh_cases.jsonl"
_DRAWS = 400

Groups = Mapping[str, tuple[Array, Array, Sequence[str]]]


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--weights", type=Path, help="folder of weights, a file a left-out source")
    parser.add_argument("--fresh", choices=("A", "B", "C", "AB", "ABC"))
    options = parser.parse_args()
    if options.data is not None:
        verifiers = defaultdict(EmbeddedVerifier)
        for path in sorted(options.weights.glob("*.json")) if options.weights else ():
            verifiers[path.stem] = EmbeddedVerifier(weights=path)
        statements: dict[str, tuple[Array, Array, Sequence[str]]] = {}
        for name, items in read_statements(options.data).items():
            scores = [verifiers[name].verify([one.text], one.chunks)[0].support for one in items]
            labels = np.array([one.label for one in items], dtype=np.float64)
            groups = [one.question or one.row_id for one in items]
            statements[name] = labels, np.array(scores), groups
        print_sources("statements", statements)
        answers: dict[str, tuple[Array, Array, Sequence[str]]] = {}
        for name, rows in read_rows(options.data).items():
            if name not in SINGLE_CLAIMS:
                claiming = [row for row in rows if claims_of(row["answer"])]
                labels, weakest, _ = score_answers(verifiers[name], claiming)
                groups = [str(row.get("question") or row["id"]) for row in claiming]
                answers[name] = labels, weakest, groups
        print_sources("answers", answers)
    for half in options.fresh or "":
        print_fresh(half)


def print_sources(kind: str, scored: Groups) -> None:
    """Print one line a source, with limits chosen on the others, and the means."""
    known = {name: (labels, scores) for name, (labels, scores, _) in scored.items()}
    print(f"\n{kind:<14}{'rows':>6}{'% ok':>6}{'limit':>7}{'BA':>7}{'AUROC':>7}{'ECE':>7}", end="")
    print("  BA and AUROC, 95 % over questions")
    found = []
    for name, (labels, scores, groups) in scored.items():
        if not 0 < labels.mean() < 1:
            continue
        limit = choose_limit({key: value for key, value in known.items() if key != name})
        row = _figures(labels, scores, limit)
        found.append(row)
        low, high = _interval(labels, scores, groups, limit)
        print(f"{name:<14}{len(labels):>6}{100 * labels.mean():>6.0f}{limit:>7.2f}", end="")
        print(f"{row[0]:>7.1f}{row[1]:>7.1f}{row[2]:>7.3f}", end="")
        print(f"  {low[0]:.1f}-{high[0]:.1f}, {low[1]:.1f}-{high[1]:.1f}")
    mean, worst = np.mean(found, axis=0), max(row[2] for row in found)
    print(f"{'mean':<14}{'':>19}{mean[0]:>7.1f}{mean[1]:>7.1f}{mean[2]:>7.3f}", end="")
    print(f"  largest ECE {worst:.3f}; limit of all {choose_limit(known)}")


def print_fresh(half: str) -> None:
    """Print how many fresh cases of a half are decided right, and those of half A that are not."""
    right: dict[str, list[bool]] = {}
    verifier = EmbeddedVerifier()
    for line in _FRESH.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if half_of(case["id"]) != half:
            continue
        found = verify_answer(verifier, case["answer"], case["context"], case["question"])
        support = verifier.answer_support([verdict.support for _, verdict in found])
        is_right = (support >= 0.5) == bool(case["label"])
        kinds = [case["id"].split("-")[0], *([case["kind"]] if half == "A" else [])]
        for kind in dict.fromkeys(kinds):
            right.setdefault(kind, []).append(is_right)
        if half == "A" and not is_right:
            print(f"  {case['label']} {case['id']} {case['context']}", end="")
            print(f" | {case['question']} | {case['answer']}")
            for _, verdict in found:
                print(f"      {verdict.support:.2f} {verdict.reason}")
    for kind, decided in right.items():
        share = 100 * sum(decided) / len(decided)
        print(f"fresh cases, half {half}, {kind}: {sum(decided)} of {len(decided)} ({share:.0f} %)")


def _figures(labels: Array, scores: Array, limit: float) -> tuple[float, float, float]:
    return (
        100 * figures.balanced_accuracy(labels, scores, limit),
        100 * figures.auroc(labels, scores),
        figures.calibration_error(labels, scores),
    )


def _interval(
    labels: Array, scores: Array, groups: Sequence[str], limit: float
) -> tuple[Array, Array]:
    places: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    draw, members = random.Random(0), list(places.values())
    drawn: list[tuple[float, float]] = []
    while len(drawn) < _DRAWS:
        chosen = np.array([place for _ in members for place in draw.choice(members)])
        if 0 < labels[chosen].mean() < 1:
            drawn.append(_figures(labels[chosen], scores[chosen], limit)[:2])
    low, high = np.percentile(np.array(drawn), (2.5, 97.5), axis=0)
    return low, high


if __name__ == "__main__":
    main()
