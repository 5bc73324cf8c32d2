"""Which words carry the meaning of a sentence? Content words, as stems that survive inflection."""

import re

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:[’'][^\W\d_]+)*")
_FUNCTION_WORDS = frozenset(
    # English
    "a an the and or but if then than that this these those there here it its he she they "
    "them his her their we us our you your i me my is are was were be been being am do does "
    "did have has had will would can could shall should may might must of in on at by for "
    "with from to into onto about as over under between so such also too very just which who "
    "whom whose what when where how why s t re ve ll d m "
    # Russian
    "и а но или что чтобы как так же ли бы в во на с со к ко по за из от до у о об обо при для над "
    "под между это этот эта эти тот та те он она оно они его её ее их мы вы я ты был была было "
    "были есть быть является также который которая которое которые где когда".split()
)
_NEGATIONS = frozenset(
    "not no never none nobody nothing neither nor without cannot "
    "не нет ни никогда никто ничто без нельзя".split()
)
_MONTHS = {
    name[:3]: name
    for name in "january february march april may june july august september october november "
    "december".split()
}
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_SUFFIXES = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s")


def words_of(text: str) -> list[str]:
    """Split into words and numbers, lower case, in order."""
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


def content_stems(text: str) -> set[str]:
    """Return the stems of the words that carry meaning; number words become digits."""
    return {
        stem(word)
        for word in words_of(text)
        if word not in _FUNCTION_WORDS and word not in _NEGATIONS
    }


def numbers_of(text: str) -> set[str]:
    """Return the numbers in a text, number words among them."""
    return {s for s in map(stem, words_of(text)) if s[:1].isdigit()}


def names_of(text: str) -> set[str]:
    """Return the stems of capitalised words that do not start the text."""
    words = _WORD.findall(text)[1:]
    return {stem(word.casefold()) for word in words if word[0].isupper()} - set(_FUNCTION_WORDS)


def is_negated(text: str) -> bool:
    """Say whether the text denies something."""
    return any(word in _NEGATIONS or word.endswith("n't") for word in words_of(text))


def stem(word: str) -> str:
    """Cut an inflected word to the part that stays; Russian words to five letters."""
    if word[0].isdigit():
        return word.replace(",", "")
    if word in _NUMBER_WORDS:
        return _NUMBER_WORDS[word]
    word = word.removesuffix("'s")
    if "а" <= word[0] <= "я" or word[0] == "ё":
        return word.replace("ё", "е")[:5]
    word = _MONTHS.get(word, word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word
