"""How fast are a report and a comparison of 20,000 rows? Prints each number beside its limit.

    python tests/benchmarks/report_and_compare.py

Needs chromium and chromedriver for the numbers of the page.
"""

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from rag_evals import (  # noqa: E402 - the path comes first
    FaithfulnessResult,
    StatementEvaluation,
    write_report,
)
from rag_evals.analysis import compare  # noqa: E402 - as above
from rag_evals.core import Usage  # noqa: E402 - as above
from rag_evals.run.record.facts import RowFacts  # noqa: E402 - as above
from rag_evals.run.record.outcome import outcome_of  # noqa: E402 - as above
from tests.report.browser import chromium  # noqa: E402 - as above

T = TypeVar("T")
_WORDS = (
    "tower river stands completed region museum engineer built opened century population "
    "government council bridge harbour railway million visitors famous architect northern station "
    "founded according report season history language court minister average level company"
).split()
_IDENTITY = {"judge": "embedded", "graders": {"faithfulness": "f" * 64}, "data": "d"}


def main() -> None:
    """Make two runs, time everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for run, seed in (("one", 1), ("two", 2)):
            write_run(folder / run, rows, seed)
        data = [(folder / "one" / file).read_bytes() for file in ("results.jsonl", "samples.jsonl")]
        print(f"{rows} rows, {sum(map(len, data)) / 1e6:.0f} MB of results and samples")
        began = time.process_time()
        _, seconds = timed(lambda: compare(folder / "one", folder / "two"))
        print(f"compare                 {seconds:.2f} s    (limit 5; {spent(began)})")
        began = time.process_time()
        page, seconds = timed(lambda: write_report(folder / "one"))
        print(f"report written          {seconds:.2f} s    (limit 5; {spent(began)})")
        share = page.stat().st_size / sum(len(gzip.compress(part)) for part in data)
        print(f"page / gzip of the data {share:.2f}      (limit 1.5)")
        browse(page, folder)


def browse(page: Path, folder: Path) -> None:
    """Open the page and time what a reader waits for."""
    profile = folder / "browser"
    profile.mkdir()
    with chromium(profile) as browser:
        _, seconds = timed(lambda: browser.open(page))
        paint = browser.run(
            "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        print(f"first paint             {paint / 1000:.2f} s    (limit 1.5)")
        print(f"rows ready              {seconds:.2f} s")
        for label, control, value in (
            ("search, first time", "search", "harbour minister"),
            ("search, again", "search", "railway"),
            ("search, nothing found", "search", "zebra"),
            ("search, cleared", "search", ""),
            ("verdict", "verdict", "n"),
            ("band", "band", "0"),
        ):
            milliseconds = browser.run(_FILTER, control, value)
            print(f"filter: {label:<23} {milliseconds:.0f} ms  (limit 150)")


_FILTER = """
const control = document.getElementById(arguments[0]);
control.value = arguments[1];
const began = performance.now();
document.getElementById('outcome').dispatchEvent(new Event('change'));
document.getElementById('rows').offsetHeight;
return performance.now() - began;
"""


def write_run(folder: Path, rows: int, seed: int) -> None:
    """Write a run folder of rows with five chunks and about five statements each."""
    folder.mkdir()
    rng = random.Random(seed)
    words = random.Random(7)
    manifest = {"format": 2, "rows": rows, "identity": _IDENTITY}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with (
        (folder / "results.jsonl").open("wb") as results,
        (folder / "samples.jsonl").open("w") as samples,
    ):
        for number in range(rows):
            sentences = [sentence(words) for _ in range(words.randint(2, 8))]
            chunks = [" ".join(sentence(words) for _ in range(5)) for _ in range(5)]
            results.write(line(number, sentences, rng))
            sample = {
                "sample_id": f"row-{number}",
                "question": sentence(words),
                "answer": " ".join(sentences),
                "context": chunks,
            }
            samples.write(json.dumps(sample) + "\n")


def line(number: int, sentences: list[str], rng: random.Random) -> bytes:
    """Return an outcome with a verdict on each sentence, as a run writes it."""
    statements = [
        StatementEvaluation(
            statement=text,
            reasoning=f"{rng.randint(3, 9)} of 9 content words in chunk {rng.randint(0, 4)}",
            supporting_chunk_ids=[rng.randint(0, 4)],
            is_supported=rng.random() < 0.8,
        )
        for text in sentences
    ]
    result = FaithfulnessResult(statements=statements)
    row = {"index": number, "sample_id": f"row-{number}", "grader": "faithfulness"}
    return outcome_of(row | {"facts": RowFacts()}, result, 0.01, Usage()).to_line()


def sentence(rng: random.Random) -> str:
    """Return a sentence of twelve words and a number."""
    return f"The {' '.join(rng.choices(_WORDS, k=11))} {rng.randint(1, 9999)}."


def spent(began: float) -> str:
    """Say the CPU time since then: the clock also counts what else a busy machine does."""
    return f"{time.process_time() - began:.2f} s of CPU"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what work returns, and how long it took."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began


if __name__ == "__main__":
    main()
