"""Scores reach each tool through its own package, offline; a server on loopback takes what is sent.

`make test-trackers` and CI install the packages apart; without them these tests are skipped.
"""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import Run, evaluate
from rag_evals.errors import MissingExtraError, NotScorableError
from rag_evals.integrations.rows import tool

# No tool may call home from a test.
os.environ.update(
    DEEPEVAL_TELEMETRY_OPT_OUT="YES",
    MLFLOW_DISABLE_TELEMETRY="true",
    MLFLOW_ALLOW_FILE_STORE="true",
)
REQUIRED = os.environ.get("RAG_EVALS_REQUIRE_TRACKERS")
CHUNKS = ["The mill stands in Arlen.", "Bread is baked at dawn."]
ANSWER = "The mill stands in Arlen. It has nine floors."
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RUN_ID = "0af76519-16cd-43dd-8448-eb211c80319c"
pytestmark = pytest.mark.filterwarnings("ignore")


def installed(name: str) -> Any:
    """Import a tool, or skip the test where it is not to be expected."""
    return tool(name) if REQUIRED else pytest.importorskip(name)


class Received(SimpleNamespace):
    """What a tool sent: paths and bodies, and where to."""

    address: str
    requests: list[tuple[str, Any]]


@pytest.fixture
def server() -> Iterator[Received]:
    """Take what is sent, and answer as if all were well."""
    requests: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            text = body.decode("utf-8", "replace")
            requests.append((self.path, json.loads(text) if text[:1] in ("{", "[") else text))
            self._answer({"data": [], "successes": [], "errors": []})

        def do_GET(self) -> None:
            self._answer({"version": "99.0.0"})

        def _answer(self, reply: object) -> None:
            sent = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield Received(address=f"http://127.0.0.1:{running.server_address[1]}", requests=requests)
        running.shutdown()


@pytest.fixture
def run() -> Run:
    """Grade rows that come from traces: one with a score, one without."""
    ids = {"trace_id": TRACE, "span_id": SPAN, "run_id": RUN_ID}
    row = {"question": "Where?", "answer": ANSWER, "context": CHUNKS, **ids}
    return evaluate([row, {**row, "context": []}], client="embedded")


def test_langfuse_takes_scores(run: Run, server: Received) -> None:
    """A score with its trace, its name and the statements as the comment; no score, none sent."""
    langfuse = installed("langfuse")
    from rag_evals.integrations.langfuse import send_scores

    client = langfuse.Langfuse(public_key="pk", secret_key="sk", base_url=server.address)
    assert send_scores(run, client, observation="span_id") == 1
    client.flush()

    (((score,)),) = [body for path, body in server.requests if path == "/api/public/scores"]
    assert (score["traceId"], score["observationId"]) == (TRACE, SPAN)
    assert (score["name"], score["value"]) == ("faithfulness", 0.5)
    assert "It has nine floors.  [not supported]" in score["comment"]
    client.shutdown()


def test_phoenix_takes_annotations(run: Run, server: Received) -> None:
    """Each outcome annotates its span, one without a score by its reason."""
    client = installed("phoenix.client").Client(base_url=server.address)
    from rag_evals.integrations.phoenix import send_annotations

    assert send_annotations(run, client, span="span_id") == 2

    ((path, body),) = server.requests
    assert path.startswith("/v1/span_annotations")
    scored, empty = body["data"]
    assert (scored["span_id"], scored["name"]) == (SPAN, "faithfulness")
    assert (scored["annotator_kind"], scored["result"]["score"]) == ("CODE", 0.5)
    assert empty["result"]["label"] == "empty_context"


def test_langsmith_takes_feedback(run: Run, server: Received) -> None:
    """Feedback of the traced run, and an evaluator with LangSmith's arguments."""
    langsmith = installed("langsmith")
    from rag_evals.integrations.langsmith import evaluator, send_feedback

    client = langsmith.Client(api_url=server.address, api_key="any", auto_batch_tracing=False)
    assert send_feedback(run, client) == 1
    (body,) = [body for path, body in server.requests if "feedback" in path]
    assert (body["run_id"], body["key"], body["score"]) == (RUN_ID, "faithfulness", 0.5)
    assert "not supported" in body["comment"]

    given = {"inputs": {"question": "Where?"}, "outputs": {"answer": ANSWER, "context": CHUNKS}}
    made = installed("langsmith.evaluation").run_evaluator(evaluator(client="embedded"))
    assert evaluator(client="embedded")(**given, reference_outputs=None)["score"] == 0.5
    assert type(made).__name__ == "DynamicRunEvaluator"


