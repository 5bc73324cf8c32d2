"""How are requests sent as a batch? A table of hosts, and one file for each way to send to them.

Everything here is safe to repeat: what was sent is found again, so that nothing is paid for twice
when a reply is lost on the way or the program is killed.
"""

from rag_evals.judge.batches.api import BatchApi
from rag_evals.judge.batches.hosts import (
    BATCH_HOSTS,
    BatchHost,
    batch_host,
    batch_price_share,
)
from rag_evals.judge.batches.opening import open_batch_api
from rag_evals.judge.batches.results import ENDED, BatchResult, BatchState, read_result

__all__ = [
    "BATCH_HOSTS",
    "ENDED",
    "BatchApi",
    "BatchHost",
    "BatchResult",
    "BatchState",
    "batch_host",
    "batch_price_share",
    "open_batch_api",
    "read_result",
]
