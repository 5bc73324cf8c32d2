"""The cache of verdicts, keyed by chunks, verifier and statement.

The key ignores a statement's typography: quotation marks, spaces, citation marks, emphasis and the
final full stop. It includes the order of chunks, the verifier's settings, and the judge's address
and model.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from rag_evals.cache.database import STATEMENTS_TABLE, Database, default_path
from rag_evals.core import (
    CacheMode,
    Claim,
    Flow,
    LocalCall,
    Verdict,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    cache_variables,
    check_verdicts,
    fingerprint,
    stages_in,
)
from rag_evals.errors import VerifierError
from rag_evals.judge import endpoint_of


class StatementKey(NamedTuple):
    """The cache key of a statement.

    Attributes:
        plain: The statement in plain form, which ignores typography.
        setting: Hash of the sentences and question that it depends on; empty if there are none.
    """

    text: str
    plain: str
    setting: str

    @classmethod
    def of(cls, claim: Claim, *, with_question: bool = False) -> "StatementKey":
        from rag_evals.text import plain_form  # noqa: PLC0415 - loads the word lists

        plain = plain_form(claim.text)
        sentence, before, question = (plain_form(part or "") for part in claim.setting)
        if sentence == plain:
            sentence = ""
        if with_question:
            question = plain_form(claim.question or "")
        parts = (sentence, before, question)
        return cls(claim.text, plain, fingerprint(parts) if any(parts) else "")

    @property
    def name(self) -> str:
        """The plain form and the setting, separated by a line break."""
        return f"{self.plain}\n{self.setting}" if self.setting else self.plain


class StatementCache:
    """Stores verdicts, and reuses them for statements that differ only in typography.

    Args:
        path: SQLite file, which processes may share; None for an in-memory cache.
    """

    mode: CacheMode = "exact"

    @property
    def policy(self) -> str:
        """A hash of settings that can change verdicts; empty if only identical statements match."""
        return ""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._database = Database(self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path or 'in memory')!r})"

    def look_up(self, group: str, keys: Sequence[StatementKey]) -> list[Verdict | None]:
        """Return each statement's verdict, or None; `group` comes from `group_of`."""
        query = f"SELECT verdict FROM {STATEMENTS_TABLE} WHERE grp = ? AND statement = ?"
        found = [self._database.read(query, (group, key.name)) for key in keys]
        verdicts = [unpack(rows[0][0]) if rows else None for rows in found]
        return [one and replace(one, from_cache=True) for one in verdicts]

    def store(self, group: str, decided: Mapping[StatementKey, Verdict]) -> None:
        """Store new verdicts."""
        now = time.time()
        rows = [
            (
                group,
                key.name,
                key.text,
                _verdicts().dump_json(verdict).decode(),
                now,
                self._frame(key),
            )
            for key, verdict in decided.items()
        ]
        self._database.write(
            f"INSERT OR REPLACE INTO {STATEMENTS_TABLE} "
            "(grp, statement, text, verdict, created, frame) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )

    def check(self) -> None:
        """Raise `ConfigurationError` if the cache cannot be used."""

    def count(self) -> int:
        """Return the number of stored verdicts."""
        ((count,),) = self._database.read(f"SELECT count(*) FROM {STATEMENTS_TABLE}")
        return int(count)

    def close(self) -> None:
        """Close the file; the cache cannot be used afterwards."""
        self._database.close()

    def _frame(self, key: StatementKey) -> str | None:
        """Return a hash that similar statements share; None if only identical statements match."""
        del key
        return None


def unpack(text: object) -> Verdict | None:
    """Parse a stored verdict; return None if the entry is corrupt or from another version."""
    try:
        # pydantic raises TypeError for other types.
        return _verdicts().validate_json(text)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


@cache
def _verdicts() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)


# Increase this when the meaning of a verdict changes.
_VERSION = 4


