"""A key never stands in an error; what is no key is left as it was."""

import pytest

from rag_evals.judge.wire.sending import redact


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        ("k", "unknown kind of key, k is wrong", "unknown kind of key, [key] is wrong"),
        ("nil", "nilly: 'nil'", "nilly: '[key]'"),
        ("none", "'none' is no key", "'none' is no key"),
        ("тест", "протестуем: тест", "протестуем: [key]"),
        ("a.c+", "abcc: a.c+, xa.c+", "abcc: [key], xa.c+"),
        ("long-key-1", "before-long-key-1x", "before-[key]x"),
    ],
)
def test_a_key_is_hidden_and_words_are_not(key: str, text: str, shown: str) -> None:
    """A short stand-in is hidden as a whole word only; what may be a secret, wherever it stands."""
    assert redact(text, key) == shown


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("12345678", "x[key]x [key] x"),
        ("1234567", "x12345678x 12345678 x"),
        ("x", "x12345678x 12345678 [key]"),
        ("", "x12345678x 12345678 x"),
        (None, "x12345678x 12345678 x"),
    ],
)
def test_a_short_key_is_hidden_only_as_a_word(secret: str | None, said: str) -> None:
    """A stand-in of fewer than eight characters may be part of any word."""
    assert redact("x12345678x 12345678 x", secret) == said
