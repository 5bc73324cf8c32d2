"""How often may a verdict be shared? The guard on the labelled pairs, and vectors without it.

    python tools/measure_guard.py [EMBEDDER]

EMBEDDER is a name such as `local:FOLDER` or `openai/text-embedding-3-small`; without one only the
guard is measured.
"""

import csv
import os
import sys
from collections import Counter
from pathlib import Path

from rag_evals import TwoStepFaithfulness, evaluate
from rag_evals.cache import Embedder, SemanticCache, embedder_from_string, may_share_verdict
from rag_evals.cache.semantic import cosine, pack_vector
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.testing import ScriptedJudge
from rag_evals.verify import LLMVerifier

PAIRS = Path(__file__).parent.parent / "tests" / "data" / "statement_pairs.tsv"
THRESHOLDS = (0.80, 0.85, 0.90, 0.95)


def main() -> None:
    """Print true-hit rates and false hits."""
    with PAIRS.open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    allowed = [may_share_verdict(pair["a"], pair["b"]) for pair in pairs]
    labels = [pair["label"] == "same" for pair in pairs]
    print(f"{sum(labels)} paraphrases, {len(labels) - sum(labels)} near-misses")
    show("guard alone", allowed, labels)
    kinds = Counter(pair["kind"] for pair, same in zip(pairs, labels, strict=True) if same)
    for kind, count in kinds.items():
        hits = sum(
            hit and same and pair["kind"] == kind
            for pair, hit, same in zip(pairs, allowed, labels, strict=True)
        )
        print(f"  {kind}: {hits} of {count}")
    strangers = [pair["kind"] == "unseen" for pair in pairs]
    for name, wanted in (("own", False), ("others'", True)):
        chosen = [
            (hit, same)
            for hit, same, stranger in zip(allowed, labels, strangers, strict=True)
            if stranger is wanted
        ]
        show(f"guard alone, {name} pairs", *(list(part) for part in zip(*chosen, strict=True)))
    if len(sys.argv) > 1:
        embedder = embedder_from_string(sys.argv[1])
        vectors = embedder.embed([pair[side] for pair in pairs for side in ("a", "b")])
        packed = [pack_vector(vector) for vector in vectors]
        similar = [cosine(packed[n], packed[n + 1]) for n in range(0, len(packed), 2)]
        for threshold in THRESHOLDS:
            near = [one >= threshold for one in similar]
            show(f"cosine {threshold:.2f} alone", near, labels)
            both = [one and other for one, other in zip(near, allowed, strict=True)]
            show(f"cosine {threshold:.2f} and guard", both, labels)
            reworded = [pair for pair, same in zip(pairs, labels, strict=True) if same]
            grade_twice(reworded, embedder, threshold)


def grade_twice(pairs: list[dict[str, str]], embedder: Embedder, threshold: float) -> None:
    """Grade a file, then the same file with every answer reworded, and print what that saved."""
    cache = SemanticCache(embedder, threshold)
    grader = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=LLMVerifier())
    with ScriptedJudge() as judge:
        os.environ |= {"OPENAI_BASE_URL": judge.base_url, "OPENAI_API_KEY": "none"}
        for side in ("a", "b"):
            rows = [{"answer": pair[side], "context": [pair["a"]]} for pair in pairs]
            run = evaluate(rows, [grader.with_cache(cache)], "openai/scripted", progress=False)
    saved, all_calls = run.summary().graders[grader.name].tallies["calls saved"]
    print(f"  reworded file: {saved} of {all_calls} verification calls saved")


def show(name: str, hits: list[bool], labels: list[bool]) -> None:
    """Print one line."""
    true_hits = sum(hit and same for hit, same in zip(hits, labels, strict=True))
    false_hits = sum(hit and not same for hit, same in zip(hits, labels, strict=True))
    print(f"{name}: true hits {true_hits / sum(labels):.0%}, false hits {false_hits}")


if __name__ == "__main__":
    main()
