"""Which words negate or weaken a statement? One bit mask for each word."""

from rag_evals.text.lexicon import named_groups_in, words_in

DENIES, DENIES_SOFTLY, QUANTIFIES, WEAKENS, INSISTS, DENIES_ABROAD = 1, 2, 4, 8, 16, 32
# What denies in another language than English and Russian may be a name in these: "Mai", "Ani".

QUANTIFIERS = {form: group for group, forms in named_groups_in("quantifiers") for form in forms}
"""The group of each word of quantity: "every" is of the group "all"."""


def _masks() -> dict[str, int]:
    masks: dict[str, int] = {}
    abroad = [form for _, listed in named_groups_in("denies_languages") for form in listed]
    for mark, forms in (
        (DENIES, words_in("denies")),
        (DENIES_SOFTLY, words_in("denies_softly")),
        (QUANTIFIES, list(QUANTIFIERS)),
        (WEAKENS, words_in("weakens")),
        (INSISTS, words_in("insists")),
        (DENIES_ABROAD, abroad),
    ):
        for form in forms:
            masks[form] = masks.get(form, 0) | mark
    return masks


MARKS = _masks()
"""The marks of each word that has any, added up."""
