"""The embedded judge: free, offline, in milliseconds, with its reasons in words.

Nothing but the verifier's settings is loaded on import; the engine and the weights come with the
first verdict.
"""

from rag_evals.verify.embedded.verifier import EmbeddedVerifier

__all__ = ["EmbeddedVerifier"]
