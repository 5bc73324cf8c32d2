"""Which way of sending does a judge string ask for?"""

from collections.abc import Callable, Mapping

from rag_evals.judge.batches.anthropic_wire import AnthropicBatches
from rag_evals.judge.batches.api import BatchApi
from rag_evals.judge.batches.hosts import BatchWire, batch_host
from rag_evals.judge.batches.openai_wire import OpenAIBatches
from rag_evals.judge.providers import Endpoint, read_endpoint

_KINDS: Mapping[BatchWire, Callable[[str, Endpoint], BatchApi]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def open_batch_api(spec: str) -> BatchApi:
    """Return the batches of an endpoint; whoever asks for them closes them.

    Raises:
        ConfigurationError: It takes none, or there is no key.
    """
    return _KINDS[batch_host(spec).wire](spec, read_endpoint(spec))
