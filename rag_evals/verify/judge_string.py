"""Judge strings, and the table that maps their prefixes to verifiers.

A string is `embedded`, `hf:MODEL`, `decisions:PROVIDER/MODEL`, `A>B`, or an endpoint.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from rag_evals.core import Verifier
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.judge.clients.strings import read_endpoint
from rag_evals.verify.cascade import CascadeVerifier
from rag_evals.verify.llm import LLMVerifier

EMBEDDED = "embedded"
"""The judge that needs no key, no network and no model file."""

EMBEDDED_GRADERS = (
    "faithfulness",
    "faithfulness_two_step",
    "faithfulness_hhem",
    "answer_correctness",
    "rag",
    "retrieval_ranks",
)
"""Names of the shipped graders that can use a verifier."""

CLASSIFIER_PREFIX, DECISION_PREFIX = "hf:", "decisions:"
"""Prefixes for Hugging Face classifiers and decision models."""


class _Kind(NamedTuple):
    """A type of verifier: its class in `rag_evals.verify`, or a function that parses the string.

    `what` is the type's name in error messages; `example` is empty if nothing follows the prefix.
    """

    make: str | Callable[[str], Verifier | None]
    what: str = ""
    example: str = ""
    options: Mapping[str, type] = {}


def _embedded(part: str) -> Verifier | None:
    part, _, query = part.partition("?")
    named, at, threshold = part.rpartition("@") if "@" in part else (part, "", "")
    prefix, colon, weights = named.partition(":")
    if prefix != EMBEDDED:
        return None
    if colon and not weights:
        raise ConfigurationError(f"judge {part!r} needs a file; expected embedded:weights.json")
    try:
        limit: Any = float(threshold) if at else None
    except ValueError:
        limit = threshold  # a name, which the verifier checks
    languages = _options(query, KINDS[EMBEDDED]).get("languages")
    allowed = () if languages is None else languages.split(",")
    return EmbeddedVerifier(limit, weights=weights or None, languages=allowed)


_CLASSIFIER: Mapping[str, type] = {
    "device": str,
    "batch_size": int,
    "threshold": float,
    "entailment": str,
    "join": str,
    "dtype": str,
    "revision": str,
    "local_files_only": bool,
}
_DECISION: Mapping[str, type] = {"chunks": str, "threshold": float}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

KINDS: Mapping[str, _Kind] = {
    EMBEDDED: _Kind(_embedded, "the embedded judge", options={"languages": str}),
    CLASSIFIER_PREFIX: _Kind("ClassifierVerifier", "a classifier", "hf:MODEL", _CLASSIFIER),
    DECISION_PREFIX: _Kind(
        "DecisionVerifier", "a decision model", "decisions:openai/MODEL", _DECISION
    ),
}
"""Verifier types, keyed by string prefix; a string without a prefix is an endpoint."""


class JudgeSpec(NamedTuple):
    """The verifier, if any, and the endpoint, if any, that a judge string specifies."""

    verifier: Verifier | None
    endpoint: str | None


def read_judge(spec: str) -> JudgeSpec:
    """Parse the value of `--judge` or `client=`.

    Args:
        spec: `embedded`, `hf:MODEL`, `PROVIDER/MODEL`, or two of these as `A>B`, in which B judges
            the statements that A is unsure about. `PROVIDER/MODEL@http://HOST/v1` is a server with
            the OpenAI API. `embedded:FILE` uses weights written by the training command; a trailing
            `@strict` or `@0.8` sets the threshold. `embedded?languages=de,fr` accepts verdicts in
            these languages besides English and Russian; `any` accepts every language.
            `hf:MODEL?device=cuda:0&batch_size=32` sets arguments of `ClassifierVerifier`.
            `decisions:openai/gpt-6-luna` and `decisions:MODEL@URL` call a decision model;
            `?chunks=none&threshold=0.7` sets arguments of `DecisionVerifier`.

    Raises:
        ConfigurationError: A part is empty, an option or a provider is unknown, an endpoint comes
            first in `A>B`, or the weights file, the threshold or the address is invalid.
    """
    first, arrow, then = spec.partition(">")
    if not arrow:
        verifier = _verifier(spec)
        if verifier is None:
            read_endpoint(spec)
        return JudgeSpec(verifier, None if verifier else spec)
    cheap = _verifier(first.strip())
    if cheap is None or not then.strip():
        raise ConfigurationError(
            f"judge {spec!r}: expected a local verifier, '>' and a judge for uncertain statements, "
            "such as 'embedded>openai/gpt-4o-mini'"
        )
    rest = read_judge(then.strip())
    second = rest.verifier or LLMVerifier(name=rest.endpoint or "")
    return JudgeSpec(CascadeVerifier(cheap, second), rest.endpoint)


def verifier_from_string(spec: str) -> Verifier:
    """Return the verifier for a `--verifier` value; an endpoint is wrapped in an `LLMVerifier`."""
    verifier, endpoint = read_judge(spec)
    if endpoint is None and verifier is not None:
        return verifier
    if isinstance(verifier, CascadeVerifier):
        return CascadeVerifier(verifier.first, verifier_from_string(spec.partition(">")[2].strip()))
    return LLMVerifier(endpoint=endpoint)


def _verifier(part: str) -> Verifier | None:
    prefix = next((one for one in KINDS if part.startswith(one)), None)
    if prefix is None:
        return None
    kind = KINDS[prefix]
    if not isinstance(kind.make, str):
        return kind.make(part)
    # Imported on first use, so that importing the package stays fast.
    make: Callable[..., Verifier] = getattr(import_module("rag_evals.verify"), kind.make)
    model, _, query = part.partition("?")
    if not kind.example:
        return make() if part == prefix else None
    if model == prefix:
        raise ConfigurationError(f"judge {part!r} needs a model; expected {kind.example!r}")
    # `DecisionVerifier` expects the prefix.
    named = model if prefix == DECISION_PREFIX else model.removeprefix(prefix)
    return make(named, **_options(query, kind))


def _options(query: str, kind: _Kind) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        wanted = kind.options.get(name)
        if wanted is None:
            raise ConfigurationError(
                f"no option {name!r} for {kind.what}; options are: {', '.join(kind.options)}"
            )
        try:
            options[name] = _TRUTH[value.lower()] if wanted is bool else wanted(value)
        except (ValueError, KeyError):
            expected = "'true' or 'false'" if wanted is bool else "a number"
            raise ConfigurationError(f"option {name} is {value!r}; expected {expected}") from None
    return options
