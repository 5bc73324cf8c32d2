"""Testing graders without a model: `ScriptedJudge`, an OpenAI-compatible loopback server.

```python
import instructor
from openai import OpenAI

from rag_evals import Faithfulness
from rag_evals.testing import ScriptedJudge

with ScriptedJudge({"statements": []}) as judge:
    with OpenAI(base_url=judge.base_url, api_key="any") as sdk:
        client = instructor.from_openai(sdk)
        Faithfulness.grade(answer="Hello.", context=["Some chunk."], client=client, model="any")
print(judge.requests[0].chunks)
#> ['Some chunk.']
```

Requests go through the real client and network stack, so tests see what a provider would receive.
"""

from rag_evals import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
