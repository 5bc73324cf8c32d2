"""Which statements share a verdict, and what does that save? On labelled pairs and on answers.

    python tools/measure_cache.py [ANSWERS.jsonl.gz ...]

Each line of ANSWERS has `context`, a list of texts, and `statements`, objects with `text` and
`label`; rows are taken in order, as a run would. Vectors are all alike here, so that code and
verifier decide alone: an embedder can only make hits fewer.
"""

import csv
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rag_evals.cache import SemanticCache
from rag_evals.cache.semantic import frame_of
from rag_evals.cache.statements import StatementKey, group_of
from rag_evals.core import Claim, Verdict
from rag_evals.text import plain_form

DATA = Path(__file__).parent.parent / "tests" / "data"
STORED = 10_000


def main() -> None:
    """Print hits on pairs, hits on answers, and the time of a look-up."""
    rows = read_pairs("statement_pairs.tsv")
    near = [(a, b) for _, a, b in read_pairs("near_misses.tsv")]
    show_pairs("paraphrases", [(row[3], row[4]) for row in rows if row[0] == "same"])
    show_pairs("near-misses", [(row[3], row[4]) for row in rows if row[0] != "same"])
    show_pairs("more near-misses", near)
    for name in sys.argv[1:]:
        show_answers(Path(name))
    show_time()


def read_pairs(name: str) -> list[list[str]]:
    """Read a table of pairs, without its head."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def show_pairs(name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Print how many pairs share a verdict by their plain form, by frame, and in the end."""
    cache = SemanticCache(alike)
    plain = [plain_form(a) == plain_form(b) for a, b in pairs]
    frame = [frame_of(a) == frame_of(b) for a, b in pairs]
    shared = [
        same or (framed and cache.are_equivalent(*pair))
        for same, framed, pair in zip(plain, frame, pairs, strict=True)
    ]
    print(f"{len(pairs)} {name}: same form {sum(plain)}, same frame {sum(frame)}", end="")
    print(f", shared with embedded@strict {sum(shared)}")


def show_answers(path: Path) -> None:
    """Print how many statements of a file of answers were known, and by what."""
    cache = SemanticCache(alike, threshold=0.0)
    known: set[tuple[str, str]] = set()
    counted: Counter[str] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            group = group_of(row["context"], "measured", [""])
            statements = row.get("statements") or []
            keys = [StatementKey.of(Claim(one["text"])) for one in statements]
            found = cache.look_up(group, keys)
            counted["answers without a call"] += bool(found) and None not in found
            new = {}
            for one, key, verdict in zip(statements, keys, found, strict=True):
                counted["statements"] += 1
                is_same = (group, one["text"]) in known
                known.add((group, one["text"]))
                if verdict is None:
                    new[key] = Verdict(float(one["label"]), bool(one["label"]), (), "label")
                    continue
                how = "letter by letter" if is_same else "by form"
                counted["by meaning" if verdict.taken_from else how] += 1
                differs = verdict.is_supported != bool(one["label"])
                counted["other label"] += differs and not is_same
            cache.store(group, new)
    print(path.name, dict(counted))


def show_time() -> None:
    """Print the CPU time of look-ups among many statements with one frame."""
    cache = SemanticCache(alike, equivalence="embedded@strict")
    stored = {
        StatementKey.of(Claim(f"The house isn't {word(n)} there.")): Verdict(1.0, True, (), "")
        for n in range(STORED)
    }
    cache.store("group", stored)
    times = []
    for number in range(100):
        begin = time.process_time()
        cache.look_up("group", [StatementKey.of(Claim(f"The house is not {word(number)} there."))])
        times.append(time.process_time() - begin)
    print(f"look-up among {STORED}: {1000 * sorted(times)[50]:.1f} ms, at most ", end="")
    print(f"{1000 * max(times):.1f} ms")


def word(number: int) -> str:
    """Return a word of letters for a number."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def alike(texts: Sequence[str]) -> list[list[float]]:
    """Return one vector for all texts."""
    return [[1.0] * 384 for _ in texts]


if __name__ == "__main__":
    main()
