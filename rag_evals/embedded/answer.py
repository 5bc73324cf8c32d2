"""How surely does a whole answer hold, when each of its statements is supported so surely?

Every statement must hold, so their chances are multiplied. A sum over log odds would let a long
answer fail by accident, a mean would let true sentences hide a false one: here each further
statement lowers the figure, a true one hardly.
"""

from collections.abc import Iterable
from math import exp, log1p

from rag_evals.embedded.model import log_odds

LEAST_ANSWER_SUPPORT = 0.5
"""From here on a whole answer counts as supported, however many statements it has."""

# Of LFQA, ExpertQA and dialogue replies: the first two rank answers well, the last calibrates.
_SLOPE, _OFFSET = 2.0, 1.0
_SHARED_FAULTS = 0.4


def answer_support(supports: Iterable[float]) -> float:
    """Return how surely all statements of an answer hold.

    Args:
        supports: Of its statements, 0 to 1; 1 for none.

    Returns:
        0 to 1. A further statement never raises it, so no padding makes an answer pass.
    """
    chances = sum(-log1p(exp(-(_SLOPE * log_odds(support) + _OFFSET))) for support in supports)
    # Statements of one answer tend to be wrong together: the product alone would be too low.
    return exp(_SHARED_FAULTS * chances)
