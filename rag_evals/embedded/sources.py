"""Parts of a sentence that contain no claim: comments on the sources, lead-ins and remarks.

"Passage 2 is about tea." makes no claim that a source could support. "Passage 3 does not say how to
fold a quilt." makes one: it is false if the source says how. The rules cover English and Russian.
"""

import re
from functools import lru_cache

from rag_evals.text.lexicon import lines_in, patterns_in

_PATTERNS = patterns_in("sources")
_LONGEST = 400


def reads_as_sentence(line: str) -> bool:
    """True if the line contains a subject and a verb, or a quantity.

    Other lines without a full stop are titles, such as "Documents required for travel".
    """
    text = line.strip(" *_#:")[:_LONGEST].replace("’", "'")
    return any(_PATTERNS[name].match(text) for name in ("verb", "past", "past_ru", "counts"))


# Substrings, because a regular expression with many alternatives is slow when nothing matches.
_SOURCES = lines_in("mentions_sources")
_UNANSWERED = lines_in("mentions_no_answer")
_TOPIC_WORD = re.compile(r"[^\W\d_]{3,}")


def names_source(text: str) -> bool:
    return any(map(text.lower().__contains__, _SOURCES))


# Cached, because it is called several times for each sentence.
@lru_cache(maxsize=256)
def absence_of(sentence: str) -> str | None:
    """Return the topic that a sentence says the sources do not cover; None if unclear."""
    if not _may_speak(sentence):
        return None
    head = sentence.replace("’", "'")
    for suffix in ("", "_ru"):
        found = _PATTERNS[f"leaves_out{suffix}"].match(head)
        if found is None:
            continue
        if not (names_source(found[0]) or _PATTERNS["place"].search(head)):
            # "There is no mention of it in medieval law" is not about the sources.
            return None
        rest = _PATTERNS["place"].sub("", _PATTERNS["rest"].sub("", head[found.end() :]))
        topic = _PATTERNS[f"frame{suffix}"].sub("", rest, count=1).strip(" ,.;:!")
        is_empty = not _TOPIC_WORD.search(topic) or _PATTERNS["empty_topic"].match(topic)
        return None if is_empty else topic
    left_out = _PATTERNS["left_out"].match(head)
    return None if left_out is None else left_out[left_out.lastgroup or 0]


def speaks_of_sources(sentence: str) -> bool:
    """True if the sentence is only about the sources or about a question without an answer."""
    if not _may_speak(sentence):
        return False
    head = sentence.replace("’", "'")
    kinds = ("unknown", "speaks_of", "leaves_out")
    if any(_PATTERNS[f"{kind}{suffix}"].match(head) for kind in kinds for suffix in ("", "_ru")):
        return True
    return names_source(head) and _PATTERNS["only_points"].fullmatch(head) is not None


@lru_cache(maxsize=256)
def _may_speak(sentence: str) -> bool:
    text = sentence.lower()
    return any(map(text.__contains__, _SOURCES)) or any(map(text.__contains__, _UNANSWERED))


_EMPHASIS = re.compile(r"\*\*|__|`")
# Every citation mark and every emphasis mark contains one of these characters.
_SIGNS = "[(【*_`<"
_MOST_LEADS = 3
LONGEST_MATCHED = 600
"""Maximum number of characters to match with patterns, to limit the running time."""


def strip_lead(sentence: str) -> str:
    """Remove the parts of a sentence that do not belong to its claim, unless nothing would be left.

    "The text does not say when it opened, but it stands in Paris." → "It stands in Paris."
    """
    # Cached, because claims are stripped when they are prepared and again when they are verified.
    return _kept(sentence) if len(sentence) <= LONGEST_MATCHED else _stripped(sentence)


def _stripped(sentence: str) -> str:
    text = sentence
    if any(map(text.__contains__, _SIGNS)):
        text = _PATTERNS["citation"].sub("", _EMPHASIS.sub("", text))
    text = _without_leads(text.strip())
    if not _may_speak(text[:LONGEST_MATCHED]):
        return text or sentence
    if is_about_sources(text):
        return _behind_turn(text) or text
    return _without_remarks(text) if names_source(text) else text


_kept = lru_cache(maxsize=256)(_stripped)


def is_about_sources(text: str) -> bool:
    head = text[:LONGEST_MATCHED]
    return absence_of(head) is not None or speaks_of_sources(head)


def _behind_turn(text: str) -> str:
    """Return the claim that follows a clause about the sources, or an empty string."""
    for turn in _PATTERNS["but"].finditer(text[:LONGEST_MATCHED]):
        rest = _without_leads(text[turn.end() :])
        is_own = (turn["sign"] and len(rest.split()) > 3) or reads_as_sentence(rest)
        if is_own and not _PATTERNS["lacks_subject"].match(rest) and not is_about_sources(rest):
            return _capitalised(rest)
    return ""


def _without_leads(text: str) -> str:
    for _ in range(_MOST_LEADS):
        match = _PATTERNS["leads"].match(text[:LONGEST_MATCHED].replace("’", "'"))
        if match is None or match.end() >= len(text):
            break
        text = _capitalised(text[match.end() :])
    return text


def _without_remarks(text: str) -> str:
    head, tail = text[:LONGEST_MATCHED], text[LONGEST_MATCHED:]
    cut = _PATTERNS["remark"].sub("", head)
    if cut == text[:LONGEST_MATCHED] or not _HAS_WORD.search(cut):
        return text
    return _capitalised(cut) + tail


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


_HAS_WORD = re.compile(r"[^\W\d_]{2,}")
