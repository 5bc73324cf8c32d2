"""Are the endpoint's address and key valid? Checked before anything is sent."""

import os
import re
from typing import Any
from urllib.parse import urlsplit

from rag_evals.errors import ConfigurationError
from rag_evals.judge.address_name import OF_A_CLIENT
from rag_evals.judge.providers import OPENAI_HOSTS, Endpoint, read_endpoint
from rag_evals.judge.sdks import own_sdk

_SENT_BY_THE_LIBRARY = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""OpenAI's library sends them in headers, whichever host it asks."""

_LIKE = "expected an address such as 'http://localhost:8000/v1'"
_ADDED_PATHS = ("/chat/completions", "/responses", "/v1/messages")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/@]*@")


def check_endpoint(client: object) -> None:
    """Find what no request could get past: an address or a key that HTTP cannot carry.

    Args:
        client: An instructor client; or a string, whose address and key are looked for in the
            environment.

    Raises:
        ConfigurationError: It says which of the two is wrong, and never shows a key.
    """
    if isinstance(client, str):
        check_address(read_endpoint(client))
        return
    sdk: Any = getattr(client, "client", None)
    url, key = getattr(sdk, "base_url", None), getattr(sdk, "api_key", None)
    _check(
        None if url is None else str(url),
        OF_A_CLIENT,
        key if isinstance(key, str) else None,
        "api_key of the client",
    )


def check_address(endpoint: Endpoint) -> None:
    """Check the address and the key of an endpoint.

    Raises:
        ConfigurationError: As for `check_endpoint`; also where the address is missing.
    """
    host = OPENAI_HOSTS.get(endpoint.provider)
    if host is None:
        own = own_sdk(endpoint)
        _check(own.address or None, own.address_name, own.key, own.key_name)
        return
    if endpoint.address is None:
        raise ConfigurationError(
            f"no address for {endpoint.provider!r}: set {host.address_variable}, or name it in the "
            f"judge, as in '{endpoint.provider}/{endpoint.model}@https://HOST'"
        )
    _check(endpoint.address, endpoint.address_name, endpoint.key, host.key_variable)
    for name in _SENT_BY_THE_LIBRARY:
        _check(None, "", os.environ.get(name), name)


def _check(address: str | None, address_name: str, key: str | None, key_name: str) -> None:
    if address is not None:
        fault = _fault_of_address(address)
        if fault is not None:
            shown = _CREDENTIALS.sub("[hidden]@", address.partition("?")[0])
            raise ConfigurationError(f"{address_name} is {shown!r}: {fault}; {_LIKE}")
    if key is not None:
        fault = _fault_of_key(key)
        if fault is not None:
            raise ConfigurationError(
                f"{key_name} holds {fault}, which HTTP cannot send; set it alone, ASCII "
                "letters, digits and signs without spaces around them"
            )


def _fault_of_address(address: str) -> str | None:
    # Of all white space only the plain space is printable.
    if " " in address or not address.isprintable():
        return "it holds a space or a control character"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if not parts.hostname:
        return "it names no host"
    if not _is_host(parts.hostname):
        return f"{parts.hostname!r} is no name of a host"
    if port == 0:
        return "port 0 cannot be asked"
    if parts.username is not None or parts.password is not None:
        return "it holds a user name or a password; the key belongs into OPENAI_API_KEY or the like"
    # A path is added behind it.
    if "?" in address or "#" in address:
        return "a '?' or a '#' in it would swallow the path that is added"
    added = next((path for path in _ADDED_PATHS if parts.path.rstrip("/").endswith(path)), None)
    return added and f"leave out {added!r}, which is added to it"


def _is_host(name: str) -> bool:
    if _HOST.fullmatch(name) or ":" in name:
        return True
    try:
        return bool(_HOST.fullmatch(name.encode("idna").decode()))
    except UnicodeError:
        return False


def _fault_of_key(key: str) -> str | None:
    if key.isascii() and key.isprintable() and " " not in key:
        return None
    for place, character in enumerate(key, 1):
        if character in "\r\n":
            return f"a line break at place {place} of {len(key)}"
        if not character.isascii():
            return f"U+{ord(character):04X} at place {place} of {len(key)}, which is not ASCII"
        if not character.isprintable():
            return f"the control character U+{ord(character):04X} at place {place} of {len(key)}"
    if key != key.strip():
        return "a space at its start or end"
    return None
