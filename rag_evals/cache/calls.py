"""The exact cache of judges' replies, keyed by everything that can change a reply."""

import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from rag_evals.cache.database import CALLS_TABLE, Database
from rag_evals.core import JudgeCall, JudgeReply, Usage, check_chunk_ids, facts_for, fingerprint
from rag_evals.judge import wanted_settings

_KEY_VERSION = 1


@dataclass(frozen=True)
class CallCache:
    """A `ReplyStore` for one judge's replies.

    Args:
        endpoint: Provider and base URL.
        default_model: Model for calls that do not specify one; if None, these calls are not cached.
        model: Model for all calls; by default, each call's own model.
        settings: Settings that override those of each call.
    """

    database: Database
    _: KW_ONLY
    endpoint: str
    default_model: str | None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)

    def find(self, call: JudgeCall[Any]) -> JudgeReply | None:
        key = self._key(call)
        rows = self.database.read(f"SELECT reply FROM {CALLS_TABLE} WHERE key = ?", (key,))
        if not rows:
            return None
        try:
            # The last attempt tolerates some faults, so a stored reply may contain them.
            context = facts_for(call.facts, is_last=True)
            parsed = call.reply_model.model_validate_json(rows[0][0], context=context)
            check_chunk_ids(parsed, context)
        except (ValueError, TypeError):
            # The entry is corrupt, or was written for a different version of the reply model.
            return None
        return JudgeReply(parsed, Usage(cache_hits=1))

    def keep(self, call: JudgeCall[Any], reply: JudgeReply) -> None:
        key = self._key(call)
        if key is not None:
            self.database.write(
                f"INSERT OR REPLACE INTO {CALLS_TABLE} (key, reply, created) VALUES (?, ?, ?)",
                [(key, reply.parsed.model_dump_json(), time.time())],
            )

    def _key(self, call: JudgeCall[Any]) -> str | None:
        model = self.model or call.model or self.default_model
        if model is None:
            return None
        return fingerprint(
            _KEY_VERSION,
            self.endpoint,
            model,
            call.messages,
            _schema_hash(call.reply_model),  # type: ignore[arg-type]  # mypy: a class is hashable
            wanted_settings(call.settings, self.settings, self.own),
            call.sample_index,
        )


@lru_cache(maxsize=1024)
def _schema_hash(model: type[BaseModel]) -> str:
    return fingerprint(model.model_json_schema())
