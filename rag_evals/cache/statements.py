"""Which verdicts are known already? Stored by context, verifier and statement.

A verdict is reused only for the same chunks in the same order, the same verifier with the
same settings and, where it asks a judge, the same model at the same address.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rag_evals.cache.database import Database
from rag_evals.core import (
    CacheMode,
    Claim,
    Evidence,
    Flow,
    LocalCall,
    Verdict,
    Verifier,
    check_verdicts,
    fingerprint,
)
from rag_evals.judge import endpoint_of

STATEMENTS_TABLE = "statements"
"""Name of the table with the verdicts."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS {STATEMENTS_TABLE} (
    grp TEXT NOT NULL,
    statement TEXT NOT NULL,
    verdict TEXT NOT NULL,
    embedder TEXT,
    vector BLOB,
    PRIMARY KEY (grp, statement)
) WITHOUT ROWID
"""
# A change of what a verdict means makes older ones unusable.
_VERSION = 3


class CacheLookup(NamedTuple):
    """What a cache holds on some statements.

    Attributes:
        verdicts: One for each statement, None where it is not known.
        vectors: Of statements that are not known, packed; empty where none were made.
        group: Where new verdicts belong; None where it is not known who is asked.
    """

    verdicts: list[Verdict | None]
    vectors: dict[str, bytes]
    group: str | None = None


class StatementCache:
    """Stores verdicts, and finds them for exactly the same statement.

    Args:
        path: SQLite file, which several processes may share; None keeps all in memory.

    Raises:
        ConfigurationError: The file cannot be used.
    """

    mode: CacheMode = "exact"

    policy = ""
    """What about this cache can change a verdict; nothing, where only equal statements count."""

    embedder_name: str | None = None
    """What vectors are kept under; None where none are made."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._database = Database(self.path, _SCHEMA)

    def look_up(self, group: str, statements: Sequence[str]) -> CacheLookup:
        """Look up the verdicts of statements.

        Args:
            group: Context and verifier, from `group_of`.
            statements: Any number.
        """
        return CacheLookup([self._exact(group, statement) for statement in statements], {})

    def store(self, group: str, decided: dict[str, Verdict], vectors: dict[str, bytes]) -> None:
        """Store new verdicts, with the vectors of their statements where there are any."""
        rows = [
            (group, statement, _pack(verdict), self.embedder_name, vectors.get(statement))
            for statement, verdict in decided.items()
        ]
        self._database.write(
            f"INSERT OR REPLACE INTO {STATEMENTS_TABLE} VALUES (?, ?, ?, ?, ?)", rows
        )

    def check(self) -> None:
        """Find out before the first call whether it can work; a file was opened already."""

    def count(self) -> int:
        """Return how many verdicts there are."""
        ((count,),) = self._database.read(f"SELECT count(*) FROM {STATEMENTS_TABLE}")
        return int(count)

    def close(self) -> None:
        """Close the file; the cache cannot be used afterwards."""
        self._database.close()

    def _exact(self, group: str, statement: str) -> Verdict | None:
        query = f"SELECT verdict FROM {STATEMENTS_TABLE} WHERE grp = ? AND statement = ?"
        rows = self._database.read(query, (group, statement))
        return replace(unpack(rows[0][0]), from_cache=True) if rows else None


