"""What can an endpoint do wrong? A table: what it answers, and how a run of three rows must end."""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from rag_evals.testing import HttpError, Raw, Reply, Reset, Stall
from rag_evals.testing.scripted import Answer
from tests.conftest import statement

GOOD = {"statements": [statement("It stands in Paris.")]}
TEXT = json.dumps(GOOD)
ROWS = 3
REFUSED, FAILED = 2, 3
SOON = {"retry-after-ms": "1"}


@dataclass(frozen=True)
class Fault:
    """One fault, and what it leads to.

    Attributes:
        name: Of the test.
        first: Answers to the first requests, in order; the rest is answered well.
        always: Answer to every request, instead of `first`.
        code: Exit code of `rag-evals grade`.
        calls: Requests that the server saw, in all.
        says: What stands on standard error or in the failed rows.
        scored: Rows with a score.
        options: Further options of the command.
    """

    name: str
    first: Sequence[Answer] = ()
    always: Answer | None = None
    code: int = 0
    calls: int = ROWS
    says: str = ""
    scored: int = ROWS
    options: Sequence[str] = field(default_factory=tuple)


def message(**fields: Any) -> dict[str, Any]:
    """Return a completion whose message has these fields."""
    return completion({"role": "assistant", "content": None, **fields})


def completion(said: object, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a completion with one choice."""
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
            **more}  # fmt: skip


def passes(name: str, fault: Answer, *, calls: int = ROWS + 1, **more: Any) -> Fault:
    """Make a fault that occurs once, and is survived."""
    return Fault(name, first=[fault], calls=calls, **more)


def refused(name: str, fault: Answer, says: str, *, calls: int = 1) -> Fault:
    """Make a fault that ends the run at once: every row would meet it."""
    return Fault(name, always=fault, code=REFUSED, calls=calls, says=says, scored=0)


def fails(name: str, fault: Answer, says: str, *, calls: int = ROWS, **more: Any) -> Fault:
    """Make a fault that fails each row by itself."""
    return Fault(name, always=fault, code=FAILED, calls=calls, says=says, scored=0, **more)


EACH_TRIED = ROWS * 5

STATUSES = [
    refused("401", HttpError(401, "no"), "rejects the key"),
    refused("402", HttpError(402, "pay"), "no quota left"),
    refused("403", HttpError(403, "no"), "rejects the key or its permissions"),
    refused("404", HttpError(404, "what?"), "does not recognise this model or path"),
    refused("405", HttpError(405, "how?"), "does not recognise this model or path"),
    refused("410", HttpError(410, "gone"), "does not recognise this model or path"),
    refused("501", HttpError(501, "cannot"), "does not recognise this model or path"),
    refused("429 quota", HttpError(429, "pay", code="insufficient_quota"), "no quota left"),
    refused("400 schema", HttpError(400, "bad", param="response_format"), "this kind of request"),
    refused("422 tools", HttpError(422, "bad", param="tools"), "this kind of request"),
    *(
        fails(f"{status}", HttpError(status, "no"), f"HTTP {status}")
        for status in (400, 406, 413, 414, 415, 418, 422, 431, 451)
    ),
    *(
        fails(f"{status}", HttpError(status, "no", SOON), f"HTTP {status}", calls=EACH_TRIED)
        for status in (408, 409, 429, 500, 502, 503, 504, 520, 529)
    ),
    *(
        passes(f"{status} once", HttpError(status, "no", SOON))
        for status in (408, 409, 429, 500, 502, 503, 504, 529)
    ),
    fails("500 not to be retried", HttpError(500, "no", {"x-should-retry": "false"}), "HTTP 500"),
    passes("400 to be retried", HttpError(400, "no", {"x-should-retry": "true"} | SOON)),
    fails("500 HTML", Raw("<html>oops</html>", 500, SOON), "HTTP 500", calls=EACH_TRIED),
    fails("400 nothing", Raw(b"", 400), "HTTP 400"),
]

WAITS = [
    *(
        passes(f"retry-after {value!r}", HttpError(429, headers={"retry-after": value}))
        for value in (
            "0", "0.01", "²", "٣x", "abc", "", "-3", "nan", "inf", "1e3", "1_0", "9" * 400,
            "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Foo 2015", formatdate(1, usegmt=True),
        )
    ),
    *(
        passes(f"retry-after-ms {value!r}", HttpError(429, headers={"retry-after-ms": value}))
        for value in ("5", "²", "soon", "-1")
    ),
    fails(
        "a wait that is too long",
        HttpError(429, headers={"retry-after": "601"}),
        "asks for a wait of 601 s (HTTP 429), but the limit (max_wait) is 600 s",
    ),
    fails(
        "a wait that is longer than told",
        HttpError(503, headers={"retry-after": "2"}),
        "but the limit (max_wait) is 1 s",
        options=["--max-wait", "1"],
    ),
    passes(
        "a wait longer than the row's time",
        HttpError(429, headers={"retry-after": "1.2"}),
        options=["--timeout", "0.6"],
    ),
]  # fmt: skip


def limits(**headers: str) -> Raw:
    """Return a good reply with headers about limits."""
    named = {f"x-ratelimit-{name.replace('_', '-')}": value for name, value in headers.items()}
    return Raw(message(content=TEXT), headers=named)


HEADERS = [
    *(
        Fault(f"limit {value!r}", always=limits(limit_requests=value, limit_tokens=value))
        for value in ("1", "0", "²", "abc", "-5", "9" * 400, "nan", "1000000")
    ),
    *(
        Fault(f"none left, reset {reset!r}", always=limits(remaining_requests="0",
                                                           reset_requests=reset))
        for reset in ("10ms", "²", "soon", "", "-5", "nan", "9" * 400)
    ),
    Fault(
        "none left for minutes",
        always=limits(remaining_tokens="0", reset_tokens="6m0s"),
        options=["--max-wait", "1"],
    ),
    Fault("remaining '²'", always=limits(remaining_requests="²", reset_requests="6m0s")),
]  # fmt: skip


def bomb(megabytes: int) -> bytes:
    """Return very few bytes of gzip that become so many: the same compressed block again and again.

    The end of the file is missing, which who stops early cannot know.
    """
    packer = zlib.compressobj(wbits=31)
    block = b"x" * 1_000_000
    first, other = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + other * (megabytes - 1)


NO_REPLY = "answered with status 200 and"
BODIES: dict[str, tuple[Raw, str]] = {
    "nothing": (Raw(b""), "an empty body"),
    "spaces": (Raw(b" \n "), "an empty body"),
    "a page": (Raw("<html>Log in</html>", headers={"content-type": "text/html"}), "an HTML page"),
    "a page that says it is JSON": (Raw("<!doctype html>"), "an HTML page"),
    "words": (Raw("upstream timeout"), "'upstream timeout'"),
    "null": (Raw("null"), "'null'"),
    "a list": (Raw("[]"), "'[]'"),
    "a number": (Raw("17"), "'17'"),
    "a string": (Raw('"no"'), "no model reply"),
    "half of it": (Raw(json.dumps(message(content=TEXT))[:60]), "no model reply"),
    "NULs": (Raw(b"\0" * 50), "no model reply"),
    "no UTF-8": (Raw(b"\xff\xfe{}"), "no model reply"),
    "deep JSON": (Raw("[" * 100_000), "no model reply"),
    "an empty object": (Raw({}), "no choices"),
    "an error": (Raw({"error": {"message": "out of memory"}}), "an error: out of memory"),
    "an error in words": (Raw({"error": "out of memory"}), "an error: out of memory"),
    "an error beside choices": (Raw({"error": {"message": "oom"}, "choices": []}), "oom"),
    "no choices": (Raw({"choices": []}), "no choices"),
    "choices null": (Raw({"choices": None}), "no choices"),
    "choices a word": (Raw({"choices": "x"}), "no choices"),
    "a choice without message": (Raw({"choices": [{"index": 0}]}), "no choices"),
    "message null": (Raw(completion(None)), "no choices"),
}
REPLIES = [
    *(passes(f"200: {name}, once", body) for name, (body, _) in BODIES.items()),
    *(
        fails(f"200: {name}", body, f"{NO_REPLY} {says}" if says[0] != "'" else says,
              calls=EACH_TRIED)
        for name, (body, says) in BODIES.items()
        if name in ("nothing", "a page", "words", "an error", "no choices", "choices null")
    ),
    fails("a key in the error", Raw({"error": {"message": "bad sk-test-SECRET"}}), "[key]",
          calls=EACH_TRIED),
    fails("17 MB", Raw(b'{"a": "' + b"x" * 17_000_000 + b'"}'), "longer than 16 MB"),
    fails("a gzip bomb", Raw(bomb(200), headers={
        "content-encoding": "gzip"}), "longer than 16 MB"),
    passes("gzip", Raw(gzip.compress(json.dumps(message(content=TEXT)).encode()), headers={
        "content-encoding": "gzip"}), calls=ROWS),
    fails("cut off", Reply(TEXT[:20], finish_reason="length"), "cut off at the token limit"),
    fails("refusal", Reply(refusal="I cannot."), "the judge refused: I cannot."),
    fails("filtered", Raw(completion({"role": "assistant", "content": None}, "content_filter")),
          "content filter"),
    fails("content null", Raw(message()), "the reply is empty"),
    fails("content empty", Reply(" \n"), "the reply is empty"),
    fails("content of no parts", Raw(message(content=[])), "the reply is empty"),
    fails("thoughts alone", Raw(message(reasoning_content="Hm.")), "only its reasoning; allow"),
    fails("refusal in a part", Raw(message(content=[{"type": "refusal", "refusal": "No."}])),
          "the judge refused: No."),
    *(
        fails(f"refusal in words {number}", Reply(said), "the judge refused: ")
        for number, said in enumerate((
            "I'm sorry, but I can't assist with that request.", "I cannot help with this.",
            "Sorry, that is against my rules.", "\u042f \u043d\u0435 \u043c\u043e\u0433\u0443.",
        ))
    ),
    *(
        fails(f"an error in a choice: {name}", Raw({"choices": [choice]}),
              "received an error instead of a reply: upstream sank")
        for name, choice in {
            "no message": {"error": {"message": "upstream sank"}},
            "a message": {"error": {"code": 502, "message": "upstream sank"},
                          "message": {"role": "assistant", "content": ""},
                          "finish_reason": "error"},
            "words": {"error": "upstream sank", "message": {"content": TEXT[:9]}},
        }.items()
    ),
    *(
        fails(f"the same fault twice: {name}", Reply(said),
              "invalid after 2 attempts, the last two with the same fault", calls=2 * ROWS)
        for name, said in {"a field is missing": "{}", "words": "I think it is fine.",
                           "another id": json.dumps({"statements": [statement(ids=(7,))]})}.items()
    ),
    passes("no usage, no id", Raw({"choices": [{"message": {"content": TEXT}}]}), calls=ROWS),
]  # fmt: skip

READ_AT_ONCE = {
    "a fence": f"```json\n{TEXT}\n```",
    "a fence without a name": f"```\n{TEXT}\n```",
    "a fence in words": f"Here it is:\n```json\n{TEXT}\n```\nThat is all.",
    "thoughts": f"<think>Is it so?</think>\n{TEXT}",
    "thoughts with a draft": '<think>{"statements": []} or not</think>' + TEXT,
    "thoughts and a fence": f"<think>hm</think>```json\n{TEXT}\n```",
    "the end of thoughts": f"so it is.</think>{TEXT}",
    "words around": f"The verdicts are {TEXT} as asked.",
    "Russian words around": f"Вот ответ: {TEXT}. Готово.",
    "an end of line and spaces": f"\n\n  {TEXT}  \n",
    "a mark of byte order": f"\ufeff{TEXT}",
    "the name of the model around": json.dumps({"FaithfulnessResult": GOOD}),
    "its name as a variable around": json.dumps({"faithfulness_result": GOOD}),
    "a tool call around": json.dumps({"name": "FaithfulnessResult", "arguments": GOOD}),
    "the schema around": json.dumps({"type": "object", "properties": GOOD}),
    "a list around": f"[{TEXT}]",
    "the list alone": json.dumps(GOOD["statements"]),
    "the list alone in a fence": f"```json\n{json.dumps(GOOD['statements'])}\n```",
    "the same under one name twice": TEXT.replace("true", 'true, "is_supported": true'),
    "yes for a boolean": TEXT.replace("true", '"yes"'),
}
ASKED_AGAIN = {
    "two objects": f"{TEXT}\n{TEXT}",
    "two fences": f"```{TEXT}```\n```{TEXT}```",
    "an object that breaks off": TEXT[:-10],
    "the start of a list": '{"statements": [' + json.dumps(statement("It stands in Paris.")),
    "braces in words": "use {this} or " + TEXT,
    "a comma too many": TEXT[:-2] + ",]}",
    "two verdicts under one name": TEXT.replace("true", 'false, "is_supported": true'),
    "single quotes": TEXT.replace('"', "'"),
    "thoughts without end": f"<think>maybe {{so}} {TEXT}",
    "words alone": "I think it is fine.",
    "a fence with nothing": "```json\n```",
}
TEXTS = [
    *(Fault(f"read: {name}", always=Reply(text)) for name, text in READ_AT_ONCE.items()),
    *(
        Fault(f"read: {name}", always=Raw(message(content=parts)))
        for name, parts in {
            "a part": [{"type": "text", "text": TEXT}],
            "parts": [
                {"type": "thinking", "thinking": []},
                {"type": "text", "text": TEXT[:9]},
                {"type": "text", "text": TEXT[9:]},
            ],
        }.items()
    ),
    *(passes(f"asked again: {name}", Reply(text)) for name, text in ASKED_AGAIN.items()),
]

CONNECTIONS = [
    passes("reset", Reset()),
    fails("always reset", Reset(), "the connection was lost", calls=EACH_TRIED),
    Fault("hangs", always=Stall(3600), code=FAILED, scored=0, says="within the 0.4 s",
          options=["--timeout", "0.4"]),
    passes("hangs once", Stall(0.2, GOOD), calls=ROWS),
    passes("closes once", Stall(0.0)),
]  # fmt: skip

FAULTS: list[Fault] = [*STATUSES, *WAITS, *HEADERS, *REPLIES, *TEXTS, *CONNECTIONS]

NOT_REPEATED = "the header is for the SDK, which repeats nothing; a call is repeated by its status"
OWN_CLIENT: Mapping[str, tuple[int, int, str]] = {
    "500 not to be retried": (EACH_TRIED, 0, NOT_REPEATED),
    "400 to be retried": (ROWS, ROWS - 1, NOT_REPEATED),
}
"""Where a user's own client, with `max_retries=0`, differs: calls, scores, and the reason."""

ADDRESSES: Mapping[str, str] = {
    "": "does not begin with http",
    "ftp://127.0.0.1/v1": "does not begin with http",
    "127.0.0.1:8000/v1": "does not begin with http",
    "localhost:8000": "does not begin with http",
    "file:///etc/passwd": "does not begin with http",
    "http://": "'' is not a host name",
    "http:///v1": "'' is not a host name",
    "http://127.0.0.1:99999/v1": "Port out of range",
    "http://127.0.0.1:abc/v1": "Port could not be cast",
    "http://[::1/v1": "Invalid IPv6",
    "http://me:hunter2@127.0.0.1:9/v1": "contains a user name or a password",
    "http://hunter2@127.0.0.1:9/v1": "contains a user name or a password",
    "http://127.0.0.1:9/v1\n": "a space or a control character",
    "http://127.0.0.1:9/v 1": "a space or a control character",
    "http://..": "label empty or too long",
    "http://h\\n/v1": "is not a host name",
    "http://h,http://g": "'h,http' is not a host name",
    "http://127.0.0.1:9/v1?api-version=1": "a '?' or '#' would",
    "http://127.0.0.1:9/v1#here": "a '?' or '#' would",
    "http://127.0.0.1:9/v1/chat/completions": "leave out '/chat/completions', which is appended",
}
KEYS: Mapping[str, str] = {
    "sk-hunter2\n": "U+000A at position 11",
    "sk-\r\nhunter2": "U+000D at position 4",
    "sk-hunter2é": "U+00E9 at position 11",
    "ключ-hunter2": "U+043A at position 1",
    "sk-hunter2\t": "U+0009 at position 11",
    " sk-hunter2": "U+0020 at position 1",
    "sk-hunter2\x7f": "U+007F at position 11",
    "«sk-hunter2»": "U+00AB at position 1",
}
