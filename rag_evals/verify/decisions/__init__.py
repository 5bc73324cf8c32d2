"""What does a decision model say of each statement? A probability; and which chunk carries it.

`verifier.py` decides, `words.py` has what the model is asked, `state.py` what it reads first.
"""

from rag_evals.verify.decisions.state import STATE_TAGS, rubric_part, sample_state
from rag_evals.verify.decisions.verifier import DecisionVerifier

__all__ = ["STATE_TAGS", "DecisionVerifier", "rubric_part", "sample_state"]
