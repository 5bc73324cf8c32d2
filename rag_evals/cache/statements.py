"""Which verdicts are known already? Stored by context, verifier and statement.

A statement is found again however it is typed: quotes, spaces, citation marks, emphasis and the
final stop do not count. One that leans on its question or its neighbours is kept with them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from rag_evals.cache.database import STATEMENTS_TABLE, Database
from rag_evals.core import CacheMode, Claim, Verdict, fingerprint

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS {STATEMENTS_TABLE} (
    grp TEXT NOT NULL,
    statement TEXT NOT NULL,
    text TEXT NOT NULL,
    verdict TEXT NOT NULL,
    created REAL NOT NULL,
    model TEXT NOT NULL,
    frame TEXT,
    embedder TEXT,
    vector BLOB,
    PRIMARY KEY (grp, statement)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {STATEMENTS_TABLE}_created ON {STATEMENTS_TABLE} (created);
CREATE INDEX IF NOT EXISTS {STATEMENTS_TABLE}_frame ON {STATEMENTS_TABLE} (grp, frame, created);
"""


class StatementKey(NamedTuple):
    """What a verdict is found by, beside context and verifier.

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
        """Make the key of a claim.

        Args:
            claim: What is verified.
            with_question: The verifier reads the question beside every claim.
        """
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
        self._database = open_statements(self.path)

    def __repr__(self) -> str:
        """One line: where it is kept."""
        return f"{type(self).__name__}({str(self.path or 'in memory')!r})"

    def look_up(self, group: str, keys: Sequence[StatementKey]) -> list[Verdict | None]:
        """Look up the verdicts of statements.

        Args:
            group: Context and verifier, from `group_of`.
            keys: Any number.

        Returns:
            One for each statement, None where it is not known or cannot be read.
        """
        return [self._exact(group, key) for key in keys]

    def store(
        self, group: str, decided: Mapping[StatementKey, Verdict], *, judge: str = ""
    ) -> None:
        """Store new verdicts.

        Args:
            group: As for `look_up`.
            decided: Verdicts by statement.
            judge: Model of the judge that was asked; empty where none was.
        """
        from rag_evals.cache.alike import frame_of  # noqa: PLC0415 - as above

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
                # What leans on a setting is only found by its own words.
                None if key.setting else frame_of(key.text),
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

    def _exact(self, group: str, key: StatementKey) -> Verdict | None:
        query = f"SELECT verdict FROM {STATEMENTS_TABLE} WHERE grp = ? AND statement = ?"
        rows = self._database.read(query, (group, key.name))
        verdict = unpack(rows[0][0]) if rows else None
        return None if verdict is None else replace(verdict, from_cache=True)


def open_statements(path: Path | None) -> Database:
    """Open the table of verdicts in a cache file, or in memory; see `Database`."""
    return Database(path, _SCHEMA)


def unpack(text: object) -> Verdict | None:
    """Read a stored verdict; None for an entry that is damaged or of another version."""
    try:
        # pydantic raises TypeError for what is no text.
        return _verdicts().validate_json(text)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


@cache
def _verdicts() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)
