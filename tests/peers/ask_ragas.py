"""Grade rows with ragas itself: run by its own Python, as `ask_ragas.py URL`, rows on stdin."""

import asyncio
import json
import math
import sys
from importlib.metadata import version

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import Faithfulness


async def main() -> None:
    """Print the version and one score a row, null for NaN."""
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none")
    scorer = Faithfulness(llm=llm_factory("scripted", client=client))
    scores = []
    for row in json.load(sys.stdin):
        found = await scorer.ascore(
            user_input=row["question"],
            response=row["answer"],
            retrieved_contexts=row["context"],
        )
        scores.append(None if math.isnan(found.value) else round(found.value, 4))
    print(json.dumps({"version": version("ragas"), "scores": scores}))


asyncio.run(main())
