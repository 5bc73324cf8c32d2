"""Detection of a text's language and script, and token counts.

Languages are recognised by their letters and, for eight of them, by function words. This is enough
to tell whether the embedded judge supports a language, and whether a judge translated a sentence.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain

from rag_evals.text.lexicon import named_groups_in, words_in

_CHARACTERS_PER_TOKEN = 4
_MOST_READ = 2000
_LEAST_SHARE = 0.15
_WORD, _ASCII_WORD = re.compile(r"[^\W\d_]+"), re.compile("[a-z]+")
_RUSSIAN = re.compile("[а-яёА-ЯЁ]")
# The first match wins: Japanese also uses Chinese characters, and Ukrainian uses Russian letters.
_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("uk", re.compile("[іїєґІЇЄҐ]")),
    ("ru", _RUSSIAN),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)
# Letters and words in Bulgarian, Serbian, Macedonian, Kazakh or Tatar that do not occur in Russian.
_NOT_RUSSIAN = re.compile(
    "[\u0450\u0452\u0453\u0455\u0458-\u045f\u0492-\u052f]|ъ[бвгджзйклмнпрстфхцчшщ]"
    r"|\b(?:са|се|су|има|няма|беше|който|която|което|които|във|със|този|тази|това)\b",
    re.IGNORECASE,
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# Short texts in these scripts may contain only Russian letters or only Chinese characters.
_SAME_SCRIPT = {"uk": "ru", "ja": "zh"}
# Letters that occur in only one of the eight languages.
_LETTERS = dict.fromkeys("łąęśżźćń", "pl") | {"ã": "pt", "õ": "pt", "ñ": "es", "ß": "de"}
_ODD = re.compile(f"[{''.join(_LETTERS)}]")
# A text with this many words, but no known function words, is in an unrecognised language.
_LEAST_TOLD = 8
UNKNOWN_LANGUAGE = "und"
"""The ISO 639-2 code for a language that is not in `LANGUAGE_NAMES`."""

READ_WELL = ("en", "ru")
"""The languages that the embedded judge was developed for and evaluated on."""

LANGUAGE_NAMES = {
    "en": "English", "ru": "Russian", "de": "German", "fr": "French", "es": "Spanish",
    "it": "Italian", "pt": "Portuguese", "pl": "Polish", "nl": "Dutch", "zh": "Chinese",
    "ja": "Japanese", "ko": "Korean", "uk": "Ukrainian", "el": "Greek", "he": "Hebrew",
    "ar": "Arabic", "hi": "Hindi", "th": "Thai",
}  # fmt: skip
"""Names of the languages that can be recognised, by code."""

LANGUAGE_CODES = frozenset(words_in("language_codes"))
"""Every two-letter language code in ISO 639-1."""

SCRIPT_NAMES = {**LANGUAGE_NAMES, "latin": "Latin", "ru": "Cyrillic", "other": "other"}
"""Names of the scripts that can be recognised, by the return value of `script_of`."""


def language_of(text: str) -> str | None:
    """Return the two-letter code of a text's language, detected in its first 2,000 characters.

    None if the text is too short, mixes languages, or is in a language outside `LANGUAGE_NAMES`.
    """
    text = text[:_MOST_READ]
    found = _lower_words(text)
    if not found:
        return None
    if not text.isascii():
        code = _by_script(text)
        if code is not None:
            return code
    return _by_small_words(found)


def language_in(text: str, question: str | None, chunks: Iterable[str]) -> str | None:
    """Return the language of an answer, or of its question and chunks if it is too short.

    Returns:
        A code from `LANGUAGE_NAMES`; `UNKNOWN_LANGUAGE` if the texts are long enough but not in any
        of these languages; None if they are too short. A text without letters, such as "1987", is
        assumed to be in its question's language, or in English if that is not recognised.
    """
    if (code := language_of(text)) is not None:
        return code
    asked = (question or "").strip()
    others = " ".join(part[:_MOST_READ] for part in (asked, *chunks))[:_MOST_READ]
    own, known = _lower_words(text[:_MOST_READ]), set(_lower_words(others))
    shared = sum(word in known for word in own)
    if len(own) >= _LEAST_TOLD and 2 * shared < len(own):
        return UNKNOWN_LANGUAGE
    code = language_of(others)
    if not own and not asked:
        return code if code in READ_WELL else "en"
    if code is None and (_has_only_english({*own, *known}) or _is_vocabulary([*own, *known])):
        code = "en"
    is_short = code is None and len(own) + len(known) < _LEAST_TOLD
    if is_short and not own:
        return "en"
    return None if is_short else code or UNKNOWN_LANGUAGE


def _lower_words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return [word.lower() for word in _WORD.findall(text)]


def _has_only_english(found: set[str]) -> bool:
    """True if all function words are English, and one occurs in at most one other language."""
    languages = _languages_of_words()
    codes = [languages[word] for word in found & languages.keys()]
    return all("en" in each for each in codes) and any(len(each) <= 2 for each in codes)


def _is_vocabulary(found: Sequence[str]) -> bool:
    """True if more than two thirds of the words, and at least two, have an English stem."""
    # The imported module builds large tables, which most programs do not need.
    from rag_evals.text.word_forms import stem  # noqa: PLC0415

    long = {word for word in found if len(word) > 2}
    english = sum(stem(word) in _english_stems() for word in long)
    return english >= 2 and 3 * english > 2 * len(long)


@lru_cache(maxsize=1)
def _english_stems() -> frozenset[str]:
    return frozenset(words_in("english_stems"))


def has_russian(text: str) -> bool:
    """True if a text contains a Russian letter."""
    return not text.isascii() and _RUSSIAN.search(text) is not None


def script_of(text: str) -> str | None:
    """Return the script of most of a text's letters; None if it contains no letters.

    The script is a key of `SCRIPT_NAMES`: `latin`, `other`, or the code of a language that uses it.
    """
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else None
    letters = sum(map(str.isalpha, text))
    if not letters:
        return None
    counts = Counter({"latin": len(_LATIN.findall(text))})
    if counts["latin"] < letters:
        for code, script in _SCRIPTS:
            counts[_SAME_SCRIPT.get(code, code)] += len(script.findall(text))
        counts["other"] = letters - counts.total()
    return max(counts, key=lambda name: counts[name])


@lru_cache(maxsize=16)
def small_words(language: str) -> frozenset[str]:
    """Return the keys of a language's function words; empty for English and Russian."""
    return _keys_of().get(language, frozenset())


