"""How do comparisons and measurements show themselves in a notebook? As small tables."""

from collections.abc import Mapping, Sequence

from rag_evals.analysis.wording import interval_words
from rag_evals.stats import Confusion, Interval
from rag_evals.text import MOST_ITEMS, and_more, html_note, html_table


def bounded_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", noun: str = "rows"
) -> str:
    """Write the first rows of a table, and say how many more there are.

    Args:
        head: Names of the columns.
        rows: All rows.
        caption: What stands above.
        noun: What a row is, in the plural.
    """
    more = and_more(len(rows), MOST_ITEMS, noun)
    return html_table(head, rows[:MOST_ITEMS], caption=caption, left_out=more)


def notes_html(notes: Sequence[str]) -> str:
    """Write the first notes, each on a line."""
    shown = "".join(html_note(f"note: {note}") for note in notes[:MOST_ITEMS])
    return shown + html_note(and_more(len(notes), MOST_ITEMS, "notes"))


def words_or(interval: Interval | None, otherwise: str = "unknown") -> str:
    """Write an interval; other words where there is none."""
    return otherwise if interval is None else interval_words(interval)


def confusion_words(counts: Confusion) -> str:
    """Write the four counts in one cell."""
    names: Mapping[str, int] = {
        "both yes": counts.true_positives,
        "both no": counts.true_negatives,
        "only judge yes": counts.false_positives,
        "only people yes": counts.false_negatives,
    }
    return ", ".join(f"{name} {count}" for name, count in names.items())
