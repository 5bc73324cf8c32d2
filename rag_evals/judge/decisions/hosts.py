"""How much may one request to a decision model hold? As its host publishes it."""

from dataclasses import dataclass

from rag_evals.errors import ConfigurationError
from rag_evals.judge.providers import CHAT, DECISION_HOSTS, Endpoint, read_endpoint

MOST_LEVELS = 10
"""Of a score, on either wire."""


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one request may hold.

    Attributes:
        questions: At most so many; more of them are sent in several requests.
        options: Of one choice, at most.
    """

    # OpenAI's own; hosts that publish none are taken to be like it.
    questions: int = 400
    options: int = 255


_OWN = {"fireworks": HostLimits(options=208)}


def decision_limits(spec: str) -> HostLimits:
    """Return the limits of the host that a string names, such as `decisions:openai/gpt-6-luna`.

    Raises:
        ConfigurationError: It names no decision model.
    """
    endpoint = read_endpoint(spec)
    if endpoint.wire == CHAT:
        wires = " or ".join(f"'{wire}:'" for wire in DECISION_HOSTS)
        raise ConfigurationError(
            f"{spec!r} names no decision model; expected {wires} before it, as in "
            "'decisions:openai/gpt-6-luna'"
        )
    return limits_of(endpoint)


def is_decision_model(spec: str) -> bool:
    """Say whether a string names a decision model."""
    return spec.partition(":")[0] in DECISION_HOSTS


def limits_of(endpoint: Endpoint) -> HostLimits:
    """Return the limits of an endpoint's host."""
    return _OWN.get(endpoint.provider, HostLimits())
