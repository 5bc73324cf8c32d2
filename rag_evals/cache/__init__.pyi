# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.cache.semantic import SemanticCache as SemanticCache
from rag_evals.cache.statements import StatementCache as StatementCache
from rag_evals.cache.statements import cached as cached
from rag_evals.cache.statements import configured_cache as configured_cache

__all__: list[str]
