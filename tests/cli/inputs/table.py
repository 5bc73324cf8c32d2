"""What is one hostile input? The files, the command, and how it must end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Content = str | bytes | Callable[[Path], object]
"""Of a file: text, bytes, or a function that makes something else at the path."""

ROW = '{"answer": "It is in Paris.", "context": ["It is in Paris."]}'
RUSSIAN = '{"answer": "Он стоит в Париже.", "context": ["Он стоит в Париже."]}'


@dataclass(frozen=True)
class Entry:
    """One input.

    Attributes:
        name: Of the entry; names of one table differ.
        words: The command line.
        code: The exit code it must end with.
        says: Part of the one error line; with exit code 0, part of what is printed.
        files: What stands in the working folder before.
        environment: Variables that are set.
    """

    name: str
    words: Sequence[str]
    code: int
    says: str
    files: Mapping[str, Content] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def graded(file: str, rows: Sequence[tuple[str, Content, int, str]]) -> Iterator[Entry]:
    """Make an entry of each content of a data file, graded by the embedded judge."""
    for name, content, code, says in rows:
        yield Entry(f"{file}: {name}", ("grade", file, "--quiet"), code, says, {file: content})
