"""Was this exact call answered before? The exact cache: same call, same answer, across runs.

The key is a hash of everything that can change an answer: the endpoint, the model, the messages,
the schema of the reply, the sampling settings, and the number of the sample where one call is asked
several times. The API key, time-outs, limits, concurrency, retries, and the names of runs, rows and
graders cannot change it and are left out. A cached answer is checked again when it is read.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from rag_evals.cache.database import CALLS_TABLE, Database
from rag_evals.core import JudgeCall, JudgeReply, Usage, check_chunk_ids, facts_for, fingerprint
from rag_evals.judge import wanted_settings

_KEY_VERSION = 1


class CallCache:
    """The answers of one judge; see `ReplyStore`.

    Args:
        database: Where answers are.
        endpoint: Names the endpoint: provider and base URL.
        default_model: Model that is asked where a call names none; None when nobody knows it, and
            then such calls are not cached.
        model: Model that is asked no matter which one a call names; None follows the call.
        settings: Settings that come before those of a call, such as `temperature`.
        own: Settings that the client is made with.
    """

    def __init__(
        self,
        database: Database,
        *,
        endpoint: str,
        default_model: str | None,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self._database = database
        self._endpoint = endpoint
        self._default_model = default_model
        self._model = model
        self._settings = settings or {}
        self._own = own or {}

    def find(self, call: JudgeCall[Any]) -> JudgeReply | None:
        """Return the answer that is there; None where the judge has to be asked."""
        model = self._model_of(call)
        return None if model is None else self._read(self._key(call, model), call)

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        """Keep an answer of the judge for the next such call."""
        model = self._model_of(call)
        if model is None:
            return
        tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
        key = self._key(call, model)
        row = (key, reply.parsed.model_dump_json(), tokens, time.time(), model)
        self._database.write(
            f"INSERT OR REPLACE INTO {CALLS_TABLE} (key, reply, tokens, created, model) "
            "VALUES (?, ?, ?, ?, ?)",
            [row],
        )

    def _model_of(self, call: JudgeCall[Any]) -> str | None:
        return self._model or call.model or self._default_model

    def _read(self, key: str, call: JudgeCall[Any]) -> JudgeReply | None:
        rows = self._database.read(f"SELECT reply FROM {CALLS_TABLE} WHERE key = ?", (key,))
        if not rows:
            return None
        try:
            # What was taken on a last attempt is taken again.
            context = facts_for(call.facts, is_last=True)
            parsed = call.reply_model.model_validate_json(rows[0][0], context=context)
            check_chunk_ids(parsed, context)
        except (ValueError, TypeError):
            # Damaged, or written by another version of the model: asked again, and replaced.
            return None
        return JudgeReply(parsed, Usage(cache_hits=1))

    def _key(self, call: JudgeCall[Any], model: str) -> str:
        return fingerprint(
            _KEY_VERSION,
            self._endpoint,
            model,
            call.messages,
            _schema_hash(call.reply_model),  # type: ignore[arg-type]  # mypy: a class is hashable
            wanted_settings(call.settings, self._settings, self._own),
            call.sample_index,
        )


@lru_cache(maxsize=1024)
def _schema_hash(model: type[BaseModel]) -> str:
    return fingerprint(model.model_json_schema())
