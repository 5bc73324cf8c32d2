"""What do faithfulness graders cost, and what happens to them when a judge or its host is bad?

    python -m tests.benchmarks.peers rag_evals=.venv/bin/python ragas=.venv-ragas/bin/python

Add `deepeval=PYTHON`, and `--rows 200`. Each contestant runs in a Python of its own that you have
made: with `uv pip install ragas 'langchain-community<0.4' 'instructor>=1.15'` or `deepeval`.
All grade the same rows (an answer of five sentences, the last one false; five chunks) against one
scripted OpenAI-like server on loopback, 16 at a time. Three runs each: an honest judge; a host that
answers 5 % of requests with 500 and 5 % with text that is no JSON; a judge that leaves the false
sentence out. Printed: requests and prompt tokens a row (four characters are one token), CPU
milliseconds a row of the contestant's process, rows with a score from the bad host, and what the
rows get from the judge that leaves out, where 0.8 is right.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

from rag_evals.testing import HttpError, JudgeRequest, Raw, Reply, ScriptedJudge

_HEAD = """
import asyncio, json, os, resource, sys, warnings
warnings.simplefilter("ignore")
rows = json.load(open(sys.argv[1]))
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
"""
_TAIL = """
grade(rows[:8])
before = spent()
scores = grade(rows[8:])
print(json.dumps({"cpu": spent() - before, "scores": scores}))
"""
_CHILDREN = {
    "rag_evals": """
from rag_evals import evaluate
def grade(rows):
    run = evaluate(rows, client="openai/gpt-4o-mini", concurrency=16, max_failures="100%")
    return run.scores
""",
    "ragas": """
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import Faithfulness
def grade(rows):
    async def work():
        client = AsyncOpenAI()
        metric = Faithfulness(llm=llm_factory("gpt-4o-mini", client=client))
        gate = asyncio.Semaphore(16)
        async def one(row):
            async with gate:
                try:
                    found = await metric.ascore(
                        user_input=row["question"], response=row["answer"],
                        retrieved_contexts=row["context"])
                    return found.value
                except Exception:
                    return None
        try:
            return await asyncio.gather(*map(one, rows))
        finally:
            await client.close()
    return asyncio.run(work())
""",
    "deepeval": """
import contextlib, io
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import FaithfulnessMetric
from deepeval.test_case import LLMTestCase
def grade(rows):
    cases = [LLMTestCase(input=row["question"], actual_output=row["answer"],
                         retrieval_context=row["context"]) for row in rows]
    with contextlib.redirect_stdout(io.StringIO()):
        found = evaluate(
            cases, metrics=[FaithfulnessMetric(model="gpt-4o-mini")],
            async_config=AsyncConfig(max_concurrent=16),
            display_config=DisplayConfig(show_indicator=False, print_results=False,
                                         inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False),
            error_config=ErrorConfig(ignore_errors=True))
    return [result.metrics_data[0].score if result.metrics_data else None
            for result in found.test_results]
""",
}
_OFF = ("DEEPEVAL_TELEMETRY_OPT_OUT", "RAGAS_DO_NOT_TRACK", "DO_NOT_TRACK", "ERROR_REPORTING")
_CHUNK = (
    "Mill {n} was built in {year} by the miller's guild. It has {part} floors and a "
    "wheel of oak. Grain came by boat until the lock was closed, and flour left by cart. "
)


def sentences(number: int) -> list[str]:
    """Return the sentences of a row's answer; the last one is false."""
    true = [f"Mill {number} has {part} floors in part {part}." for part in range(4)]
    return [*true, f"Mill {number} was built in 1066."]


def row(number: int) -> dict[str, Any]:
    """Make a row: five chunks of about 120 words."""
    chunks = [_CHUNK.format(n=number, year=1700 + number, part=part) * 3 for part in range(5)]
    return {
        "question": f"What is known of mill {number}?",
        "answer": " ".join(sentences(number)),
        "context": chunks,
    }


class Judge:
    """Answers every contestant's form; counts what it was asked."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.requests = 0
        self.characters = 0

    def __call__(self, request: JudgeRequest) -> Any:
        """Fill the form: every sentence is supported but the last."""
        self.requests += 1
        text = json.dumps(request.body.get("messages")) + json.dumps(request.body.get("tools", ""))
        self.characters += len(text + json.dumps(request.body.get("response_format", "")))
        draw = crc32(f"{request.number}".encode()) % 20
        if self.kind == "bad host" and draw < 2:
            return HttpError(500) if draw else Raw("the model is busy")
        numbers = Counter(re.findall(r"[Mm]ill (\d+)", text)).most_common(1)
        answer = sentences(int(numbers[0][0])) if numbers else []
        return Reply(self._filled(text, request.schema, answer))

    def _filled(self, text: str, schema: Any, answer: list[str]) -> dict[str, Any]:
        names = list(schema.get("properties", {}))
        kept = answer[:-1] if self.kind == "leaves out" else answer
        if "s0" in names:
            verdicts = [{"supported_by": [0]}] * 4 + [{"not_supported_because": "contradicted"}]
            return {f"s{n}": {"reasoning": "r", "verdict": verdicts[n]} for n in range(len(kept))}
        if names == ["truths"] or names == ["claims"]:
            return {names[0]: answer}
        if names == ["reason"]:
            return {"reason": "r"}
        if names == ["verdicts"]:
            words = [{"verdict": "no" if s is answer[-1] else "yes", "reason": "r"} for s in kept]
            return {"verdicts": words}
        if '"verdict' in text or '\\"verdict' in text:
            return {
                "statements": [
                    {"statement": s, "reason": "r", "verdict": int(s is not answer[-1])}
                    for s in kept
                ]
            }
        return {"statements": answer}


def measure(name: str, python: str, kind: str, rows: Path) -> tuple[Judge, dict[str, Any]]:
    """Run a contestant once, in a process of its own."""
    judge = Judge(kind)
    with ScriptedJudge(judge) as server:
        environment = os.environ | dict.fromkeys(_OFF, "1")
        environment |= {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.base_url}
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.run(
                [str(Path(python).absolute()), "-c", _HEAD + _CHILDREN[name] + _TAIL, str(rows)],
                capture_output=True,
                text=True,
                env=environment,
                cwd=folder,
                check=False,
            )
    if child.returncode:
        raise SystemExit(f"{name}: {child.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return judge, found


def main() -> None:
    """Print a line for each contestant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contestants", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--rows", type=int, default=200)
    options = parser.parse_args()
    heads = "requests a row", "prompt tokens a row", "CPU ms a row", "bad host", "leaves out"
    print(f"| contestant | {' | '.join(heads)} |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps([row(n) for n in range(options.rows + 8)]), encoding="utf-8")
        for name, _, python in (one.partition("=") for one in options.contestants):
            judge, honest = measure(name, python, "honest", path)
            faults = measure(name, python, "bad host", path)[1]["scores"]
            silent = Counter(map(str, measure(name, python, "leaves out", path)[1]["scores"]))
            count = options.rows + 8
            scored = sum(score == score and score is not None for score in faults)
            print(
                f"| {name} | {judge.requests / count:.2f} | {judge.characters / 4 / count:.0f} "
                f"| {1000 * honest['cpu'] / options.rows:.2f} "
                f"| {scored} of {options.rows} "
                f"| {', '.join(f'{k}: {v}' for k, v in silent.most_common(3))} |"
            )


if __name__ == "__main__":
    main()