@dataclass(frozen=True, eq=False)
class CachedVerifier:
    """Calls another verifier only for statements that are not in a cache."""

    verifier: Verifier
    cache: StatementCache

    @property
    def name(self) -> str:
        return self.verifier.name

    @property
    def traits(self) -> VerifierTraits:
        return replace(
            self.verifier.traits,
            stages=stages_in(self.verifier),
            cache_mode=self.cache.mode,
            check=self._check,
        )

    def adapt(self, changes: VerifierChanges) -> "CachedVerifier":
        return replace(self, verifier=self.verifier.adapt(changes))

    def _check(self) -> None:
        if check := self.verifier.traits.check:
            check()
        self.cache.check()

    def fingerprint(self) -> str:
        policy = self.cache.policy
        own = self.verifier.fingerprint()
        return fingerprint(policy, own) if policy else own

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        with_question = self.verifier.traits.reads_question
        keys = [StatementKey.of(claim, with_question=with_question) for claim in claims]
        # Judge identical statements only once.
        first = {key.name: place for place, key in reversed(list(enumerate(keys)))}
        places = [first[key.name] for key in keys]
        distinct = sorted(first.values())
        look_up = partial(self._look_up, [keys[place] for place in distinct], chunks)
        no_verdicts: list[Verdict | None] = [None] * len(distinct)
        lookup_step = LocalCall(look_up, no_verdicts)
        (reply,) = yield [lookup_step]
        known = dict(zip(distinct, lookup_step.read(reply), strict=True))
        misses = [place for place in distinct if known[place] is None]
        decided: dict[int, Verdict] = {}
        if misses:
            missed = [claims[place] for place in misses]
            verdicts = yield from self.verifier.flow(missed, chunks)
            check_verdicts(missed, chunks, verdicts)
            for place, verdict in zip(misses, verdicts, strict=True):
                name = verdict.decided_by or self.verifier.name
                decided[place] = replace(verdict, decided_by=name)
            new = {keys[place]: verdict for place, verdict in decided.items()}
            yield [LocalCall(partial(self._store, new, chunks), None)]
        return [known[place] or decided[place] for place in places]

    def _look_up(
        self, keys: Sequence[StatementKey], chunks: Sequence[str], judge: str | None
    ) -> list[Verdict | None]:
        group = self._group(chunks, judge)
        found = [None] * len(keys) if group is None else self.cache.look_up(group, keys)
        return [one if one and _fits(one, chunks) else None for one in found]

    def _store(
        self, decided: dict[StatementKey, Verdict], chunks: Sequence[str], judge: str | None
    ) -> None:
        group = self._group(chunks, judge)
        if group is not None:
            self.cache.store(group, decided)

    def _group(self, chunks: Sequence[str], judge: str | None) -> str | None:
        if self.verifier.traits.asks_judge and judge is None:
            return None
        own = [endpoint_of(endpoint) for endpoint in self.verifier.traits.endpoints]
        asked = [judge if self.verifier.traits.asks_judge else "", *own]
        return group_of(chunks, self.verifier.fingerprint(), asked)


def cached(verifier: Verifier, cache: StatementCache) -> Verifier:
    """Return a verifier that calls `verifier` only for statements that are not in the cache."""
    return CachedVerifier(verifier, cache)


def group_of(chunks: Sequence[str], verifier: str, asked: Sequence[str | None]) -> str:
    """Return the cache key for verdicts on chunks; `asked` lists judges' addresses and models."""
    return fingerprint(_VERSION, list(chunks), verifier, list(asked))


def _fits(verdict: Verdict, chunks: Sequence[str]) -> bool:
    """Return False for an impossible verdict, such as one that cites a nonexistent chunk."""
    try:
        check_verdicts([Claim("")], chunks, [verdict])
    except VerifierError:
        return False
    return True


_lock = threading.Lock()
_opened: dict[Path, StatementCache] = {}


def configured_cache(
    default: Literal["off", "exact"] = "off", path: Path | None = None
) -> StatementCache | None:
    """Return the cache configured by the environment, opened only once; None if caching is off.

    `default` applies if `RAG_EVALS_STATEMENT_CACHE` is not set. If `path` is None, the user's
    default file is used.
    """
    if (cache_variables().mode or default) == "off":
        return None
    path = path or default_path()
    with _lock:
        cache = _opened.get(path)
        # If the file has been deleted, SQLite would keep writing to the deleted file.
        if cache is None or not path.exists():
            cache = _opened[path] = StatementCache(path)
        return cache
