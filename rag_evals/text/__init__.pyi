# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.text.language import LANGUAGE_CODES as LANGUAGE_CODES
from rag_evals.text.language import LANGUAGE_NAMES as LANGUAGE_NAMES
from rag_evals.text.language import READ_WELL as READ_WELL
from rag_evals.text.language import has_russian as has_russian
from rag_evals.text.language import language_in as language_in
from rag_evals.text.language import language_of as language_of
from rag_evals.text.language import script_of as script_of
from rag_evals.text.language import token_counter as token_counter
from rag_evals.text.markup import plain_form as plain_form
from rag_evals.text.screen import MOST_ITEMS as MOST_ITEMS
from rag_evals.text.screen import html_head as html_head
from rag_evals.text.screen import html_note as html_note
from rag_evals.text.screen import html_table as html_table
from rag_evals.text.screen import html_text as html_text
from rag_evals.text.screen import one_line as one_line
from rag_evals.text.screen import shortened as shortened
from rag_evals.text.sentences import Leaning as Leaning
from rag_evals.text.sentences import Span as Span
from rag_evals.text.sentences import leaning_of as leaning_of
from rag_evals.text.sentences import split_sentences as split_sentences
from rag_evals.text.word_forms import DENIES as DENIES
from rag_evals.text.word_forms import DENIES_SOFTLY as DENIES_SOFTLY
from rag_evals.text.word_forms import Word as Word
from rag_evals.text.word_forms import is_name_at as is_name_at
from rag_evals.text.word_forms import numbers_of as numbers_of
from rag_evals.text.word_forms import read_words as read_words
from rag_evals.text.word_forms import words as words
from rag_evals.text.word_forms import words_of as words_of

__all__: list[str]
