# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.embedded.claims import PreparedStatement as PreparedStatement
from rag_evals.embedded.claims import prepare_answer as prepare_answer
from rag_evals.embedded.evidence import evidence_words as evidence_words
from rag_evals.embedded.setting import claims_in_setting as claims_in_setting
from rag_evals.embedded.verifier import EmbeddedVerifier as EmbeddedVerifier

__all__: list[str]
