"""Grade rows with deepeval itself, run by its own Python: `ask_deepeval.py URL`, rows on stdin."""

import json
import os
import sys
from importlib.metadata import version

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["OPENAI_API_KEY"] = "none"

from deepeval.metrics import FaithfulnessMetric
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase

rows = json.load(sys.stdin)
found: dict[str, object] = {"version": version("deepeval")}
for name, strict in (("scores", False), ("scores_penalized", True)):
    scores = []
    for row in rows:
        metric = FaithfulnessMetric(
            model=GPTModel(model="gpt-4o", base_url=sys.argv[1]),
            penalize_ambiguous_claims=strict,
            async_mode=False,
        )
        case = LLMTestCase(
            input=row["question"], actual_output=row["answer"], retrieval_context=row["context"]
        )
        scores.append(round(metric.measure(case, _show_indicator=False), 4))
    found[name] = scores
print(json.dumps(found))
