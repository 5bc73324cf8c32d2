# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.embedded.claims import PreparedStatement as PreparedStatement
from rag_evals.embedded.claims import prepare_answer as prepare_answer
from rag_evals.embedded.evidence import evidence_words as evidence_words
from rag_evals.embedded.evidence import find_passages as find_passages
from rag_evals.embedded.evidence import quoted_passages as quoted_passages
from rag_evals.embedded.setting import claims_in_setting as claims_in_setting
from rag_evals.embedded.verifier import EmbeddedVerifier as EmbeddedVerifier
from rag_evals.embedded.verifier import unread_words as unread_words

__all__: list[str]
