"""Which providers take batches, how large, and at what price? One table.

Its figures are those of the providers' pages and libraries in November 2026:

- OpenAI, guide "Batch API": half price; 50,000 requests and 200 MB in a file.
- Azure, "Getting started with global batch deployments": half price; the same limits.
- Groq, page "Batch Processing": half price, 50,000 lines; its library `groq` 1.7 says 100 MB.
- Anthropic, "Batch processing": half price; 100,000 requests or 256 MB in a request, a `custom_id`
  of at most 64 characters.
- vLLM: its `run-batch` reads and writes files of any size; who owns the machine pays for it.

A request is named by a key of 64 characters, letters and digits, which all of them take.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from rag_evals.errors import ConfigurationError
from rag_evals.judge.providers import CHAT, read_endpoint

_MEGABYTE = 10**6
_HALF = 0.5

BatchWire = Literal["openai", "anthropic"]
"""Whose files and batches a host has; `rag_evals.judge.batches` has one file for each."""


class BatchHost(NamedTuple):
    """What a provider says of its batches.

    Attributes:
        price_share: What a batch costs, as a share of the list price.
        max_requests: Requests of one batch, at most.
        max_bytes: Size of one batch, at most.
        wire: How a batch is sent.
        url: Where each line is sent.
        is_local: A program of the user's works off the files, and there is nothing to upload to.
    """

    price_share: float = _HALF
    max_requests: int = 50_000
    max_bytes: int = 200 * _MEGABYTE
    wire: BatchWire = "openai"
    url: str = "/v1/chat/completions"
    is_local: bool = False

    def line(self, key: str, body: Mapping[str, Any]) -> bytes:
        """Write a request of a batch.

        Args:
            key: Names it in the results.
            body: What is asked.
        """
        asked: dict[str, Any] = {"custom_id": key}
        if self.wire == "anthropic":
            asked["params"] = body
        else:
            asked |= {"method": "POST", "url": self.url, "body": body}
        # As text, whatever the letters: bytes are what a provider limits.
        return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


BATCH_HOSTS: Mapping[str, BatchHost] = {
    "openai": BatchHost(),
    "azure_openai": BatchHost(url="/chat/completions"),
    "groq": BatchHost(max_bytes=100 * _MEGABYTE),
    "anthropic": BatchHost(
        max_requests=100_000, max_bytes=256 * _MEGABYTE, wire="anthropic", url="/v1/messages"
    ),
    "vllm": BatchHost(1.0, is_local=True),
}
"""Providers that take batches."""


def batch_host(spec: str) -> BatchHost:
    """Return what the host of a judge string says of batches.

    Raises:
        ConfigurationError: It takes none.
    """
    endpoint = read_endpoint(spec)
    found = BATCH_HOSTS.get(endpoint.provider)
    if endpoint.wire != CHAT:
        raise ConfigurationError(
            f"judge {spec!r} takes no batches here: a decision model is asked at once, one request "
            "at a time; leave out --batch, or name a chat model, such as 'openai/gpt-4o-mini'"
        )
    if found is None:
        named = ", ".join(f"'{name}/MODEL'" for name in BATCH_HOSTS)
        raise ConfigurationError(
            f"judge {spec!r} takes no batches here; those of {named} do, and any host with "
            "OpenAI's batch interface does as 'openai/MODEL@https://HOST/v1'"
        )
    return found


def batch_price_share(spec: str) -> float:
    """Return what a batch costs, as a share of the list price: 0.5 is half of it."""
    found = BATCH_HOSTS.get(read_endpoint(spec).provider)
    return 1.0 if found is None else found.price_share
