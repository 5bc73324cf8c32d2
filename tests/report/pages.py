"""Runs to show: quotes with offsets, three-way verdicts, failures, two graders."""

from pathlib import Path
from typing import Any

from rag_evals.report import View, report_html
from rag_evals.run import StoredRun, StoredSample
from tests.quality.runs import record

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


def statement(text: str, *, supported: bool, ids: tuple[int, ...] = (), **more: Any) -> Any:
    """Return one statement as a result has it."""
    return {
        "statement": text, "is_supported": supported, "reasoning": f"Why: {text}",
        "supporting_chunk_ids": list(ids), **more,
    }  # fmt: skip


def audited() -> dict[str, Any]:
    """Return a result with quotes, three verdicts, and a reworded statement."""
    quote = "stands in Paris"
    start = TOWER.chunks[0].index(quote)
    return {
        "statements": [
            statement(
                "The Eiffel Tower stands in Paris.",
                supported=True,
                ids=(0,),
                verdict="supported",
                quotes=[{"chunk_id": 0, "start": start, "end": start + len(quote), "text": quote}],
            ),
            statement(
                "It was completed in 1923.",
                supported=False,
                verdict="contradicted",
                quotes=[{"chunk_id": 1, "start": None, "end": None, "text": "in 1889"}],
            ),
            statement("The tower was designed by Gustave alone.", supported=False),
        ]
    }


def stored(folder: Path | None = None) -> StoredRun:
    """Make a run of three rows and two graders; one row failed, one cannot be scored."""
    error = {"type": "JudgeOutputError", "message": "the reply stayed invalid"}
    rows = [
        record(0, "eiffel", 1 / 3, result=audited(), warnings=["an oddity"], seconds=1.5),
        record(1, "canberra", 1.0, result={"statements": [
            statement("It is Canberra.", supported=True, ids=(0,))]}),
        {**record(2, "lost", None), "status": "failed", "reason": None, "error": error},
        record(3, "empty", None),
        record(0, "eiffel", 0.5, grader="chunk_precision", result={"graded_chunks": [
            {"id_chunk": 0, "reasoning": "Helps.", "score": True},
            {"id_chunk": 1, "reasoning": "Not much.", "score": False}]}),
        record(1, "canberra", 0.75, grader="answer_relevance", result={
            "completeness": {"reasoning": "The year is missing.", "label": "partly"}}),
    ]  # fmt: skip
    identity = {"judge": "embedded", "graders": {"faithfulness": "f" * 64}}
    return StoredRun(
        rows,
        folder=folder,
        manifest={"identity": identity, "created": "2026-11-21T10:00:00+00:00"},
        samples={sample.sample_id: sample for sample in (TOWER, CANBERRA)},
    )


def write_page(folder: Path, run: StoredRun | None = None, **options: Any) -> Path:
    """Write the report of a run."""
    page = folder / "report.html"
    page.write_text(report_html(run or stored(), view=View(**options)), encoding="utf-8")
    return page
