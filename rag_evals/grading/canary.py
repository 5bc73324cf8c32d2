"""Does the judge support a false sentence? One is planted into the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.core import Sample
from rag_evals.text import has_russian

# People, places and treaties that do not exist, so that no context can speak of them.
_SENTENCES = {
    "en": (
        "The Ostrelian census of 1794 counted 6,217 windmills in the province of Vardel.",
        "Professor Ilmane Todrescu measured the depth of Lake Quorvin at 3,482 metres.",
        "The Treaty of Brenhollow was signed on 9 March 1641 by eleven duchies of Saravia.",
    ),
    "ru": (
        "По переписи 1794 года в провинции Вардель Острелийского княжества было 6217 мельниц.",
        "Профессор Ильмана Тодреску измерила глубину озера Кворвин: 3482 метра.",
        "Бренхоллоуский договор подписали 9 марта 1641 года одиннадцать герцогств Саравии.",
    ),
}


@dataclass(frozen=True, slots=True)
class PlantedSample:
    """A sample whose answer has one false sentence more.

    Attributes:
        sample: What the judge is sent.
        sentences: Those of its answer, in order.
        sentence: The false sentence.
        sentence_id: Its place among the sentences of the answer that is sent, from 0.
    """

    sample: Sample
    sentences: tuple[str, ...]
    sentence: str
    sentence_id: int

    def original_id(self, sentence_id: int) -> int:
        """Return the place that a sentence has in the answer as it was given."""
        return sentence_id - 1 if sentence_id > self.sentence_id else sentence_id


def plant(sample: Sample, sentences: Sequence[str]) -> PlantedSample:
    """Add a false sentence to an answer, at a place that the judge cannot foresee.

    The same sample always gets the same sentence in the same place, so that a cached reply fits.

    Args:
        sample: What is graded.
        sentences: The sentences of its answer, in order.
    """
    number = int(sample.content_hash(), 16)
    language = "ru" if has_russian(sample.answer or "") else "en"
    candidates = _SENTENCES[language]
    sentence = candidates[number % len(candidates)]
    place = number // len(candidates) % (len(sentences) + 1)
    longer = (*sentences[:place], sentence, *sentences[place:])
    answer = "\n".join(longer)
    sent = Sample(
        question=sample.question,
        answer=answer,
        context=sample.context,
        reference=sample.reference,
        id=sample.id,
        language=sample.language,
    )
    return PlantedSample(sent, longer, sentence, place)
