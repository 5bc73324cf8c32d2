# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.cache.semantic import SemanticCache as SemanticCache
from rag_evals.cache.statements import StatementCache as StatementCache
from rag_evals.cache.statements import cached as cached
from rag_evals.cache.statements import configured_cache as configured_cache

__all__: list[str]
