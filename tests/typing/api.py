"""How users call the API; never run, only type-checked."""

from pathlib import Path
from typing import ClassVar, assert_type

import instructor
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from rag_evals import (
    AnswerRelevance,
    AuditedFaithfulness,
    ChunkPrecision,
    CitationFaithfulness,
    ColumnMap,
    Faithfulness,
    FaithfulnessResult,
    Outcome,
    Result,
    Run,
    Sample,
    StatementEvaluation,
    TwoStepFaithfulness,
    aevaluate,
    base,
    evaluate,
)
from rag_evals.cache import SemanticCache, StatementCache
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.response_models.rubrics import PassFailResult
from rag_evals.run import Progress
from rag_evals.score_citations import CitationFaithfulnessResult
from rag_evals.score_faithfulness_audited import AuditedFaithfulnessResult, AuditedStatement
from rag_evals.score_faithfulness_two_step import HHEMFaithfulness
from rag_evals.score_precision import ChunkPrecisionResult, GradedChunk
from rag_evals.score_recall import ContextRecallResult, ReferenceStatement
from rag_evals.score_relevance import AnswerRelevanceResult
from rag_evals.testing import HttpError, Reply, ScriptedJudge
from rag_evals.verify import CascadeVerifier, LLMVerifier


class Politeness(Result):
    requires: ClassVar = ("answer",)
    reasoning: str
    polite: bool

    @property
    def score(self) -> float:
        return float(self.polite)


class Note(BaseModel):
    text: str


def one_answer() -> None:
    client = instructor.from_openai(OpenAI())
    result = Faithfulness.grade(question="q", answer="a", context=["c"], client=client, model="m")
    assert_type(result, FaithfulnessResult)
    assert_type(result.score, float)
    assert_type(result.statements[0], StatementEvaluation)
    assert_type(result.statements[0].reasoning, str | None)
    Faithfulness.grade("q", "a", [{"text": "c", "page": 3}], "embedded")
    audited = AuditedFaithfulness.grade("q", "a", ["c"], client)
    assert_type(audited, AuditedFaithfulnessResult)
    assert_type(audited.statements[0], AuditedStatement)
    assert_type(audited.coverage, float)
    cited = CitationFaithfulness.with_language("ru").grade(answer="a [1]", context=["c"])
    assert_type(cited, CitationFaithfulnessResult)
    assert_type(ChunkPrecision.grade(question="q", context=["c"]).avg_score, float)


async def one_answer_async() -> None:
    client = instructor.from_openai(AsyncOpenAI())
    result = await AnswerRelevance.agrade(question="q", answer="a", client=client, model="m")
    assert_type(result, AnswerRelevanceResult)


def by_hand() -> None:
    supported = StatementEvaluation(statement="…", is_supported=True, supporting_chunk_ids=[0])
    assert_type(supported.supporting_chunk_ids, list[int])
    FaithfulnessResult(statements=[supported])
    reference = ReferenceStatement(statement="…", is_covered=False)
    ContextRecallResult(statements=[reference])
    ChunkPrecisionResult(graded_chunks=[GradedChunk(id_chunk=0, score=True)])
    AuditedStatement(statement="…", is_supported=False, verdict="contradicted")
    PassFailResult(passed=True)


def own_graders() -> None:
    polite = base.ContextEvaluation(prompt="Is it polite?", response_model=Politeness)
    assert_type(polite.grade(answer="a", client="openai/m"), Politeness)
    note = base.ContextEvaluation(prompt=Path("note.jinja"), response_model=Note, model="m")
    assert_type(note.grade(answer="a", client="openai/m"), Note)
    assert_type(Faithfulness.prompt, str)


def runs() -> None:
    def report(progress: Progress) -> None:
        print(progress.done)

    run = evaluate("answers.jsonl", graders=[Faithfulness, "chunk_precision"], client="openai/m")
    assert_type(run, Run)
    assert_type(run.outcomes[0].score, float | None)
    assert_type(run.of(Faithfulness)[0].result, FaithfulnessResult | None)
    assert_type(run.of(AnswerRelevance), list[Outcome[AnswerRelevanceResult]])
    columns = ColumnMap(answer=lambda row: row["out"], context="docs.list")
    evaluate([{"out": "a"}], [Faithfulness], columns=columns, out=Path("out"), progress=report)
    evaluate(Sample(answer="a", context="c") for _ in range(3))


def parts() -> None:
    cascade = CascadeVerifier(EmbeddedVerifier(), LLMVerifier(batch_size=5), unsure=(0.3, 0.7))
    grader = TwoStepFaithfulness.with_parts(verifier=cascade).with_cache(
        StatementCache("verdicts.sqlite3")
    )
    result = grader.grade(answer="a", context=["c"], client="openai/m")
    assert_type(result.statements[0].decided_by, str | None)
    same: FaithfulnessResult = HHEMFaithfulness.with_language("ru").grade(answer="a", context="c")
    assert_type(same.score, float)
    SemanticCache(embed=lambda texts: [[1.0] for _ in texts], threshold=0.9)


async def runs_async() -> None:
    assert_type(await aevaluate([Sample(answer="a")], client="embedded"), Run)


def tests() -> None:
    with ScriptedJudge([Reply({"statements": []}), HttpError(500)]) as judge:
        assert_type(judge.base_url, str)
    ScriptedJudge(lambda request: {"statements": [], "note": request.question})
