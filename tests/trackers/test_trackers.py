"""Do the recipes of the guide work with each tool's own package? Offline, by a loopback server.

`make test-trackers` installs the packages apart; without them these tests are skipped.
"""

import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_evals import Run, evaluate
from rag_evals.errors import NotScorableError

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


GUIDES = Path(__file__).parents[2] / "docs" / "guides"
RECIPES = dict(
    recipe
    for page in ("traces-and-trackers.md", "frameworks.md")
    for recipe in re.findall(
        r'^```python title="recipes/(\w+)\.py"\n(.*?)^```$',
        (GUIDES / page).read_text("utf-8"),
        re.M | re.S,
    )
)


def installed(name: str) -> Any:
    """Import a tool, or skip the test where it is not to be expected."""
    return import_module(name) if REQUIRED else pytest.importorskip(name)


def recipe(tool: str) -> SimpleNamespace:
    """Run a block of the guide, and return what it defines."""
    names: dict[str, Any] = {"__name__": f"recipe_{tool}"}
    exec(compile(RECIPES.pop(tool), f"recipes/{tool}.py", "exec"), names)
    return SimpleNamespace(**names)


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
    ids = {"trace_id": TRACE, "context.span_id": SPAN, "run_id": RUN_ID}
    row = {"question": "Where?", "answer": ANSWER, "context": CHUNKS, **ids}
    return evaluate([row, {**row, "context": []}], client="embedded")


def test_langfuse_receives_scores(run: Run, server: Received) -> None:
    """A score with its trace, its name and the statements as the comment; no score, none sent."""
    langfuse = installed("langfuse")
    client = langfuse.Langfuse(public_key="pk", secret_key="sk", base_url=server.address)
    recipe("langfuse").send_scores(run, client)

    (((score,)),) = [body for path, body in server.requests if path == "/api/public/scores"]
    assert (score["traceId"], score["name"], score["value"]) == (TRACE, "faithfulness", 0.5)
    assert "It has nine floors.  [not supported]" in score["comment"]
    client.shutdown()


def test_langsmith_receives_feedback(run: Run, server: Received) -> None:
    """Feedback of the traced run, and an evaluator with LangSmith's arguments."""
    langsmith = installed("langsmith")
    client = langsmith.Client(api_url=server.address, api_key="any", auto_batch_tracing=False)
    made = recipe("langsmith")
    made.send_feedback(run, client)
    (body,) = [body for path, body in server.requests if "feedback" in path]
    assert (body["run_id"], body["key"], body["score"]) == (RUN_ID, "faithfulness", 0.5)
    assert "not supported" in body["comment"]

    wrapped = installed("langsmith.evaluation").run_evaluator(made.faithfulness)
    outputs = {"answer": ANSWER, "context": CHUNKS}
    assert made.faithfulness({"question": "Where?"}, outputs)["score"] == 0.5
    assert type(wrapped).__name__ == "DynamicRunEvaluator"


def test_phoenix_receives_annotations(run: Run, server: Received) -> None:
    """Each outcome annotates its span, one without a score by its reason."""
    client = installed("phoenix.client").Client(base_url=server.address)
    recipe("phoenix").send_annotations(run, client)

    ((path, body),) = server.requests
    assert path.startswith("/v1/span_annotations")
    scored, empty = body["data"]
    assert (scored["span_id"], scored["name"]) == (SPAN, "faithfulness")
    assert (scored["annotator_kind"], scored["result"]["score"]) == ("CODE", 0.5)
    assert empty["result"]["label"] == "empty_context"


def test_mlflow_logs_feedback(tmp_path: Path) -> None:
    """Feedback is in the trace, with rationale and source; one without a score has an error."""
    mlflow = installed("mlflow")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("mill")
    with mlflow.start_span("answer") as span:
        trace_id = span.trace_id
    with mlflow.start_span("empty") as span:
        empty_id = span.trace_id
    mlflow.flush_trace_async_logging()
    row = {"answer": ANSWER, "context": CHUNKS, "trace_id": trace_id}
    empty = {**row, "context": [], "trace_id": empty_id}
    recipe("mlflow").log_feedback(evaluate([row, empty], client="embedded"))

    (found,) = mlflow.get_trace(trace_id).info.assessments
    assert (found.name, found.feedback.value) == ("faithfulness", 0.5)
    assert (found.source.source_type, found.source.source_id) == ("CODE", "rag_evals")
    assert "not supported" in found.rationale
    (without,) = mlflow.get_trace(empty_id).info.assessments
    assert without.feedback.error.error_message == "not scorable: empty_context"


