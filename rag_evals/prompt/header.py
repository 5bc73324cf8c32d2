"""What does the front matter of a prompt file say? Reads and checks its YAML."""

import re
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rag_evals.core import check_settings
from rag_evals.errors import ConfigurationError, PromptError

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


def _settings(given: Any) -> dict[str, Any]:
    """Check settings; pydantic takes a ValueError for the fault of a field."""
    try:
        return check_settings(given)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


class PromptHeader(BaseModel):
    """What the front matter of a prompt file says."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, description="What the grader is called in results.")
    version: int | str | None = Field(
        default=None, description="The author's own count of changes."
    )
    description: str | None = Field(
        default=None, description="The task in one line, for lists and judges."
    )
    response_model: str | None = Field(
        default=None, description="Catalog name of the reply's model."
    )
    language: str | None = Field(
        default=None, pattern=r"^[a-z]{2,3}$", description="Language the prompt is written in."
    )
    settings: Annotated[dict[str, Any], BeforeValidator(_settings)] = Field(
        default_factory=dict, description="What the judge is asked with, such as temperature."
    )
    criteria: dict[str, str] = Field(
        default_factory=dict, description="What a checklist asks, by name."
    )
    examples: list[dict[str, Any]] = Field(default_factory=list, description="Few-shot examples.")


class _Loader(yaml.SafeLoader):
    """Safe YAML without aliases: a few of them, each naming the one before, fill any memory."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # as the stubs have it
            raise yaml.MarkedYAMLError(None, None, "aliases (*) are not read here", mark)
        return super().compose_node(parent, index)


def split_front_matter(raw: str, origin: str) -> tuple[PromptHeader, str, int]:
    """Return the header, the template text, and how many lines stood before it."""
    found = _FRONT_MATTER.match(raw)
    if found is None:
        return PromptHeader(), raw, 0
    try:
        loaded = yaml.load(found.group(1), _Loader) or {}
        header = PromptHeader.model_validate(loaded)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        raise PromptError(f"{origin}, line {line}: front matter is not YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "front matter"
        known = ", ".join(PromptHeader.model_fields)
        said = first["msg"].removeprefix("Value error, ")
        raise PromptError(f"{origin}: {place}: {said}; keys are {known}") from error
    except (ValueError, TypeError, RecursionError) as error:
        # A date such as 2024-99-99, a number of 5,000 digits, ten thousand brackets.
        raise PromptError(f"{origin}: front matter cannot be read: {error}") from error
    return header, raw[found.end() :], raw.count("\n", 0, found.end())
