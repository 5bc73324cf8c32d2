"""What was decided before? Replies of judges and verdicts of verifiers, in one SQLite file."""

from rag_evals import lazy_names

NAMES = {
    "calls": ("CALLS_TABLE", "CachedJudge", "open_calls"),
    "configured": ("check_cache_variables", "configured_cache"),
    "database": ("Database", "count_rows", "default_path", "remove", "size_of"),
    "embed": ("Embed", "Embedder", "embedder_from_string"),
    "guard": ("may_share_verdict",),
    "semantic": ("SemanticCache",),
    "statements": ("STATEMENTS_TABLE", "StatementCache", "cached"),
}
"""Every name of this room that others may use, by the file that has it."""

__getattr__, __dir__, __all__ = lazy_names(__name__, NAMES)
