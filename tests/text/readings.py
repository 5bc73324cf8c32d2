"""What each step of reading makes of a text, in a form that JSON can hold."""

from collections.abc import Callable
from typing import Any

from rag_evals.embedded.claims import no_claim_reason, pair_of, prepare_answer
from rag_evals.embedded.setting import (
    claims_in_setting,
    leading_subject,
    plain_question,
    read_question,
)
from rag_evals.embedded.sources import (
    absence_of,
    reads_as_sentence,
    speaks_of_sources,
    strip_lead,
)
from rag_evals.text import language_of, leaning_of, one_line, script_of
from rag_evals.text.citations import citing_sentences, without_final_citations
from rag_evals.text.markup import plain_form, traced, without_markup
from rag_evals.text.quotes import Quotable
from rag_evals.text.sentences import finite_verb, stands_alone
from rag_evals.text.word_forms import numbers_of


def _claims(answer: str) -> list[Any]:
    claims = claims_in_setting(prepare_answer(answer), "When was the tower built?")
    return [one and [one.text, one.before, one.question, one.leaning] for one in claims]


def _quote(text: str) -> list[Any]:
    source, _, quote = text.partition(" <- ")
    found = Quotable(source)
    spans = found.find(quote)
    denial = found.denial_left_out(quote)
    return [spans and [[one.start, one.end] for one in spans], denial, found.is_long_enough(quote)]


READ: dict[str, Callable[[str], Any]] = {
    "read_question": lambda text: (asked := read_question(text)) and [*asked],
    "plain_question": plain_question,
    "leading_subject": leading_subject,
    "strip_lead": strip_lead,
    "absence_of": absence_of,
    "speaks_of_sources": speaks_of_sources,
    "reads_as_sentence": reads_as_sentence,
    "no_claim_reason": no_claim_reason,
    "pair_of": lambda text: (pair := pair_of(text)) and [*pair],
    "leaning_of": leaning_of,
    "stands_alone": stands_alone,
    "language_of": language_of,
    "script_of": script_of,
    "plain_form": plain_form,
    "without_markup": lambda text: [
        [one.text, one.starts, one.ends] for one in without_markup(traced(text))
    ],
    "citing_sentences": lambda text: [[*one[:2], [*one[2]]] for one in citing_sentences(text)],
    "without_final_citations": without_final_citations,
    "one_line": one_line,
    "finite_verb": lambda text: finite_verb(text.split()),
    "prepare_answer": lambda text: [[*one[:2], *one[3:]] for one in prepare_answer(text)],
    "claims_in_setting": _claims,
    "quote": _quote,
    "numbers_of": lambda text: sorted(numbers_of(text)),
}
"""Each step by its name."""
