"""Words without a good use are found in pages and texts; names of code are free."""

from pathlib import Path

from tools import words


def test_a_word_is_found_where_people_read_it(tmp_path: Path) -> None:
    """Pages, comments and messages count; a variable may have any name."""
    for folder in ("docs", "rag_evals", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "README.md").write_text("Grade the rows anew.\n")
    (tmp_path / "CONTRIBUTING.md").write_text("Besides, use a cheap judge.\n")
    code = 'beside = 1  # a free judge\nraise ValueError(\n    """it\n    is no more"""\n)\n'
    (tmp_path / "rag_evals" / "code.py").write_text(code)

    assert list(words.found(tmp_path)) == [
        "README.md:1: 'anew': write again",
        "rag_evals/code.py:1: 'free judge': write cheap judge, embedded judge",
        "rag_evals/code.py:4: 'is no more': write no longer exists",
    ]