def test_inspect_scores_a_task() -> None:
    """A task runs with a mock model; the metrics are Inspect's, and an empty context unscored."""
    inspect_ai = installed("inspect_ai")
    model = installed("inspect_ai.model")
    from inspect_ai.dataset import Sample

    task = inspect_ai.Task(
        dataset=[
            Sample(input="Where?", metadata={"context": CHUNKS}),
            Sample(input="Where?", metadata={"context": []}),
        ],
        scorer=recipe("inspect_ai").faithfulness(),
    )
    answers = [model.ModelOutput.from_content("mock", ANSWER) for _ in range(2)]
    for answer in answers:  # without it, Inspect fetches a tokenizer from the net
        answer.usage = model.ModelUsage()
    judged = model.get_model("mockllm/model", custom_outputs=answers)
    (log,) = inspect_ai.eval(task, model=judged, display="none", log_dir="memory://logs")

    assert log.status == "success", log.error
    scores = [sample.scores["faithfulness"] for sample in log.samples]
    assert scores[0].value == 0.5
    assert "not supported" in scores[0].explanation
    assert log.results.scores[0].metrics["mean"].value == 0.5


def test_pydantic_evals_scores_cases() -> None:
    """A data set is evaluated; a case without a score is an evaluator's failure, not 0."""
    evals = installed("pydantic_evals")
    cases = [
        evals.Case(name="half", inputs="Where?", metadata={"context": CHUNKS}),
        evals.Case(name="empty", inputs="Where?", metadata={"context": []}),
    ]
    evaluator = recipe("pydantic_evals").FaithfulAnswer()
    dataset = evals.Dataset(name="mill", cases=cases, evaluators=[evaluator])
    report = dataset.evaluate_sync(lambda _: ANSWER, progress=False)

    half, empty = sorted(report.cases, key=lambda case: case.name, reverse=True)
    assert half.scores["FaithfulAnswer"].value == 0.5
    assert "not supported" in half.scores["FaithfulAnswer"].reason
    assert empty.scores == {}
    assert "empty_context" in empty.evaluator_failures[0].error_message


def test_dspy_evaluates_by_our_grader() -> None:
    """`dspy.Evaluate` calls it as its metric; an optimiser gets yes or no."""
    dspy = installed("dspy")

    class Answers(dspy.Module):  # type: ignore[misc,name-defined]  # as it is installed
        def forward(self, question: str) -> Any:
            return dspy.Prediction(answer=ANSWER, context=CHUNKS)

    metric = recipe("dspy").faithful
    devset = [dspy.Example(question="Where?").with_inputs("question")]
    found = dspy.Evaluate(devset=devset, metric=metric, display_progress=False)(Answers())

    assert float(getattr(found, "score", found)) == 50.0
    assert metric(devset[0], Answers()(question="Where?"), trace=[]) is False
    with pytest.raises(NotScorableError):
        metric(devset[0], dspy.Prediction(answer=ANSWER, context=[]))


def test_promptfoo_gets_pass_score_and_reason() -> None:
    """The form that promptfoo documents for `get_assert`: read, not run by promptfoo itself."""
    context = {"vars": {"question": "Where?", "context": CHUNKS}}
    found = recipe("promptfoo").get_assert(ANSWER, context)

    assert (found["pass"], found["score"]) == (False, 0.5)
    assert "not supported" in json.loads(json.dumps(found))["reason"]


def test_deepeval_asserts_by_our_grader() -> None:
    """`assert_test` of deepeval calls it as one more metric, and fails the case below 0.9."""
    deepeval = installed("deepeval")
    from deepeval.test_case import LLMTestCase

    metric = recipe("deepeval").Faithful()
    case = LLMTestCase(input="Where?", actual_output=ANSWER, retrieval_context=CHUNKS)
    with pytest.raises(AssertionError, match=r"faithful \(score: 0.5"):
        deepeval.assert_test(case, [metric])
    case = LLMTestCase(input="Where?", actual_output=CHUNKS[0], retrieval_context=CHUNKS)
    deepeval.assert_test(case, [metric])


def test_langchain_grades_a_chains_output() -> None:
    """The step gets what a retrieval chain returns: a question, documents and a message."""
    installed("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage

    row = {"input": "Where?", "answer": AIMessage(ANSWER)}
    row["context"] = [Document(page_content=text) for text in CHUNKS]
    found = recipe("langchain").with_grade.invoke(row)

    assert found["faithfulness"].score == 0.5


def test_llamaindex_grades_a_response() -> None:
    """The answer and its source nodes are read from the response."""
    installed("llama_index.core")
    from llama_index.core import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text)) for text in CHUNKS]
    response = Response(ANSWER, source_nodes=nodes)

    assert recipe("llamaindex").grade("Where?", response).score == 0.5


def test_haystack_grades_answers_in_a_pipeline() -> None:
    """The component runs in a pipeline of Haystack's own."""
    haystack = installed("haystack")
    pipeline = haystack.Pipeline()
    pipeline.add_component("grader", recipe("haystack").Grader())
    documents = [haystack.Document(content=text) for text in CHUNKS]
    answer = haystack.GeneratedAnswer(data=ANSWER, query="Where?", documents=documents)

    assert pipeline.run({"grader": {"answers": [answer]}})["grader"]["scores"] == [0.5]
