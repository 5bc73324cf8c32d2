"""What do the ways to grade faithfulness send?

    python -m tests.benchmarks.ways DATA [--limit N]

DATA is a file of rows, as for `rag-evals grade`. The judge is the scripted one: it makes one
statement of each sentence, so a model that makes more of them sends more to verify. Schemas of
replies are left out.
"""

import argparse
import os
import tempfile
from pathlib import Path

from rag_evals import evaluate
from rag_evals.testing import ScriptedJudge
from rag_evals.text import token_counter

_MODEL = "openai/gpt-4o-mini"
_WAYS = {
    "faithfulness": ("faithfulness", _MODEL),
    "faithfulness_two_step": ("faithfulness_two_step", _MODEL),
    "embedded>openai/...": ("faithfulness", f"embedded>{_MODEL}"),
    "embedded": ("faithfulness", "embedded"),
}


def main() -> None:
    """Grade the rows in every way, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    count, counted_by = token_counter("gpt-4o-mini")
    print(f"tokens {counted_by}")
    with ScriptedJudge() as judge, tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "OPENAI_BASE_URL": judge.base_url,
            "OPENAI_API_KEY": "none",
            "RAG_EVALS_CACHE_DIR": folder,
        }
        for way, (grader, client) in _WAYS.items():
            before = len(judge.requests)
            run = evaluate(options.data, [grader], client, limit=options.limit, progress=False)
            sent = judge.requests[before:]
            texts = [str(message["content"]) for one in sent for message in one.messages]
            rows = len(run.outcomes)
            tokens = sum(map(count, texts))
            print(f"{way:<24}{len(sent) / rows:6.2f} calls a row{tokens / rows:8.0f} tokens a row")


if __name__ == "__main__":
    main()
