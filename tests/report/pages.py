"""Runs to show: quotes with offsets, three-way verdicts, failures, two graders."""

from pathlib import Path
from typing import Any

from rag_evals.core.finding import Quote
from rag_evals.report import report_html
from rag_evals.report.tables import View
from rag_evals.run import Run, StoredSample
from rag_evals.score_faithfulness_audited import (
    AuditedFaithfulnessResult,
    AuditedStatement,
    VerdictOfThree,
)
from rag_evals.score_precision import ChunkPrecisionResult, GradedChunk
from rag_evals.score_relevance import AnswerRelevanceResult, AspectEvaluation
from tests.analysis.runs import faithfulness, graded, record

TOWER = StoredSample(
    "eiffel",
    "Where is the Eiffel Tower, and when was it finished?",
    "The Eiffel Tower stands in Paris. It was completed in 1923. Gustave designed it alone.",
    ("🗼🗼 The Eiffel Tower stands in Paris, France.", "It was completed in 1889 by a team."),
    ({"title": "Guide", "url": "javascript:alert(1)"}, {}),
    reference="In Paris; 1889.",
    columns={"topic": "towers"},
)
CANBERRA = StoredSample(
    "canberra", "What is the capital?", "It is Canberra.", ("Canberra is the capital.",), ({},),
    columns={"topic": "cities"},
)  # fmt: skip


def statement(
    text: str, verdict: VerdictOfThree, *quotes: tuple[int, str], ids: tuple[int, ...] = ()
) -> AuditedStatement:
    """Return one audited statement; each quote is a chunk's id and words that stand in it."""
    starts = [TOWER.chunks[chunk_id].index(words) for chunk_id, words in quotes]
    return AuditedStatement(
        statement=text,
        reasoning=f"Why: {text}",
        supporting_chunk_ids=list(ids),
        is_supported=verdict == "supported",
        verdict=verdict,
        evidence=[
            Quote(chunk_id, start, start + len(words), words)
            for (chunk_id, words), start in zip(quotes, starts, strict=True)
        ],
    )


def audited() -> AuditedFaithfulnessResult:
    """Return a result with quotes, three verdicts, a reworded statement and a warning."""
    paris = "The Eiffel Tower stands in Paris."
    return AuditedFaithfulnessResult(
        statements=[
            statement(paris, "supported", (0, "stands in Paris"), ids=(0,)),
            statement("It was completed in 1923.", "contradicted", (1, "in 1889")),
            statement("The tower was designed by Gustave alone.", "not_in_context"),
        ],
        drift=["lost name: no statement of sentence 2 has Gustave"],
    )


def stored(folder: Path | None = None) -> Run:
    """Make a run of three graders; one row failed, one cannot be scored."""
    error = {"type": "JudgeOutputError", "message": "the reply stayed invalid"}
    precision = ChunkPrecisionResult(
        graded_chunks=[
            GradedChunk(id_chunk=0, reasoning="Helps.", score=True),
            GradedChunk(id_chunk=1, reasoning="Not much.", score=False),
        ]
    )
    relevance = AnswerRelevanceResult(
        topical_match=AspectEvaluation(label="yes"),
        completeness=AspectEvaluation(reasoning="The year is missing.", label="partly"),
        conciseness=AspectEvaluation(label="yes"),
    )
    rows = [
        graded(0, "eiffel", audited(), seconds=1.5),
        graded(1, "canberra", faithfulness([("It is Canberra.", True)])),
        {**record(2, "lost", None), "status": "failed", "reason": None, "error": error},
        record(3, "empty", None),
        graded(0, "eiffel", precision, grader="chunk_precision"),
        graded(1, "canberra", relevance, grader="answer_relevance"),
    ]
    identity = {"judge": "embedded", "graders": {"faithfulness": "f" * 64}}
    return Run(
        rows,
        folder=folder,
        manifest={"identity": identity, "created": "2026-11-21T10:00:00+00:00"},
        samples={sample.sample_id: sample for sample in (TOWER, CANBERRA)},
    )


def write_page(folder: Path, run: Run | None = None, **options: Any) -> Path:
    """Write the report of a run."""
    page = folder / "report.html"
    page.write_text(report_html(run or stored(), view=View(**options)), encoding="utf-8")
    return page
