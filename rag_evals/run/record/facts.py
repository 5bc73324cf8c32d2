"""Row metadata besides the score, used for clustering and answer length.

Rows that share a question or a context are not independent, and a shorter answer has fewer
statements that can be wrong. Intervals and comparisons account for both.
"""

import hashlib
import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import compress
from typing import Any

from rag_evals.core import Finding, Sample
from rag_evals.errors import NotScorableReason
from rag_evals.stats import Clusters, Interval, count_interval, find_clusters
from rag_evals.stats.intervals import interval_of_sums

# Chinese and Japanese have no spaces: each character counts as a word.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_SAYS_NOTHING: frozenset[NotScorableReason] = frozenset({"no_statements", "empty_answer"})
NOT_CLUSTERED = "none"
"""Used in place of a column name to treat rows as independent."""


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Metadata of one row: hashes for clustering, and answer length.

    Attributes:
        question: Hash of the question, ignoring case and whitespace; None without a question.
        context: Hash of the chunk texts, regardless of order; None without chunks.
        words: Number of words in the answer; None if the row could not be read.
        statements: Number of statements with a verdict; None if the grader does not use statements.
        supported: Number of supported statements; None if the grader does not judge support.
    """

    question: int | None = None
    context: int | None = None
    words: int | None = None
    statements: int | None = None
    supported: int | None = None

    @classmethod
    def of(cls, sample: object) -> "RowFacts":
        if not isinstance(sample, Sample):
            return cls()
        question, chunks = sample.question, sorted(chunk.text for chunk in sample.context)
        return cls(
            stable_hash(" ".join(question.casefold().split())) if question else None,
            stable_hash("\0".join(chunks)) if any(chunks) else None,
            count_words(sample.answer or ""),
        )

    def with_findings(
        self, findings: Sequence[Finding], reason: NotScorableReason | None
    ) -> "RowFacts":
        """Return a copy that also counts all statements and the supported ones."""
        verdicts = [one.verdict for one in findings if one.about == "statement"]
        decided = [verdict for verdict in verdicts if verdict is not None]
        # Ignore verdicts on a row without a score, because only part of it may have been read.
        if reason not in _SAYS_NOTHING and (reason or not decided):
            return self
        # If the grader also checks claims of the reference, True means correct, not supported.
        is_correctness = any(one.about == "reference" for one in findings)
        supported = None if is_correctness else sum(decided)
        return RowFacts(self.question, self.context, self.words, len(decided), supported)

    def size(self, name: str) -> int:
        """Return the value of one of `SIZES`; -1 if unknown."""
        if name == "unsupported":
            known = self.statements is not None and self.supported is not None
            return (self.statements or 0) - (self.supported or 0) if known else -1
        found: int | None = getattr(self, name)
        return -1 if found is None else found


FACTS = tuple(field.name for field in fields(RowFacts))
HASHES = FACTS[:2]


def stable_hash(text: str | bytes) -> int:
    """Return a 64-bit signed hash that is the same in every process."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "big", signed=True)


def count_words(text: str) -> int:
    return len(text.split()) if text.isascii() else len(_WORDS.findall(text))


SIZES = ("statements", "supported", "unsupported", "words")
_EXPRESSIONS = {name: name for name in SIZES} | {"unsupported": "statements - supported"}


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """Metadata of a grader's rows, queried from an index when needed.

    `lines` contains the FROM and WHERE clauses of each query. `is_independent` is true if it is
    known that too few rows share a question or a context to cluster them.
    """

    read: Callable[[str], Iterator[tuple[Any, ...]]]
    lines: str
    is_independent: bool

    def rows(self) -> Iterator[tuple[RowFacts, str | None]]:
        """Yield each row's metadata, and the reason if it has no score."""
        reason = "(SELECT text FROM word WHERE number = o.reason)"
        found = self.read(f"SELECT {reason}, {', '.join(FACTS)} {self.lines}")
        return ((RowFacts(*facts), reason) for reason, *facts in found)

    def sums(self) -> dict[str, tuple[int, int, int]]:
        """Return the row count, sum and sum of squares for each of `SIZES`."""
        each = "COUNT({0}), SUM({0}), SUM(({0}) * ({0}))"
        parts = (each.format(_EXPRESSIONS[name]) for name in SIZES)
        found = [value or 0 for value in next(self.read(f"SELECT {', '.join(parts)} {self.lines}"))]
        sums = zip(found[::3], found[1::3], found[2::3], strict=True)
        return dict(zip(SIZES, sums, strict=True))


