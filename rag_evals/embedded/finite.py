# Patterns read better unbroken.
"""Does a line without a stop read as a sentence, or as a title? English and Russian, by few words.

In doubt it is a title: "Documents required for travel", "What you can do".
"""

import re

_LONGEST = 400
_VERB = re.compile(
    r"\w+\W+(?:\w+\W+){0,12}?(?:is|are|was|were|has|have|had|does|did|do|can|cannot|could|will|would|should|must|costs?|contains?|includes?|became|\w+n't|"
    r"есть|нет|был|была|было|были|будет|будут|имеет|имеют|является|являются|стоит|стоят|может|могут|находится|закрыт\w?|открыт\w?)\b",
    re.IGNORECASE,
)
# "The hotel burned down", "Отель сгорел в 2003 году": a past tense behind a subject.
_PAST = re.compile(
    r"(?:the|a|an|its|our|his|her|their|this|it|he|she|they|we|i)\s+(?:\w+\s+){0,4}?\w{2,}(?:ed|burnt|stood|sank|fell|won|lost|sold|built)\b",
    re.IGNORECASE,
)
_PAST_RU = re.compile(
    r"\w+\s+(?:\w+\s+){0,4}?\w{2,}(?:л|ла|ло|ли|лся|лась|лось|лись)\s(?=.*\d)", re.IGNORECASE
)
# "В отеле 99 номеров": a number said of a place.
_COUNTS = re.compile(r"(?:в|на|у)\s+[^\W\d]+\s+\d+\s+\w", re.IGNORECASE)
_TITLE = re.compile(
    r"(?:how|what|when|where|who|whom|why|which|whether|things|everything|if|как|что|когда|где|кто|почему|какой|какие|сколько|зачем|если)\b",
    re.IGNORECASE,
)


def reads_as_sentence(line: str) -> bool:
    """Say whether a line has a subject and a verb, or says a number of something.

    Args:
        line: One line, or part of one, without marks of emphasis.
    """
    text = line.strip(" *_#:")[:_LONGEST].replace("’", "'")
    if _TITLE.match(text):
        return False
    return any(pattern.match(text) for pattern in (_VERB, _PAST, _PAST_RU, _COUNTS))
