"""How do providers talk? What each wire asks with and answers, in a scripted judge's words.

OpenAI's own is in the package.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from rag_evals.testing import HttpError, Reply, Wire
from rag_evals.testing.scripted import OPENAI

Body = Mapping[str, Any]
Messages = Sequence[Mapping[str, Any]]
_numbers = count(1)


def _text_of(content: Any) -> str:
    """Join the text parts of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or ())


def _as_object(reply: Reply) -> Body | None:
    """Return the object that a reply holds; None where its text is none."""
    if not isinstance(reply.content, str):
        return dict(reply.content)
    try:
        found = json.loads(reply.content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _as_text(reply: Reply) -> str:
    return reply.content if isinstance(reply.content, str) else json.dumps(dict(reply.content))


def _mistral_reply(reply: Reply, body: Body) -> Body:
    # It has no word for a refusal: the model says it in its text.
    wrapped: Any = OPENAI.reply(reply, body)
    if reply.refusal is not None:
        wrapped["choices"][0]["message"] = {"role": "assistant", "content": reply.refusal}
        wrapped["choices"][0]["finish_reason"] = "content_filter"
    else:
        wrapped["choices"][0]["message"].pop("refusal")
    return dict(wrapped)


def _flat_error(error: HttpError) -> Body:
    return {"object": "error", "message": error.message, "type": "scripted", "code": error.code}


def _responses_schema(body: Body) -> Body:
    return dict(body["tools"][0]["parameters"]) if body.get("tools") else {}


def _responses_messages(body: Body) -> Messages:
    given = body.get("input", [])
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    found = [
        {"role": one.get("role", "tool"), "content": _text_of(one.get("content") or "")}
        for one in messages
    ]
    system = body.get("instructions")
    return [{"role": "system", "content": system}, *found] if system else found


def _responses_reply(reply: Reply, body: Body) -> Body:
    number = next(_numbers)
    item: dict[str, Any]
    if reply.refusal is None and body.get("tools"):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        item |= {"name": body["tools"][0]["name"], "arguments": _as_text(reply)}
        item["status"] = "completed"
    else:
        part = (
            {"type": "output_text", "text": _as_text(reply), "annotations": []}
            if reply.refusal is None
            else {"type": "refusal", "refusal": reply.refusal}
        )
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        item |= {"status": "completed", "content": [part]}
    cut = reply.finish_reason == "length"
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": reply.model or body.get("model", "scripted"),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": reply.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": reply.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }


def _anthropic_messages(body: Body) -> Messages:
    system = _text_of(body.get("system") or "")
    found = [{"role": one["role"], "content": _text_of(one["content"])} for one in body["messages"]]
    return [{"role": "system", "content": system}, *found]


def _anthropic_schema(body: Body) -> Body:
    return dict(body["tools"][0]["input_schema"]) if body.get("tools") else {}


def _anthropic_reply(reply: Reply, body: Body) -> Body:
    number, filled = next(_numbers), _as_object(reply)
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.refusal or _as_text(reply)}]
    if reply.refusal is None and body.get("tools") and filled is not None:
        tool = {"type": "tool_use", "id": f"toolu_{number}", "name": body["tools"][0]["name"]}
        content = [{**tool, "input": filled}]
    stops = {"stop": "tool_use", "length": "max_tokens"}
    stop = "refusal" if reply.refusal else stops.get(reply.finish_reason, reply.finish_reason)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or body.get("model", "scripted"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": reply.prompt_tokens, "output_tokens": reply.completion_tokens},
    }


def _anthropic_error(error: HttpError) -> Body:
    return {"type": "error", "error": {"type": "scripted", "message": error.message}}


def _gemini_messages(body: Body) -> Messages:
    roles = {"model": "assistant"}
    found = [
        {"role": roles.get(one.get("role"), "user"), "content": _text_of(one.get("parts"))}
        for one in body.get("contents", [])
    ]
    system = body.get("systemInstruction") or {}
    return [{"role": "system", "content": _text_of(system.get("parts"))}, *found]


def _gemini_schema(body: Body) -> Body:
    if not body.get("tools"):
        return {}
    declared = body["tools"][0]["functionDeclarations"][0]
    schema = declared.get("parameters") or declared.get("parametersJsonSchema") or {}
    return dict(_lowered(schema))


def _lowered(node: Any) -> Any:
    """Write the names of types as JSON schema does; Gemini's are in capitals."""
    if isinstance(node, list):
        return [_lowered(one) for one in node]
    if not isinstance(node, dict):
        return node
    lowered = {name: _lowered(one) for name, one in node.items()}
    if isinstance(lowered.get("type"), str):
        lowered["type"] = lowered["type"].lower()
    return lowered


