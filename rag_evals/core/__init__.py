"""Which types do all rooms share? Samples, results, findings, steps, verdicts, verifiers."""

from rag_evals.core.arguments import require_fraction, require_known, require_whole
from rag_evals.core.chunk import Chunk, ContextInput
from rag_evals.core.claim import Claim, as_claims, text_before
from rag_evals.core.facts import (
    ChunkId,
    SentenceId,
    StatementText,
    check_each_once,
    facts_for,
    facts_of,
    is_last_attempt,
)
from rag_evals.core.files import MISSING, fault_of, private_file
from rag_evals.core.finding import (
    CONTRADICTED,
    About,
    Finding,
    Quote,
    chunk_text,
    findings_of,
    read_findings,
    yes_or_no,
)
from rag_evals.core.fingerprint import fingerprint, written_out
from rag_evals.core.flow import (
    Flow,
    JudgeCall,
    JudgeReply,
    LocalCall,
    LocalReply,
    LocalVerifier,
    Message,
    Step,
    StepReply,
    Usage,
    VerifyCall,
    VerifyReply,
    check_verdicts,
)
from rag_evals.core.judge_settings import (
    DEFAULT_TEMPERATURE,
    SETTING_NAMES,
    JudgeSettings,
    check_settings,
    parse_settings,
)
from rag_evals.core.meter import Meter
from rag_evals.core.phrases import (
    LANGUAGE_VARIABLE,
    LANGUAGES,
    Phrase,
    Phrases,
    notebook_phrases,
    phrases,
)
from rag_evals.core.places import Keys, Places, key_of
from rag_evals.core.result import (
    JudgeModel,
    OptionalList,
    Reasoning,
    Result,
    SampleField,
    Tallies,
)
from rag_evals.core.sample import Sample, TextInput
from rag_evals.core.shown import findings_line, findings_lines, more_said, result_html
from rag_evals.core.text_reply import TextReply
from rag_evals.core.verdict import Evidence, Verdict
from rag_evals.core.verifier import CacheMode, Verifier
from rag_evals.core.watching import Watcher, Work, watch, watched, watching
from rag_evals.core.wrapped_verifier import WrappedVerifier

__all__ = [
    "CONTRADICTED",
    "DEFAULT_TEMPERATURE",
    "LANGUAGES",
    "LANGUAGE_VARIABLE",
    "MISSING",
    "SETTING_NAMES",
    "About",
    "CacheMode",
    "Chunk",
    "ChunkId",
    "Claim",
    "ContextInput",
    "Evidence",
    "Finding",
    "Flow",
    "JudgeCall",
    "JudgeModel",
    "JudgeReply",
    "JudgeSettings",
    "Keys",
    "LocalCall",
    "LocalReply",
    "LocalVerifier",
    "Message",
    "Meter",
    "OptionalList",
    "Phrase",
    "Phrases",
    "Places",
    "Quote",
    "Reasoning",
    "Result",
    "Sample",
    "SampleField",
    "SentenceId",
    "StatementText",
    "Step",
    "StepReply",
    "Tallies",
    "TextInput",
    "TextReply",
    "Usage",
    "Verdict",
    "Verifier",
    "VerifyCall",
    "VerifyReply",
    "Watcher",
    "Work",
    "WrappedVerifier",
    "as_claims",
    "check_each_once",
    "check_settings",
    "check_verdicts",
    "chunk_text",
    "facts_for",
    "facts_of",
    "fault_of",
    "findings_line",
    "findings_lines",
    "findings_of",
    "fingerprint",
    "is_last_attempt",
    "key_of",
    "more_said",
    "notebook_phrases",
    "parse_settings",
    "phrases",
    "private_file",
    "read_findings",
    "require_fraction",
    "require_known",
    "require_whole",
    "result_html",
    "text_before",
    "watch",
    "watched",
    "watching",
    "written_out",
    "yes_or_no",
]