class CachedVerifier(Verifier):
    """Asks another verifier only for statements that a cache does not know."""

    def __init__(self, verifier: Verifier, cache: StatementCache) -> None:
        self.verifier = verifier
        self.cache = cache
        self.name = verifier.name

    @property
    def threshold(self) -> float | None:
        """What the other verifier says."""
        return self.verifier.threshold

    @property
    def asks_judge(self) -> bool:
        """What the other verifier says."""
        return self.verifier.asks_judge

    @property
    def reads_question(self) -> bool:
        """What the other verifier says."""
        return self.verifier.reads_question

    @property
    def deciders(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.deciders

    @property
    def endpoints(self) -> list[str]:
        """What the other verifier says."""
        return self.verifier.endpoints

    @property
    def cache_mode(self) -> CacheMode:
        """Which statements share a verdict."""
        return self.cache.mode

    def in_language(self, language: str) -> "CachedVerifier":
        """Return the other verifier in a language, with the same cache."""
        return CachedVerifier(self.verifier.in_language(language), self.cache)

    def answer_support(self, supports: Iterable[float]) -> float | None:
        """Return what the other verifier says."""
        return self.verifier.answer_support(supports)

    def language_warning(self, language: str | None) -> str | None:
        """Return what the other verifier says."""
        return self.verifier.language_warning(language)

    def check(self) -> None:
        """Check the other verifier and the cache."""
        self.verifier.check()
        self.cache.check()

    def fingerprint(self) -> str:
        """Return the other verifier's hash; that of the policy joins it, where there is one."""
        if not self.cache.policy:
            return self.verifier.fingerprint()
        return fingerprint(self.cache.policy, self.verifier.fingerprint())

    def calls_for(self, statements: int) -> int:
        """Return the calls that the other verifier would make."""
        return self.verifier.calls_for(statements)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Look up cached verdicts, verify the misses, store them."""
        statements = [self._key(claim) for claim in claims]
        no_verdicts = CacheLookup([None] * len(statements), {})
        lookup_step = LocalCall(partial(self._look_up, statements, chunks), no_verdicts)
        (reply,) = yield [lookup_step]
        looked_up = lookup_step.read(reply)
        cached_verdicts = dict(zip(statements, looked_up.verdicts, strict=True))
        misses = [statement for statement, verdict in cached_verdicts.items() if verdict is None]
        decided: dict[str, Verdict] = {}
        if misses:
            known = dict(zip(statements, claims, strict=True))
            missed = [known[statement] for statement in misses]
            verdicts = yield from self.verifier.flow(missed, chunks)
            check_verdicts(missed, chunks, verdicts)
            for statement, verdict in zip(misses, verdicts, strict=True):
                name = verdict.decided_by or self.verifier.name
                decided[statement] = replace(verdict, decided_by=name)
            yield [LocalCall(partial(self._store, looked_up, decided), None)]
        return [cached_verdicts[statement] or decided[statement] for statement in statements]

    def _key(self, claim: Claim) -> str:
        """Name a claim: its text, and what it leans on or what the verifier reads beside it."""
        question = claim.question if self.verifier.reads_question else None
        setting = tuple(part or "" for part in (*claim.setting, question))
        return "\n".join((claim.text, *setting)) if any(setting) else claim.text

    def _look_up(
        self, statements: Sequence[str], chunks: Sequence[str], judge: str | None
    ) -> CacheLookup:
        group = self._group(chunks, judge)
        if group is None:
            return CacheLookup([None] * len(statements), {})
        return self.cache.look_up(group, statements)._replace(group=group)

    def _store(
        self, looked_up: CacheLookup, decided: dict[str, Verdict], judge: str | None
    ) -> None:
        del judge  # it is part of the group
        if looked_up.group is not None:
            self.cache.store(looked_up.group, decided, looked_up.vectors)

    def _group(self, chunks: Sequence[str], judge: str | None) -> str | None:
        """Name the group of verdicts that may be used; None where it is not known who is asked."""
        if self.asks_judge and judge is None:
            return None
        own = [endpoint_of(endpoint) for endpoint in self.verifier.endpoints]
        asked = [judge if self.asks_judge else "", *own]
        return group_of(chunks, self.verifier.fingerprint(), asked)


def cached(verifier: Verifier, cache: StatementCache) -> CachedVerifier:
    """Make a verifier that asks `verifier` only for what the cache does not know."""
    return CachedVerifier(verifier, cache)


def group_of(chunks: Sequence[str], verifier: str, asked: Sequence[str | None]) -> str:
    """Name the context and the verifier that verdicts belong to.

    Args:
        chunks: All chunks, in order: verdicts cite them by number.
        verifier: Its fingerprint.
        asked: Who is asked: address and model of each judge; empty texts where none is.
    """
    return fingerprint(_VERSION, list(chunks), verifier, list(asked))


def unpack(text: str) -> Verdict:
    """Read a stored verdict."""
    values = json.loads(text)
    values["chunk_ids"] = tuple(values["chunk_ids"])
    values["evidence"] = tuple(Evidence(*one) for one in values["evidence"])
    return Verdict(**values)


def _pack(verdict: Verdict) -> str:
    return json.dumps(asdict(verdict), ensure_ascii=False)
