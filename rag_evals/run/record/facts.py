"""What is known of a row besides its score? What it shares with others, and how much it says.

Rows that share a question or a context are not independent, and an answer that says less has less
that can be wrong: intervals and comparisons look at both.
"""

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress
from typing import Any, NamedTuple

from rag_evals.core import Finding, Sample
from rag_evals.errors import NotScorableReason
from rag_evals.stats import Clusters, Interval, count_interval, find_clusters

# Chinese and Japanese set no spaces: a character counts as a word.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_SAYS_NOTHING: frozenset[NotScorableReason] = frozenset({"no_statements", "empty_answer"})
NOT_CLUSTERED = "none"
"""In the place of a column: rows count as independent."""


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What a row is, whatever its score.

    Attributes:
        question: Hash of the question, without case and spaces; None without one.
        context: Hash of the texts of the chunks, in any order; None without one.
        words: Words of the answer; None where no row could be read.
        statements: Statements that were decided on; None for a grader that has none.
        supported: Those of them that are supported; None also for a grader that decides something
            else, such as whether they are correct.
    """

    question: int | None = None
    context: int | None = None
    words: int | None = None
    statements: int | None = None
    supported: int | None = None

    @classmethod
    def of(cls, sample: object) -> "RowFacts":
        """Look at a row that is to be graded; nothing is known of one that cannot be read."""
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
        """Add how many statements a grader found, and how many of them are supported."""
        verdicts = [one.verdict for one in findings if one.about == "statement"]
        decided = [verdict for verdict in verdicts if verdict is not None]
        # Without a score, verdicts do not count either: of an unread language, or of a part.
        if reason not in _SAYS_NOTHING and (reason or not decided):
            return self
        # Next to claims of the reference, a yes means that a statement is correct.
        is_correctness = any(one.about == "reference" for one in findings)
        supported = None if is_correctness else sum(decided)
        return replace(self, statements=len(decided), supported=supported)

    def size(self, name: str) -> int:
        """Return one of `SIZES`; -1 where it is not known."""
        if name == "unsupported":
            known = self.statements is not None and self.supported is not None
            return (self.statements or 0) - (self.supported or 0) if known else -1
        found: int | None = getattr(self, name)
        return -1 if found is None else found


FACTS = tuple(field.name for field in fields(RowFacts))
_HASHES = FACTS[:2]


def stable_hash(text: str) -> int:
    """Return 64 bits of a text's hash, the same in every process, as SQLite keeps numbers."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def count_words(text: str) -> int:
    """Count the words of an answer."""
    return len(text.split()) if text.isascii() else len(_WORDS.findall(text))


def read_facts(stored: Mapping[str, Any] | None) -> RowFacts:
    """Read the facts of a stored outcome; an earlier version kept none."""
    known = stored or {}
    return RowFacts(**{name: known[name] for name in FACTS if name in known})


class Size(NamedTuple):
    """How much answers say: one number of a row, such as its words, over all rows.

    Attributes:
        name: "statements", "supported", "unsupported" or "words".
        mean: Mean over the rows that have it, and its interval.
    """

    name: str
    mean: Interval


SIZES = ("statements", "supported", "unsupported", "words")


class RowTable:
    """The facts of all rows of a grader that did not fail, a few bytes a row.

    Attributes:
        by: What rows are clustered by: None chooses question or context, "none" nothing; else the
            column whose hash replaces the question's.
    """

    def __init__(self, by: str | None = None) -> None:
        self.by = by
        self._columns = {name: array("q" if name in _HASHES else "i") for name in FACTS}
        # 0 for a row with a score.
        self._reasons = array("i")
        self._names: dict[int, str] = {}
        self._found: tuple[int, Clusters | None] | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._reasons)

    def add(self, facts: RowFacts, reason: str | None) -> None:
        """Add a row; the reason is why it has no score."""
        for name, column in self._columns.items():
            value = getattr(facts, name)
            column.append((0 if name in _HASHES else -1) if value is None else value)
        self._reasons.append(0 if reason is None else self._code(reason))

    def extend(self, rows: Iterable[Sequence[tuple[Any, ...]]], names: Mapping[int, str]) -> None:
        """Add rows by the thousand: the number of the reason and the facts, None for none."""
        codes = {number: self._code(name) for number, name in names.items()} | {None: 0}
        for block in rows:
            reasons, *facts = zip(*block, strict=True)
            self._reasons.extend(map(codes.__getitem__, reasons))
            for (name, column), values in zip(self._columns.items(), facts, strict=True):
                nothing = 0 if name in _HASHES else -1
                column.extend([nothing if value is None else value for value in values])

    def extend_with(self, other: "RowTable") -> None:
        """Add the rows of another table."""
        codes = {code: self._code(name) for code, name in other._names.items()} | {0: 0}
        self._reasons.extend(map(codes.__getitem__, other._reasons))
        for name, column in self._columns.items():
            column.extend(other._columns[name])

    def _code(self, reason: str) -> int:
        known = {name: code for code, name in self._names.items()}
        code = known.get(reason, len(known) + 1)
        self._names[code] = reason
        return code

    def clusters(self, count_as: Iterable[str] = ()) -> Clusters | None:
        """Cluster the rows with a score, then those of each reason; None for independent ones.

        Args:
            count_as: Reasons whose rows have a number too, in the order of the numbers.
        """
        if (whole := self.whole()) is None:
            return None
        codes = [0, *map(self._code, count_as)]
        keys = [key for code in codes for key in compress(whole.keys, self._having(code))]
        return Clusters.of(whole.by, keys)

    def _having(self, code: int) -> Iterator[bool]:
        return (one == code for one in self._reasons)

    def whole(self) -> Clusters | None:
        """Cluster all rows; done once for so many rows."""
        if self._found is None or self._found[0] != len(self):
            self._found = len(self), self._cluster_all()
        return self._found[1]

    def _cluster_all(self) -> Clusters | None:
        if self.by == NOT_CLUSTERED:
            return None
        if self.by is None:
            return find_clusters({name: self._columns[name] for name in _HASHES})
        return Clusters.of(self.by, [key or None for key in self._columns[_HASHES[0]]])

    def sizes(self) -> list[Size]:
        """Say how much answers say, each number with its interval; nothing where none is known."""
        whole = self.whole()
        found = []
        for name in SIZES if max(self._columns["statements"], default=0) > 0 else SIZES[-1:]:
            values, known = self._values(name)
            keys = None if whole is None else list(compress(whole.keys, known))
            if values:
                found.append(Size(name, count_interval(values, clusters=keys, lowest=0.0)))
        return found

    def _values(self, name: str) -> tuple["array[int]", list[bool]]:
        said, supported = self._columns["statements"], self._columns["supported"]
        values = self._columns.get(name, supported)
        known = [value >= 0 for value in values]
        if name != "unsupported":
            return array("i", compress(values, known)), known
        pairs = zip(said, supported, strict=True)
        return array("i", (one - other for one, other in compress(pairs, known))), known
