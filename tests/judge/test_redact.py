"""A key never stands in an error; what is no key is left as it was."""

import pytest

from rag_evals.judge.wire.sending import redact


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        ("k", "unknown kind of key, k is wrong", "unknown kind of key, [key] is wrong"),
        ("none", "nonesuch: 'none'", "nonesuch: '[key]'"),
        ("тест", "протестуем: тест", "протестуем: [key]"),
        ("a.c+", "abcc: a.c+, xa.c+", "abcc: [key], xa.c+"),
        ("long-key-1", "before-long-key-1x", "before-[key]x"),
    ],
)
def test_a_key_is_hidden_and_words_are_not(key: str, text: str, shown: str) -> None:
    """A short stand-in is hidden as a whole word only; what may be a secret, wherever it stands."""
    assert redact(text, key) == shown