def _gemini_reply(reply: Reply, body: Body) -> Body:
    filled = _as_object(reply)
    part: dict[str, Any] = {"text": reply.refusal or _as_text(reply)}
    if reply.refusal is None and body.get("tools") and filled is not None:
        name = body["tools"][0]["functionDeclarations"][0]["name"]
        part = {"functionCall": {"name": name, "args": filled}}
    stops = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": [part]},
        "finishReason": stops.get(reply.finish_reason, "STOP"),
    }
    if reply.refusal is not None:
        candidate = {"finishReason": "SAFETY"}
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": reply.prompt_tokens,
            "candidatesTokenCount": reply.completion_tokens,
            "totalTokenCount": reply.prompt_tokens + reply.completion_tokens,
        },
        "modelVersion": reply.model or "scripted",
    }


def _gemini_error(error: HttpError) -> Body:
    words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
    status = words.get(error.status, "UNAVAILABLE")
    return {"error": {"code": error.status, "message": error.message, "status": status}}


def _bedrock_messages(body: Body) -> Messages:
    found = [{"role": one["role"], "content": _text_of(one["content"])} for one in body["messages"]]
    return [{"role": "system", "content": _text_of(body.get("system"))}, *found]


def _bedrock_schema(body: Body) -> Body:
    tools = (body.get("toolConfig") or {}).get("tools")
    return dict(tools[0]["toolSpec"]["inputSchema"]["json"]) if tools else {}


def _bedrock_reply(reply: Reply, body: Body) -> Body:
    number, filled = next(_numbers), _as_object(reply)
    tools = (body.get("toolConfig") or {}).get("tools")
    part: dict[str, Any] = {"text": reply.refusal or _as_text(reply)}
    if reply.refusal is None and tools and filled is not None:
        name = tools[0]["toolSpec"]["name"]
        part = {"toolUse": {"toolUseId": f"tooluse_{number}", "name": name, "input": filled}}
    stops = {"stop": "tool_use", "length": "max_tokens"}
    stop = stops.get(reply.finish_reason, reply.finish_reason)
    sent, received = reply.prompt_tokens, reply.completion_tokens
    return {
        "output": {"message": {"role": "assistant", "content": [part]}},
        "stopReason": "guardrail_intervened" if reply.refusal else stop,
        "usage": {"inputTokens": sent, "outputTokens": received, "totalTokens": sent + received},
        "metrics": {"latencyMs": 1},
    }


def _cohere_schema(body: Body) -> Body:
    return dict((body.get("response_format") or {}).get("schema") or {})


def _cohere_reply(reply: Reply, body: Body) -> Body:
    stops = {"stop": "COMPLETE", "length": "MAX_TOKENS", "content_filter": "ERROR_TOXIC"}
    stop = "ERROR_TOXIC" if reply.refusal else stops.get(reply.finish_reason, "COMPLETE")
    tokens = {"input_tokens": reply.prompt_tokens, "output_tokens": reply.completion_tokens}
    text = reply.refusal or _as_text(reply)
    return {
        "id": f"{next(_numbers)}",
        "finish_reason": stop,
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        "usage": {"billed_units": tokens, "tokens": tokens},
    }


_GEMINI = Wire(_gemini_messages, _gemini_schema, _gemini_reply, _gemini_error, path="")

WIRES: Mapping[str, Wire] = {
    "openai": OPENAI,
    "responses": Wire(_responses_messages, _responses_schema, _responses_reply, OPENAI.error),
    "azure": Wire(OPENAI.messages, OPENAI.schema, OPENAI.reply, OPENAI.error, path=""),
    "anthropic": Wire(
        _anthropic_messages, _anthropic_schema, _anthropic_reply, _anthropic_error, path=""
    ),
    "gemini": _GEMINI,
    "vertex": _GEMINI,
    "bedrock": Wire(_bedrock_messages, _bedrock_schema, _bedrock_reply, _flat_error, path=""),
    "mistral": Wire(OPENAI.messages, OPENAI.schema, _mistral_reply, _flat_error, path=""),
    "groq": Wire(OPENAI.messages, OPENAI.schema, OPENAI.reply, OPENAI.error, path=""),
    "cohere": Wire(OPENAI.messages, _cohere_schema, _cohere_reply, _flat_error, path=""),
    "ollama": OPENAI,
    "vllm": OPENAI,
    "litellm": OPENAI,
    "xai": OPENAI,
}
"""What `ScriptedJudge(dialect=...)` takes, and the wire that each speaks."""
