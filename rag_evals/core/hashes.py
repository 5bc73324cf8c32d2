"""Did anything change? One hash of the values that shape a result, the same on any machine."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic_core import to_json


def fingerprint(*parts: Any) -> str:
    """Return 64 hex digits that name some values: equal values, equal digits.

    Parts are anything that JSON has, nested. What JSON has not (a path, a date) counts by its text;
    the keys of a mapping count in any order, and its items without a plain key do not count.

    Raises:
        ValueError: A part refers to itself.
        RecursionError: A part is nested too deeply.
    """
    try:
        packed = _packed(parts, sort_keys=True)
    except TypeError:  # the keys of a mapping are of several types, and have no order
        packed = _packed(parts, sort_keys=False)
    # Metadata and templates may hold what UTF-8 cannot.
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def parts_fingerprint(thing: object, names: Iterable[str]) -> str:
    """Return 64 hex digits for the attributes of a thing that shape what it returns.

    A part counts by its own `fingerprint()` where it has one, a response model by its schema, a
    dataclass by all its fields; a set counts in any order.
    """
    return fingerprint({name: _plain(getattr(thing, name)) for name in names})


def fingerprint_of_texts(*parts: Any) -> str:
    """Return what `fingerprint` does of texts, None and lists of these, in a third of the time."""
    return hashlib.sha256(to_json(parts)).hexdigest()


def written_out(value: object) -> str:
    """Write a dataclass with all its fields, which its own `repr` may cut, those inside it too."""
    if isinstance(value, tuple) and type(value) is tuple:
        inner = ", ".join(map(written_out, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    parts = (f"{one.name}={written_out(getattr(value, one.name))}" for one in fields(value))
    return f"{type(value).__qualname__}({', '.join(parts)})"


def _plain(part: Any) -> Any:
    if isinstance(part, type):
        return part.model_json_schema() if hasattr(part, "model_json_schema") else part.__name__
    if hasattr(part, "fingerprint"):
        return part.fingerprint()
    if isinstance(part, frozenset):
        return sorted(part)
    if isinstance(part, list | tuple):
        return [_plain(one) for one in part]
    return written_out(part) if is_dataclass(part) else part


def _packed(parts: tuple[Any, ...], *, sort_keys: bool) -> str:
    return json.dumps(
        parts,
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=sort_keys,
        default=str,
        skipkeys=True,
    )
