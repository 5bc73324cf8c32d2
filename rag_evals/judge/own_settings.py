"""What has a client been given that can change an answer? Part of the keys of caches."""

from collections.abc import Mapping
from inspect import getclosurevars, isfunction
from typing import Any

from rag_evals.core import fingerprint

_MEANS_NOTHING = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "host", "idempotency-key"}
    | {"traceparent", "tracestate", "user-agent", "x-request-id"}
)
# Of a key only its owner knows more than that there is one; a new key must not cost a new run.
_SECRET = ("auth", "key", "token", "secret", "cookie", "signature")


def client_settings(client: object) -> dict[str, Any]:
    """Return the settings that a client is made with, which go with each of its calls."""
    kept = getattr(client, "kwargs", None)
    return dict(kept) if isinstance(kept, dict) else {}


def own_model(client: Any) -> str | None:
    """Return the model that an instructor client asks by itself; None when it does not say."""
    model = client_settings(client).get("model")
    create = getattr(client, "create_fn", None)
    if model is None and isfunction(create):
        # `from_openai(client, model="m")` leaves it nowhere else.
        model = getclosurevars(create).nonlocals.get("default_model")
    return model if isinstance(model, str) else None


def settings_of(client: Any) -> str:
    """Return a hash of what a client sends with each call, its model, address and keys left out.

    Args:
        client: An instructor client: its mode, its own arguments such as `temperature`, and the
            headers and the query of the provider's client below it count.
    """
    sdk = getattr(client, "client", None)
    transport = getattr(sdk, "_client", None)
    arguments = client_settings(client)
    arguments.pop("model", None)
    headers = [
        _public(source)
        for source in (
            getattr(transport, "headers", None),
            getattr(sdk, "_custom_headers", None),
            arguments.pop("extra_headers", None),
        )
    ]
    query = [
        _public(source)
        for source in (
            getattr(transport, "params", None),
            getattr(sdk, "_custom_query", None),
            arguments.pop("extra_query", None),
        )
    ]
    mode = getattr(getattr(client, "mode", None), "name", "")
    return fingerprint(mode, _public(arguments), headers, query)


def _public(values: object) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        return {}
    named = {str(name).lower(): value for name, value in values.items()}
    return {
        name: value
        for name, value in named.items()
        if name not in _MEANS_NOTHING and not any(secret in name for secret in _SECRET)
    }