def test_mlflow_logs_feedback(run: Run, tmp_path: Path) -> None:
    """Feedback stands in the trace, with rationale and source; a scorer returns the same."""
    mlflow = installed("mlflow")
    from rag_evals.integrations.mlflow import log_feedback, scorer

    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("mill")
    with mlflow.start_span("answer") as span:
        trace_id = span.trace_id
    mlflow.flush_trace_async_logging()
    traced = evaluate(
        [{"answer": ANSWER, "context": CHUNKS, "trace_id": trace_id}], client="embedded"
    )
    assert log_feedback(traced) == 1

    (found,) = mlflow.get_trace(trace_id).info.assessments
    assert (found.name, found.feedback.value) == ("faithfulness", 0.5)
    assert (found.source.source_type, found.source.source_id) == ("CODE", "rag_evals")
    made = scorer(client="embedded")
    feedback = made(inputs={"question": "Where?"}, outputs={"response": ANSWER, "context": CHUNKS})
    assert (made.name, feedback.value) == ("faithfulness", 0.5)
    empty = made(outputs={"response": ANSWER, "context": []})
    assert empty.error.error_message == "not scorable: empty_context"


def test_inspect_scores_a_task() -> None:
    """A task runs with a mock model; the metrics are Inspect's, and an empty context unscored."""
    inspect_ai = installed("inspect_ai")
    model = installed("inspect_ai.model")
    from inspect_ai.dataset import Sample

    from rag_evals.integrations.inspect import rag_evals_scorer

    task = inspect_ai.Task(
        dataset=[
            Sample(input="Where?", metadata={"context": CHUNKS}),
            Sample(input="Where?", metadata={"context": []}),
        ],
        scorer=rag_evals_scorer(client="embedded"),
    )
    answers = [model.ModelOutput.from_content("mock", ANSWER) for _ in range(2)]
    for answer in answers:  # without it, Inspect fetches a tokenizer from the net
        answer.usage = model.ModelUsage()
    judged = model.get_model("mockllm/model", custom_outputs=answers)
    (log,) = inspect_ai.eval(task, model=judged, display="none", log_dir="memory://logs")

    assert log.status == "success", log.error
    scores = [sample.scores["rag_evals_faithfulness"] for sample in log.samples]
    assert scores[0].value == 0.5
    assert "not supported" in scores[0].explanation
    assert log.results.scores[0].metrics["mean"].value == 0.5


def test_pydantic_evals_scores_cases() -> None:
    """A data set is evaluated; a case without a score is an evaluator's failure, not 0."""
    evals = installed("pydantic_evals")
    from rag_evals.integrations.pydantic_evals import evaluator

    cases = [
        evals.Case(name="half", inputs="Where?", metadata={"context": CHUNKS}),
        evals.Case(name="empty", inputs="Where?", metadata={"context": []}),
    ]
    dataset = evals.Dataset(name="mill", cases=cases, evaluators=[evaluator(client="embedded")])
    report = dataset.evaluate_sync(lambda _: ANSWER, progress=False)

    half, empty = sorted(report.cases, key=lambda case: case.name, reverse=True)
    assert half.scores["faithfulness"].value == 0.5
    assert "not supported" in half.scores["faithfulness"].reason
    assert empty.scores == {}
    assert "empty_context" in empty.evaluator_failures[0].error_message


def test_deepeval_asserts_by_our_grader() -> None:
    """`assert_test` of deepeval takes it as one more metric, and names it when it fails."""
    deepeval = installed("deepeval")
    from deepeval.test_case import LLMTestCase

    from rag_evals.integrations.deepeval import deepeval_metric

    case = LLMTestCase(input="Where?", actual_output=ANSWER, retrieval_context=CHUNKS)
    deepeval.assert_test(case, [deepeval_metric(client="embedded")])
    with pytest.raises(AssertionError, match=r"rag_evals faithfulness \(score: 0.5"):
        deepeval.assert_test(case, [deepeval_metric(client="embedded", threshold=0.9)])


def test_dspy_evaluates_by_our_grader() -> None:
    """`dspy.Evaluate` takes it as its metric; an optimiser is told yes or no."""
    dspy = installed("dspy")
    from rag_evals.integrations.dspy import dspy_metric

    class Answers(dspy.Module):  # type: ignore[misc,name-defined]  # as it is installed
        def forward(self, question: str) -> Any:
            return dspy.Prediction(answer=ANSWER, context=CHUNKS)

    metric = dspy_metric(client="embedded")
    devset = [dspy.Example(question="Where?").with_inputs("question")]
    found = dspy.Evaluate(devset=devset, metric=metric, display_progress=False)(Answers())

    assert float(getattr(found, "score", found)) == 50.0
    assert metric(devset[0], Answers()(question="Where?"), trace=[]) is False
    with pytest.raises(NotScorableError):
        metric(devset[0], dspy.Prediction(answer=ANSWER, context=[]))


def test_promptfoo_is_told_pass_score_and_reason() -> None:
    """The form that promptfoo documents for `get_assert`: read, not run by promptfoo itself."""
    from rag_evals.integrations.promptfoo import get_assert

    found = get_assert(
        ANSWER,
        {
            "vars": {"question": "Where?", "context": CHUNKS},
            "config": {"judge": "embedded", "threshold": 0.7},
        },
    )

    assert (found["pass"], found["score"]) == (False, 0.5)
    assert [part["pass"] for part in found["componentResults"]] == [True, False]
    assert json.dumps(found)


def test_a_tool_that_is_not_installed_is_named() -> None:
    """The error has the command that installs it."""
    with pytest.raises(MissingExtraError, match="pip install no-such-tool"):
        tool("no_such_tool.client")