@lru_cache(maxsize=16)
def denials(language: str) -> frozenset[str]:
    """Return a language's negations, in lowercase; empty for English and Russian."""
    listed = dict(named_groups_in("denies_languages"))
    return frozenset(listed.get(language, ()))


def token_counter(model: str | None = None) -> tuple[Callable[[str], int], str]:
    """Return a function that counts tokens for a model, and a description of the method.

    The method is tiktoken if it supports the model, otherwise an estimate.
    """
    try:
        import tiktoken  # noqa: PLC0415 - optional, and reads files on import

        encoding = tiktoken.encoding_for_model(model or "gpt-4o")
    # KeyError: unknown model. OSError, the base class of requests' errors: tables cannot be loaded.
    except (ImportError, KeyError, OSError):
        return lambda text: len(text) // _CHARACTERS_PER_TOKEN, "estimated, 4 characters a token"
    return lambda text: len(encoding.encode(text, disallowed_special=())), "counted by tiktoken"


def _by_script(text: str) -> str | None:
    letters = sum(map(str.isalpha, text))
    for code, script in _SCRIPTS:
        # A quoted word in another script does not make a text foreign.
        least = 0.05 if code in ("ja", "uk") else 0.5
        if len(script.findall(text)) >= max(1, least * letters):
            is_other = code == "ru" and len(_NOT_RUSSIAN.findall(text)) >= max(1, 0.02 * letters)
            return None if is_other else code
    return None


def _by_small_words(found: list[str]) -> str | None:
    languages = _languages_of_words()
    hits = Counter(chain.from_iterable(filter(None, map(languages.get, found))))
    text = "".join(found)
    hits.update(_LETTERS[sign] for sign in ([] if text.isascii() else _ODD.findall(text)))
    if not hits:
        return None
    # A tie between Spanish and Portuguese matters little; a tie with English is inconclusive.
    best = min(hits, key=lambda code: (-hits[code], code))
    least = max(2, _LEAST_SHARE * len(found))
    is_clear = hits[best] >= least and (best == "en" or hits[best] > hits.get("en", 0))
    return best if is_clear else None


@lru_cache(maxsize=1)
def _languages_of_words() -> dict[str, list[str]]:
    languages: dict[str, list[str]] = {}
    for code, words in named_groups_in("languages"):
        for word in {*words, *denials(code)}:
            languages.setdefault(word, []).append(code)
    return languages


@lru_cache(maxsize=1)
def _keys_of() -> dict[str, frozenset[str]]:
    # The imported module builds large tables, which most programs do not need.
    from rag_evals.text.word_forms import stem  # noqa: PLC0415

    return {
        code: frozenset(map(stem, words))
        for code, words in named_groups_in("languages")
        if code != "en"
    }


# Invisible characters: soft hyphen, zero-width space, word joiner and byte-order mark.
UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_WIDE = re.compile("[\uff01-\uff5e]+")
# Most texts contain none of these, and searching is ten times as fast as `str.translate`.
_UNTYPED = re.compile(f"[{''.join(map(chr, UNSEEN))}\uff01-\uff5e]")


def as_typed(text: str) -> str:
    """Normalise letters and digits for comparison.

    Invisible characters are removed, a letter and its combining accent become one character, and
    full-width characters become ASCII. Nothing else changes.
    """
    if text.isascii():
        return text
    if _UNTYPED.search(text):
        seen = text.translate(UNSEEN)
        text = _WIDE.sub(lambda found: unicodedata.normalize("NFKC", found.group()), seen)
    return unicodedata.normalize("NFC", text)


def typed_offsets(text: str) -> list[int]:
    """Return the index in `text` of each character of `as_typed(text)`, then the text's length."""
    offsets: list[int] = []
    for found in _composed_letters().finditer(text):
        letters = found.group()
        if letters.isascii():
            offsets += range(*found.span())
        else:
            offsets += [found.start()] * len(as_typed(letters))
    return [*offsets, len(text)]


@cache
def _composed_letters() -> re.Pattern[str]:
    """Match an ASCII run, or one letter: a base and its accents, or parts of a Korean syllable."""
    accents = "".join(filter(unicodedata.combining, map(chr, range(0x300, 0x20000))))
    unseen = "".join(map(chr, UNSEEN))
    korean = f"[\uac00-\ud7a3]?[{unseen}]*[\u1100-\u11ff][\u1100-\u11ff{unseen}]*"
    ascii_run = f"[\x00-\x7f]+(?![{accents}{unseen}])"
    return re.compile(f"{ascii_run}|{korean}|.[{accents}{unseen}]*", re.DOTALL)
