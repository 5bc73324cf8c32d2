"""What does the shell offer for the value of an option? Names of ours, each with what it is.

Each function takes what was typed so far, and returns the values that begin with it.
"""

from collections.abc import Iterable, Iterator, Mapping

from rag_evals.catalog import GRADERS
from rag_evals.dataset import PRESETS
from rag_evals.judge import PROVIDERS
from rag_evals.prompt import Prompt, shipped_languages, shipped_names
from rag_evals.verify import EMBEDDED, KINDS

_OTHER_JUDGES: Mapping[str, str] = {
    EMBEDDED: "on this machine, without a key",
    f"{EMBEDDED}@strict": "the same, harder to please",
    **{prefix: f"{one.what}, such as {one.example}" for prefix, one in KINDS.items() if one.what},
}

Offered = list[tuple[str, str]]
"""Values with a short help text each."""


def judges(typed: str) -> Offered:
    """Offer judges: local ones, providers with a slash for the model, and stages of a cascade."""
    first, cascade, last = typed.rpartition(">")
    models = {f"{name}/": "a model of this provider" for name in PROVIDERS}
    found = _beginning(last, {**_OTHER_JUDGES, **models}.items())
    return [(f"{first}{cascade}{value}", text) for value, text in found]


def graders(typed: str) -> Offered:
    """Offer the shipped graders."""
    return _beginning(typed, ((name, one.description or "") for name, one in GRADERS.items()))


def prompts(typed: str) -> Offered:
    """Offer the shipped prompts, those in other languages as CODE/NAME."""
    return _beginning(typed, _prompts())


def presets(typed: str) -> Offered:
    """Offer the tools whose column names are known."""
    return _beginning(typed, ((one.name, f"columns as {one.name} has them") for one in PRESETS))


def languages(typed: str) -> Offered:
    """Offer the languages that there are prompts in."""
    return _beginning(typed, ((code, "prompts in it are shipped") for code in _languages()))


def _beginning(typed: str, offered: Iterable[tuple[str, str]]) -> Offered:
    return [(value, text) for value, text in offered if value.startswith(typed)]


def _languages() -> list[str]:
    return ["en", *shipped_languages()]


def _prompts() -> Iterator[tuple[str, str]]:
    for name in (*shipped_names(), *_in_other_languages()):
        yield name, Prompt.shipped(name).header.description or ""


def _in_other_languages() -> Iterator[str]:
    for code in shipped_languages():
        yield from (f"{code}/{name}" for name in shipped_names(code))
