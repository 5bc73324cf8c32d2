"""Which verdicts are known already? Stored by context, verifier and statement.

A statement is found again however it is typed: quotes, spaces, citation marks, emphasis and the
final stop do not count. One that depends on its question or its neighbours is kept with them. A
verdict is reused only for the same chunks in the same order, the same verifier with the same
settings and, where it asks a judge, the same model at the same address.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from rag_evals.cache.database import (
    STATEMENTS_TABLE,
    Database,
    default_path,
)
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
from rag_evals.judge import endpoint_of, model_in


class StatementKey(NamedTuple):
    """What a verdict is found by, besides context and verifier.

    Attributes:
        text: The statement as it is written.
        plain: The statement without typography.
        setting: Hash of what it leans on, and of the question where the verifier reads it; empty
            for a statement that stands alone.
    """

    text: str
    plain: str
    setting: str

    @classmethod
    def of(cls, claim: Claim, *, with_question: bool = False) -> "StatementKey":
        """Make the key of a claim; `with_question` where the verifier reads it with every claim."""
        # The word lists would cost every import of the package.
        from rag_evals.text import plain_form  # noqa: PLC0415

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
        """One text for both: a plain form has no line break."""
        return f"{self.plain}\n{self.setting}" if self.setting else self.plain


class StatementCache:
    """Stores verdicts, and finds them for the same statement.

    Args:
        path: SQLite file, which several processes may share; None keeps all in memory.

    Raises:
        ConfigurationError: The file cannot be used.
    """

    mode: CacheMode = "exact"

    @property
    def policy(self) -> str:
        """What about this cache can change a verdict; empty where only equal statements count."""
        return ""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._database = Database(self.path)

    def __repr__(self) -> str:
        """One line: where it is kept."""
        return f"{type(self).__name__}({str(self.path or 'in memory')!r})"

    def look_up(self, group: str, keys: Sequence[StatementKey]) -> list[Verdict | None]:
        """Look up the verdicts of statements in a group, from `group_of`.

        Returns:
            One for each statement, None where it is not known or cannot be read.
        """
        return [self._exact(group, key) for key in keys]

    def store(
        self, group: str, decided: Mapping[StatementKey, Verdict], *, judge: str = ""
    ) -> None:
        """Store new verdicts in a group, with the model of the judge that was asked, if any."""
        now = time.time()
        rows = [
            (
                group,
                key.name,
                key.text,
                _verdicts().dump_json(verdict).decode(),
                now,
                # As lines, so that entries of either can be deleted.
                "\n".join(filter(None, (verdict.decided_by, judge))),
                self._frame(key),
            )
            for key, verdict in decided.items()
        ]
        self._database.write(
            f"INSERT OR REPLACE INTO {STATEMENTS_TABLE} "
            "(grp, statement, text, verdict, created, model, frame) VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
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

    def _frame(self, key: StatementKey) -> str | None:
        """Return a hash by which similar statements are found; None where only equal ones are."""
        del key
        return None

    def _exact(self, group: str, key: StatementKey) -> Verdict | None:
        query = f"SELECT verdict FROM {STATEMENTS_TABLE} WHERE grp = ? AND statement = ?"
        rows = self._database.read(query, (group, key.name))
        verdict = unpack(rows[0][0]) if rows else None
        return None if verdict is None else replace(verdict, from_cache=True)


def unpack(text: object) -> Verdict | None:
    """Read a stored verdict; None for an entry that is damaged or of another version."""
    try:
        # pydantic raises TypeError for what is not text.
        return _verdicts().validate_json(text)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


@cache
def _verdicts() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)


# A change of what a verdict means makes older ones unusable.
_VERSION = 4


@dataclass(frozen=True, eq=False)
class CachedVerifier:
    """Asks another verifier only for statements that a cache does not know."""

    verifier: Verifier
    cache: StatementCache

    @property
    def name(self) -> str:
        """The other verifier's."""
        return self.verifier.name

    @property
    def traits(self) -> VerifierTraits:
        """Those of the other verifier, with the cache's mode and check."""
        return replace(
            self.verifier.traits,
            stages=stages_in(self.verifier),
            cache_mode=self.cache.mode,
            check=self._check,
        )

    def adapt(self, changes: VerifierChanges) -> "CachedVerifier":
        """Return the same cache for the other verifier with changes."""
        return replace(self, verifier=self.verifier.adapt(changes))

    def _check(self) -> None:
        if check := self.verifier.traits.check:
            check()
        self.cache.check()

    def fingerprint(self) -> str:
        """Return the other verifier's hash; that of the policy joins it, where there is one."""
        policy = self.cache.policy
        own = self.verifier.fingerprint()
        return fingerprint(policy, own) if policy else own

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Look up cached verdicts, verify the misses, store them."""
        with_question = self.verifier.traits.reads_question
        keys = [StatementKey.of(claim, with_question=with_question) for claim in claims]
        # Equal words in one answer are decided once.
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
        if group is None:
            return [None] * len(keys)
        return [_usable(one, chunks) for one in self.cache.look_up(group, keys)]

    def _store(
        self, decided: dict[StatementKey, Verdict], chunks: Sequence[str], judge: str | None
    ) -> None:
        group = self._group(chunks, judge)
        if group is not None:
            asked = model_in(judge) if judge is not None and self.verifier.traits.asks_judge else ""
            self.cache.store(group, decided, judge=asked)

    def _group(self, chunks: Sequence[str], judge: str | None) -> str | None:
        """Name the group of verdicts that may be used; None where it is not known who is asked."""
        if self.verifier.traits.asks_judge and judge is None:
            return None
        own = [endpoint_of(endpoint) for endpoint in self.verifier.traits.endpoints]
        asked = [judge if self.verifier.traits.asks_judge else "", *own]
        return group_of(chunks, self.verifier.fingerprint(), asked)


def cached(verifier: Verifier, cache: StatementCache) -> Verifier:
    """Make a verifier that asks `verifier` only for what the cache does not know."""
    return CachedVerifier(verifier, cache)


def group_of(chunks: Sequence[str], verifier: str, asked: Sequence[str | None]) -> str:
    """Name the context and the verifier, by its fingerprint, that verdicts belong to.

    `asked` has address and model of each judge; empty texts where none is.
    """
    return fingerprint(_VERSION, list(chunks), verifier, list(asked))


def _usable(verdict: Verdict | None, chunks: Sequence[str]) -> Verdict | None:
    """Return a stored verdict, or None where the file holds an impossible one."""
    if verdict is None:
        return None
    try:
        check_verdicts([Claim("")], chunks, [verdict])
    except VerifierError:
        return None
    return verdict


_lock = threading.Lock()
_opened: dict[Path, StatementCache] = {}


def configured_cache(
    default: Literal["off", "exact"] = "off", path: Path | None = None
) -> StatementCache | None:
    """Open the cache that the environment asks for; one for all graders of this process.

    Args:
        default: What `RAG_EVALS_STATEMENT_CACHE` says where it is not set.
        path: The cache file; None takes the user's own.

    Returns:
        None when it is off.

    Raises:
        ConfigurationError: A variable has no meaning, or the file cannot be used.
    """
    if (cache_variables().mode or default) == "off":
        return None
    path = path or default_path()
    with _lock:
        cache = _opened.get(path)
        # Someone may have cleared the file since; SQLite would go on writing to the removed one.
        if cache is None or not path.exists():
            cache = _opened[path] = StatementCache(path)
        return cache
