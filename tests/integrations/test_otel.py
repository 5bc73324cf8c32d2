"""Runs are seen in a trace: real spans and events of OpenTelemetry's SDK, kept in memory."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import (
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag_evals import Faithfulness, evaluate, open_session
from rag_evals.integrations.otel import (
    CONTENT_VARIABLE,
    RagEvalsInstrumentor,
    _number,
    evaluation_attributes,
    instrument,
)
from rag_evals.run import Outcome, findings_in
from rag_evals.testing import HttpError, ScriptedJudge
from tests.analysis.runs import record

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ROWS = [
    {
        "id": "judged",
        "question": "Where?",
        "answer": "The mill stands in Arlen.",
        "context": ["The mill stands in Arlen."],
        "trace_id": TRACE,
        "span_id": SPAN,
    },
    {"id": "empty", "answer": "The mill stands in Arlen.", "context": []},
]


class Seen:
    """What the SDK exported."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._logs: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # of the SDK
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.logger_provider = LoggerProvider()
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self._logs))

    def begin(self, **options: Any) -> Any:
        """Instrument with these providers."""
        return instrument(
            tracer_provider=self.tracer_provider, logger_provider=self.logger_provider, **options
        )

    @property
    def spans(self) -> list[Any]:
        """Spans in the order in which they ended."""
        return list(self._spans.get_finished_spans())

    @property
    def events(self) -> list[Any]:
        """Records of events."""
        return [one.log_record for one in self._logs.get_finished_logs()]


@pytest.fixture
def seen() -> Iterator[Seen]:
    """Watch with the SDK in memory, and end it behind the test."""
    here = Seen()
    stop = here.begin()
    yield here
    stop()


def test_a_run_a_row_and_a_call_are_spans(seen: Seen) -> None:
    """One tree: the call in its row, the row in its run; the call in the convention's words."""
    with ScriptedJudge() as judge:
        evaluate(ROWS[:1], client=f"openai/any@{judge.base_url}")

    call, row, run = seen.spans
    assert [one.name for one in seen.spans] == [
        "chat any",
        "rag_evals row faithfulness",
        "rag_evals run",
    ]
    assert (call.parent.span_id, row.parent.span_id) == (row.context.span_id, run.context.span_id)
    assert call.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "127.0.0.1",
        "gen_ai.request.model": "any",
        "server.address": "127.0.0.1",
        "gen_ai.usage.input_tokens": call.attributes["gen_ai.usage.input_tokens"],
        "gen_ai.usage.output_tokens": call.attributes["gen_ai.usage.output_tokens"],
        "rag_evals.reasks": 0,
        "rag_evals.cache_hits": 0,
    }
    assert call.attributes["gen_ai.usage.input_tokens"] > 0
    assert run.attributes["rag_evals.faithfulness.mean"] == 1.0


def test_a_mean_of_0_is_in_the_span_of_the_run(seen: Seen) -> None:
    """It is a mean like any other; only a run without scores has none."""
    evaluate([{**ROWS[0], "answer": "The mill was burnt down by Harald."}], client="embedded")
    evaluate(ROWS[1:], client="embedded")

    wrong, empty = (one.attributes for one in seen.spans if one.name == "rag_evals run")
    assert wrong["rag_evals.faithfulness.mean"] == 0.0
    assert wrong["rag_evals.faithfulness.scored"] == 1
    assert "rag_evals.faithfulness.mean" not in empty


