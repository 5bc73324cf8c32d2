"""Which sentences of an answer claim something that chunks could support?"""

import re

from rag_evals.text import Span, split_sentences

_NO_CLAIM = re.compile(
    r"(?:i(?:'m| am)? (?:don't|do not|cannot|can't|sorry|not sure|unable)|sorry\b|"
    r"unfortunately, i\b|(?:the |provided )*(?:context|passages?|documents?|chunks?) "
    r"(?:do|does) not (?:mention|say|contain|provide)|here (?:is|are)\b|hello\b|hi\b|thank|"
    r"sure[,!.]|of course[,!.]|let me know|hope this|"
    r"я не (?:знаю|могу|уверен)|к сожалению, я|извините|простите|здравствуйте|спасибо|пожалуйста|"
    r"вот (?:ответ|что)|в контексте (?:нет|не))",
    re.IGNORECASE,
)


def claims_of(answer: str) -> list[Span]:
    """Return the sentences of an answer that claim something, in order.

    Questions, greetings, refusals and leads such as "Here is what I found:" claim nothing.

    Args:
        answer: English or Russian text; other languages are split, and every sentence is a claim.
    """
    return [span for span in split_sentences(answer) if _claims(span.text)]


def _claims(sentence: str) -> bool:
    bare = sentence.replace("’", "'").strip()
    return not (bare.endswith(("?", ":")) or _NO_CLAIM.match(bare))