class RowTable:
    """Metadata of a grader's rows, except failed ones, stored in a few bytes per row.

    Attributes:
        by: What to cluster rows by: a column, whose hash then replaces that of the question;
            "none" for no clustering; or None to choose between question and context.
    """

    def __init__(self, by: str | None = None, stored: StoredFacts | None = None) -> None:
        self.by = by
        self._stored = stored
        # An unknown hash is 0, an unknown size -1.
        self._hashes = {name: array("q") for name in HASHES}
        self._sizes = {name: array("i") for name in SIZES}
        self._reasons = array("i")
        self._codes: dict[str | None, int] = {}
        self._found: tuple[int, Clusters | None] | None = None

    def add(self, facts: RowFacts, reason: str | None) -> None:
        """Add a row; `reason` says why it has no score, and is None for a scored row."""
        self._load()
        for name, hashes in self._hashes.items():
            hashes.append(getattr(facts, name) or 0)
        for name, sizes in self._sizes.items():
            sizes.append(facts.size(name))
        self._reasons.append(self._codes.setdefault(reason, len(self._codes)))

    def __getstate__(self) -> dict[str, Any]:
        """Load the remaining rows from the index first, because the index cannot be pickled."""
        self._load()
        return self.__dict__

    def _load(self) -> None:
        stored, self._stored = self._stored, None
        for facts, reason in () if stored is None else stored.rows():
            self.add(facts, reason)

    def clusters(self, count_as: Iterable[str] = ()) -> Clusters | None:
        """Cluster the scored rows, followed by the rows for each reason in `count_as`.

        Return None if the rows are independent.
        """
        if (whole := self.whole()) is None:
            return None
        keys: list[Hashable | None] = []
        for code in map(self._codes.get, (None, *count_as)):
            rows = zip(whole.keys, self._reasons, strict=True)
            keys += (key for key, reason in rows if reason == code)
        return Clusters(whole.by, keys)

    def whole(self) -> Clusters | None:
        """Cluster all rows; None if they are independent."""
        if self.by is None and self._stored is not None and self._stored.is_independent:
            return None
        self._load()
        if self._found is None or self._found[0] != len(self._reasons):
            found = None
            if self.by is None:
                found = find_clusters(self._hashes)
            elif self.by != NOT_CLUSTERED:
                found = Clusters(self.by, [key or None for key in self._hashes["question"]])
            self._found = len(self._reasons), found
        return self._found[1]

    def sizes(self, *, drawn: bool = False) -> dict[str, Interval]:
        """Return the mean of each of `SIZES` over the rows where it is known; may be empty.

        Rows drawn at random are not clustered, because the estimate is only for this data set.
        """
        whole = None if drawn else self.whole()
        if self._stored is not None:
            sums = self._stored.sums()
            names = SIZES if sums["statements"][1] else SIZES[-1:]
            return {name: interval_of_sums(*sums[name]) for name in names if sums[name][0]}
        found = {}
        for name in SIZES if max(self._sizes["statements"], default=0) > 0 else SIZES[-1:]:
            known = [value >= 0 for value in self._sizes[name]]
            if any(known):
                keys = None if whole is None else list(compress(whole.keys, known))
                values = array("i", compress(self._sizes[name], known))
                found[name] = count_interval(values, clusters=keys, lowest=0.0)
        return found
