"""What does a call cost? A small dated table of list prices, which a user's file overrides."""

import json
import os
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from rag_evals.core import Usage
from rag_evals.errors import ConfigurationError

PRICES_VARIABLE = "RAG_EVALS_PRICES"
"""Environment variable with a file of prices that come before the shipped ones."""

_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """List price of one model, in US dollars for a million tokens.

    Attributes:
        prompt: Tokens sent.
        completion: Tokens received.
        cached: Tokens sent that the provider had cached.
        as_of: Month of the price list, such as `2026-06`.
    """

    prompt: float
    completion: float
    cached: float
    as_of: str

    def cost_usd(self, usage: Usage) -> float:
        """Return what some usage costs, in US dollars."""
        fresh = usage.prompt_tokens - usage.cached_tokens
        spent = fresh * self.prompt + usage.cached_tokens * self.cached
        return (spent + usage.completion_tokens * self.completion) / _TOKENS


def price_of(model: str | None) -> Price | None:
    """Find the price of a model; a dated name such as `gpt-4o-mini-2024-07-18` has its family's.

    Args:
        model: As the endpoint knows it, with or without `PROVIDER/`.

    Returns:
        None when the model is not in the tables: no price is guessed.

    Raises:
        ConfigurationError: The user's file cannot be read.
    """
    if model is None:
        return None
    return _found(model.rpartition("/")[2], os.environ.get(PRICES_VARIABLE) or None)


@lru_cache(maxsize=1000)
def _found(name: str, own: str | None) -> Price | None:
    tables = [] if own is None else [_read(own)]
    for table in (*tables, _shipped()):
        for known in sorted(table, key=len, reverse=True):
            dated = name.removeprefix(f"{known}-")
            if name == known or (dated != name and dated[:4].isdigit()):
                return table[known]
    return None


@cache
def _shipped() -> dict[str, Price]:
    file = resources.files("rag_evals") / "_data" / "prices.json"
    return _table(json.loads(file.read_text(encoding="utf-8")))


@cache
def _read(name: str) -> dict[str, Price]:
    try:
        return _table(json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"price file {name!r} cannot be used ({type(error).__name__}: {error}); expected "
            '{"as_of": "2026-06", "models": {"NAME": {"prompt": 1.0, "completion": 2.0}}}'
        ) from error


def _table(loaded: dict[str, Any]) -> dict[str, Price]:
    return {
        name: Price(
            float(price["prompt"]),
            float(price["completion"]),
            float(price.get("cached", price["prompt"])),
            str(price.get("as_of", loaded["as_of"])),
        )
        for name, price in loaded["models"].items()
    }
