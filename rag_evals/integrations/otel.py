"""OpenTelemetry: spans for runs, rows and judge calls, and an event for each score.

This module needs only the OpenTelemetry API. Exporters are set up by the program, or by
`opentelemetry-instrument rag-evals grade ...`, which loads `RagEvalsInstrumentor`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from rag_evals.core import JudgeReply, Work, findings_lines
from rag_evals.core.flow import watch
from rag_evals.dataset import required_module
from rag_evals.embedded import evidence_words
from rag_evals.judge import model_in
from rag_evals.run import Outcome, Run

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Environment variable; `true` adds explanations, which quote the answer, to events."""

_HEX = 16
_PROVIDERS = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}


def instrument(
    *, explanations: bool | None = None, tracer_provider: Any = None, logger_provider: Any = None
) -> Callable[[], None]:
    """Emit spans and events for all grading in this process.

    Args:
        explanations: True to include statements and reasons, which quote the answer, in events;
            by default, the value of the environment variable `CONTENT_VARIABLE`, or else False.
        tracer_provider: Provider for spans; by default, the global one.
        logger_provider: Provider for events; by default, the global one.

    Returns:
        A function that stops the instrumentation.

    Raises:
        MissingExtraError: `opentelemetry-api` is not installed.
    """
    trace = required_module("opentelemetry.trace", "otel", "write spans")
    logs = required_module("opentelemetry._logs", "otel", "write spans")
    if explanations is None:
        explanations = os.environ.get(CONTENT_VARIABLE, "").lower() in ("true", "1")
    tracer = trace.get_tracer("rag_evals", tracer_provider=tracer_provider)
    logger = logs.get_logger("rag_evals", logger_provider=logger_provider)
    return watch(_Spans(trace, logs, tracer, logger, explanations))


class RagEvalsInstrumentor:
    """Entry point for `opentelemetry-instrument`; programs call `instrument()` instead."""

    # A class attribute, because OpenTelemetry may call `uninstrument` on another instance.
    _stops: ClassVar[list[Callable[[], None]]] = []

    def instrument(self, **options: Any) -> None:
        """Start the instrumentation, ignoring unknown options."""
        known = ("explanations", "tracer_provider", "logger_provider")
        given = {name: options[name] for name in known if name in options}
        self._stops.append(instrument(**given))

    def uninstrument(self, **_: Any) -> None:
        """Stop the instrumentation."""
        while self._stops:
            self._stops.pop()()


@dataclass(frozen=True, slots=True)
class _Spans:
    trace: Any
    logs: Any
    tracer: Any
    logger: Any
    explanations: bool

    def __call__(self, work: Work) -> AbstractContextManager[object]:
        return {"run": self._run, "row": self._row, "call": self._call}[work.kind](work)

    @contextmanager
    def _run(self, work: Work) -> Iterator[None]:
        given = {"rag_evals.graders": work.name, "rag_evals.judge": str(work.subject.get("judge"))}
        with self.tracer.start_as_current_span("rag_evals run", attributes=given) as span:
            yield
            if isinstance(work.result, Run):
                for name, each in work.result.summary().graders.items():
                    span.set_attribute(f"rag_evals.{name}.scored", each.scored)
                    if (mean := each.mean()) is not None:
                        span.set_attribute(f"rag_evals.{name}.mean", mean)

    @contextmanager
    def _row(self, work: Work) -> Iterator[None]:
        judged = self._judged_span(work.subject.columns)
        links = [self.trace.Link(judged)] if judged else []
        given = {"rag_evals.grader": work.name, "rag_evals.sample_id": work.subject.name}
        name = f"rag_evals row {work.name}"
        with self.tracer.start_as_current_span(name, attributes=given, links=links) as span:
            yield
            if isinstance(work.result, Outcome):
                outcome = work.result
                span.set_attribute("rag_evals.status", outcome.status)
                if outcome.error is not None:
                    span.set_attribute("error.type", outcome.error.type)
                    span.set_status(self.trace.Status(self.trace.StatusCode.ERROR))
                self._emit(outcome, judged, work.subject.sample)

    @contextmanager
    def _call(self, work: Work) -> Iterator[None]:
        identity = getattr(work.by, "identity", None) or ""
        model = work.subject.model or model_in(identity)
        host = urlsplit(identity.partition("\n")[0]).hostname or "unknown"
        given = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(host, host),
            "gen_ai.request.model": model,
            "server.address": host,
        }
        with self.tracer.start_as_current_span(
            f"chat {model}", kind=self.trace.SpanKind.CLIENT, attributes=given
        ) as span:
            yield
            if isinstance(work.result, JudgeReply):
                usage = work.result.usage
                span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
                span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
                span.set_attribute("rag_evals.reasks", usage.reasks)
                span.set_attribute("rag_evals.cache_hits", usage.cache_hits)

    def _emit(self, outcome: Outcome, judged: Any, sample: Any) -> None:
        # By convention, the event belongs to the judged span, not to the judge's span.
        span = judged and self.trace.NonRecordingSpan(judged)
        chunks = [chunk.text for chunk in getattr(sample, "context", ())]
        self.logger.emit(
            self.logs.LogRecord(
                context=span and self.trace.set_span_in_context(span),
                event_name="gen_ai.evaluation.result",
                severity_number=self.logs.SeverityNumber.INFO,
                attributes=evaluation_attributes(
                    outcome, explained=self.explanations, chunks=chunks
                ),
            )
        )

    def _judged_span(self, columns: Mapping[str, Any]) -> Any:
        trace_id, span_id = (_number(columns.get(name)) for name in ("trace_id", "span_id"))
        found = self.trace.SpanContext(
            trace_id, span_id, is_remote=True, trace_flags=self.trace.TraceFlags(1)
        )
        return found if found.is_valid else None


def evaluation_attributes(
    outcome: Outcome, *, explained: bool, chunks: Sequence[str] = ()
) -> dict[str, str | float]:
    """Convert an outcome to attributes defined by OpenTelemetry's conventions.

    Args:
        outcome: The outcome to convert.
        explained: True to include statements and reasons.
        chunks: Texts of the row's context; if given, explanations quote the passages to check.
    """
    found = {
        "gen_ai.evaluation.name": outcome.grader,
        "gen_ai.evaluation.score.value": outcome.score,
        # If there is no score, the label states why.
        "gen_ai.evaluation.score.label": outcome.reason
        or ("failed" if outcome.status == "failed" else None),
        "error.type": outcome.error.type if outcome.error else None,
    }
    if explained:
        lines: list[str] = []
        for one in outcome.findings:
            lines += map(str.strip, findings_lines([one]))
            lines += evidence_words(one, chunks) if one.counts_against else ()
        found["gen_ai.evaluation.explanation"] = "\n".join(lines) or outcome.words()
    return {name: value for name, value in found.items() if value is not None}


def _number(given: Any) -> int:
    """Parse an id from a number or hexadecimal text; return 0, an invalid id, for anything else."""
    if isinstance(given, int):
        return given
    try:
        return int(str(given), _HEX)
    except ValueError:
        return 0