def test_each_score_is_an_event_of_the_span_that_is_judged(seen: Seen) -> None:
    """`gen_ai.evaluation.result` stands in the row's `trace_id` and `span_id`, without texts."""
    evaluate(ROWS, client="embedded")

    judged, empty = sorted(seen.events, key=lambda one: len(one.attributes), reverse=False)
    if "gen_ai.evaluation.score.value" not in judged.attributes:
        judged, empty = empty, judged
    assert {one.event_name for one in seen.events} == {"gen_ai.evaluation.result"}
    assert dict(judged.attributes) == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.value": 1.0,
    }
    assert (judged.trace_id, judged.span_id) == (int(TRACE, 16), int(SPAN, 16))
    assert dict(empty.attributes) == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.label": "empty_context",
    }
    rows = {one.attributes["rag_evals.sample_id"]: one for one in seen.spans[:2]}
    assert rows["judged"].links[0].context.span_id == int(SPAN, 16)
    assert empty.span_id == rows["empty"].context.span_id


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_explanations_are_a_choice(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They quote the answer, so that an argument or OpenTelemetry's variable asks for them."""
    here = Seen()
    if by == "variable":
        monkeypatch.setenv(CONTENT_VARIABLE, "true")
    stop = here.begin(**({"explanations": True} if by == "argument" else {}))
    evaluate(ROWS[:1], client="embedded")
    stop()
    evaluate(ROWS[:1], client="embedded")

    (event,) = here.events
    assert event.attributes["gen_ai.evaluation.explanation"].startswith("+  The mill stands")


def test_a_failed_row_is_an_error(seen: Seen) -> None:
    """Its span has the error's type, its event too; the judge's call keeps what was raised."""
    with ScriptedJudge(HttpError(400, "no")) as judge:
        evaluate(ROWS[:1], client=f"openai/any@{judge.base_url}", max_failures="100%")

    call, row, _ = seen.spans
    assert not call.status.is_ok
    assert row.attributes["error.type"] == "JudgeRequestError"
    assert seen.events[0].attributes["error.type"] == "JudgeRequestError"
    assert seen.events[0].attributes["gen_ai.evaluation.score.label"] == "failed"


@pytest.mark.parametrize("ids", [("no hex", SPAN), (TRACE, None), (0, 0), ("f" * 40, SPAN)])
def test_ids_that_are_none_change_nothing(seen: Seen, ids: tuple[Any, Any]) -> None:
    """The event then stands in the row's own span."""
    evaluate([{**ROWS[0], "trace_id": ids[0], "span_id": ids[1]}], client="embedded")

    assert seen.events[0].span_id == seen.spans[0].context.span_id


def test_sessions_and_single_grades_are_seen(seen: Seen) -> None:
    """Rows of a session are in the caller's span, as are the calls of one `grade`."""
    tracer = seen.tracer_provider.get_tracer("test")
    with ScriptedJudge() as judge, tracer.start_as_current_span("request") as request:
        client = f"openai/any@{judge.base_url}"
        with open_session(client=client) as session:
            session.grade(ROWS[0])
        Faithfulness.grade(answer="The mill.", context=["The mill."], client=client)

    parents = {one.name: one.parent and one.parent.span_id for one in seen.spans[1:]}
    assert parents == {
        "rag_evals row faithfulness": request.get_span_context().span_id,
        "chat any": request.get_span_context().span_id,
        "request": None,
    }


def test_auto_instrumentation_finds_it() -> None:
    """`opentelemetry-instrument rag-evals grade ...` loads the entry point, and may end it."""
    (found,) = entry_points(group="opentelemetry_instrumentor", name="rag_evals")
    here = Seen()
    instrumentor = found.load()()
    assert isinstance(instrumentor, RagEvalsInstrumentor)
    instrumentor.instrument(
        tracer_provider=here.tracer_provider, logger_provider=here.logger_provider, skip=True
    )
    evaluate(ROWS[:1], client="embedded")
    instrumentor.uninstrument()
    evaluate(ROWS[:1], client="embedded")

    assert len(here.events) == 1


FINDINGS = [
    {"text": "It is old.", "verdict": True, "label": "supported", "about": "statement"},
    {"text": "It opened in 1923.", "verdict": False, "label": "no", "about": "statement"},
]


def outcome(score: float | None, **more: Any) -> Outcome[Any]:
    """Return an outcome as a run has it."""
    return Outcome.from_record(record(0, "a", score) | more)


def test_an_outcome_has_its_score_or_says_why_it_has_none() -> None:
    """A label stands only where there is no score; an error has its type."""
    name = {"gen_ai.evaluation.name": "faithfulness"}
    value, label = "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
    failed = {"status": "failed", "reason": None, "error": {"type": "E", "message": "m"}}

    def attributes(one: Outcome[Any]) -> dict[str, str | float]:
        return evaluation_attributes(one, explained=False)

    assert attributes(outcome(0.0)) == name | {value: 0.0}
    assert attributes(outcome(0.25)) == name | {value: 0.25}
    assert attributes(outcome(None)) == name | {label: "empty_context"}
    assert attributes(outcome(None, **failed)) == name | {label: "failed", "error.type": "E"}


def test_an_explanation_has_each_finding_and_the_passages_of_faults() -> None:
    """Without findings it has the words of the outcome."""
    key = "gen_ai.evaluation.explanation"
    found = outcome(0.5)
    record_of = record(0, "a", 0.5)
    assert evaluation_attributes(Outcome.from_record(record_of), explained=True)[key] == (
        "scored 0.50"
    )
    found = replace(found, findings=findings_in(record(0, "a", 0.5, findings=FINDINGS)))
    told = str(evaluation_attributes(found, explained=True, chunks=["It opened in 1889."])[key])
    assert told.splitlines() == [
        "+  It is old.  [supported]",
        "-  It opened in 1923.  [no]",
        "nearest chunk 0: It opened in 1889.",
        "differs: '1923' is not in any chunk; chunk 0 says '1889'",
    ]
    assert len(str(evaluation_attributes(found, explained=True)[key]).splitlines()) == 2


def test_an_id_of_a_trace_is_a_number_or_hexadecimal() -> None:
    """Anything else is no id."""
    ids: list[Any] = [7, "ff", "0xFF", TRACE]
    wrong: list[Any] = [None, "", "xyz", 1.5, []]
    assert [_number(one) for one in ids] == [7, 255, 255, int(TRACE, 16)]
    assert [_number(one) for one in wrong] == [0] * 5
