"""How does a verifier ask only for what is not known yet?

A verdict is reused only for the same chunks in the same order, the same verifier with the
same settings and, where it asks a judge, the same model at the same address.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rag_evals.cache.statements import StatementCache, StatementKey
from rag_evals.core import (
    Claim,
    Flow,
    LocalCall,
    Verdict,
    Verifier,
    VerifierChanges,
    VerifierTraits,
    check_verdicts,
    fingerprint,
    stages_in,
)
from rag_evals.errors import VerifierError
from rag_evals.judge import endpoint_of, model_in

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
    """Name the context and the verifier that verdicts belong to.

    Args:
        chunks: All chunks, in order: verdicts cite them by number.
        verifier: Its fingerprint.
        asked: Who is asked: address and model of each judge; empty texts where none is.
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
