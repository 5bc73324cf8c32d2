"""How does a response model become a class that instructor can use for every call?

instructor makes a new class and a new JSON schema on every call; a model prepared once skips both.
The prepared class also passes the facts of the call to validators, and returns plain instances of
the user's own class.
"""

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from rag_evals.core import facts_for
from rag_evals.judge.exchange import current_exchange
from rag_evals.judge.lossless import validated, validated_json
from rag_evals.judge.replies import one_object


class Parsed:
    """Carries a plain instance past instructor, which would mark or wrap a model."""

    # instructor sets the second on whatever Gemini's, Vertex' and Grok's replies were read into.
    __slots__ = ("_raw_response", "value")

    def __init__(self, value: BaseModel) -> None:
        self.value = value


@cache
def prepared(model: type[BaseModel], *, schema_only: bool) -> type[BaseModel]:
    """Return the class that instructor is given in place of `model`; one for each model.

    Args:
        model: What the judge fills.
        schema_only: Leave the model itself out of the class. instructor walks through every member
            of a model and of all models in it, five times a call, to find async validators;
            OpenAI's handlers need only the schema and the validation, other providers' may need
            more.
    """
    from instructor import OpenAISchema  # noqa: PLC0415 - loads openai, 1.4 s

    # The name of the reply; the models of this package leave it out of nested schemas.
    schema = {**model.model_json_schema(), "title": model.__name__}
    bases = (OpenAISchema,) if schema_only else (model, OpenAISchema)

    class Prepared(*bases):  # type: ignore[misc]  # the bases are values
        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            # instructor edits what it gets.
            return copy.copy(schema)

        @classmethod
        def model_validate_json(cls, json_data: Any, **options: Any) -> Any:
            options = _with_facts(options)
            try:
                return Parsed(validated_json(model, json_data, options))
            except ValidationError as error:
                found = one_object(json_data) if _is_no_json(error) else None
                if found is None:
                    raise
                return Parsed(validated_json(model, found, options))

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Any:
            return Parsed(validated(model, obj, _with_facts(options)))

    Prepared.__name__ = Prepared.__qualname__ = model.__name__
    Prepared.__doc__ = model.__doc__
    made: type[BaseModel] = Prepared
    return made


def _with_facts(options: dict[str, Any]) -> dict[str, Any]:
    exchange = current_exchange.get()
    if exchange is not None:
        exchange.check_one_call()
        options["context"] = facts_for(exchange.call.facts, is_last=exchange.is_last_attempt)
    return options


def _is_no_json(error: ValidationError) -> bool:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return faults[0]["type"] == "json_invalid"


@cache
def strict_response_format(model: type[BaseModel]) -> dict[str, Any] | None:
    """Build the strict form of `response_format`.

    Returns:
        None when the model has an open dictionary, which strict schemas do not allow.
    """
    schema: Any = model.model_json_schema()
    schema = _alone(schema, schema.get("$defs", {}), ())
    if not _close(schema):
        return None
    described = {"name": model.__name__, "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def _alone(node: Any, named: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    """Copy a schema, with a definition in place of each reference that has words beside it.

    OpenAI refuses these: "$ref cannot have keywords {'description'}".

    Args:
        node: A part of the schema.
        named: Its definitions.
        within: Those that are being written out: in a definition that holds itself, the reference
            stays and the words go.
    """
    if isinstance(node, list):
        return [_alone(element, named, within) for element in node]
    if not isinstance(node, dict):
        return node
    beside = dict(node)
    # How older versions of pydantic write such a reference.
    if isinstance(parts := beside.get("allOf"), list) and len(parts) == 1:
        beside |= beside.pop("allOf")[0]
    reference = str(beside.get("$ref", ""))
    name = reference.rpartition("/")[2]
    if name in named and len(beside) > 1:
        del beside["$ref"]
        if name in within:
            return {"$ref": reference}
        beside, within = {**named[name], **beside}, (*within, name)
    return {key: _alone(value, named, within) for key, value in beside.items()}


def _close(node: Any) -> bool:
    """Require every property and forbid others, all the way down; False where that cannot be."""
    if isinstance(node, list):
        return all(_close(element) for element in node)
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object":
        if node.get("additionalProperties") not in (None, False) or "properties" not in node:
            return False
        node["additionalProperties"] = False
        node["required"] = list(node["properties"])
        for entry in node["properties"].values():
            entry.pop("default", None)
    return all(_close(value) for value in node.values())
