"""How does a response model become a class that instructor can use for every call?

instructor makes a new class and a new JSON schema on every call; a model prepared once skips both.
The prepared class also passes the facts of the call to validators, and returns plain instances of
the user's own class.

Some values differ from the schema, but can mean only one thing: "0" for a number is 0, "true" for a
yes or no is True; asking again would cost a call and bring nothing. Everything else that the schema
does not allow is a fault: "1.5" is not an id, and 1 for a yes or no may be a rating out of five.
"""

import copy
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from rag_evals.core import facts_for
from rag_evals.judge.wire.exchange import current_exchange, one_object


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

    In a definition that holds itself, which `within` names, the reference stays and the words go.
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


M = TypeVar("M", bound=BaseModel)

# As many digits as a float holds: nothing is lost on the way.
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,7})\.\d{1,7}", re.ASCII)
_TRUTHS = {"true": True, "false": False}


# Keys and indexes that lead to a value, and what to put there.
_Mend = tuple[tuple[int | str, ...], int | float | bool]


def validated_json(model: type[M], text: str | bytes, options: Mapping[str, Any]) -> M:
    """Validate the JSON of a reply, lossless forms taken for what they say.

    Raises:
        ValidationError: What is wrong in any other way.
    """
    try:
        return model.model_validate_json(text, **options)
    except ValidationError as error:
        if not (mends := _mends(error)):
            raise
    # As JSON once more: what a strict model takes from JSON is not what it takes from Python.
    return model.model_validate_json(to_json(_mended(from_json(text), mends)), **options)


def validated(model: type[M], reply: Any, options: Mapping[str, Any]) -> M:
    """Validate a reply that was parsed before; as `validated_json` otherwise."""
    try:
        return model.model_validate(reply, **options)
    except ValidationError as error:
        if not (mends := _mends(error)):
            raise
    return model.model_validate(_mended(copy.deepcopy(reply), mends), **options)


def _mends(error: ValidationError) -> list[_Mend]:
    found: list[_Mend] = []
    for fault in error.errors(include_url=False, include_context=False):
        read = _READERS.get(fault["type"])
        value = None if read is None else read(fault["input"])
        if value is not None:
            found.append((fault["loc"], value))
    return found


def _mended(reply: Any, mends: list[_Mend]) -> Any:
    for path, value in mends:
        place = reply
        # A path may go through a choice of types, which the reply does not have.
        with suppress(KeyError, IndexError, TypeError):
            for step in path[:-1]:
                place = place[step]
            _ = place[path[-1]]
            place[path[-1]] = value
    return reply


def _whole(given: object) -> int | None:
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        return int(given)
    return int(given) if isinstance(given, float) and given.is_integer() else None


def _number(given: object) -> float | None:
    whole = _whole(given)
    if whole is None and isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        return float(given)
    return whole


def _truth(given: object) -> bool | None:
    return _TRUTHS.get(given.strip().lower()) if isinstance(given, str) else None


_READERS: Mapping[str, Callable[[object], int | float | bool | None]] = {
    "int_type": _whole,
    "literal_error": _whole,
    "float_type": _number,
    "bool_type": _truth,
}
