"""The engine without each of its parts: lines, time, and what is lost."""

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from rag_evals.embedded import EmbeddedVerifier
from rag_evals.embedded.setting import Reading
from tools.train_embedded import figures
from tools.train_embedded.cases import fresh_cases, minimal_pairs, verify_answer
from tools.train_embedded.measured import Scored, choose_limit, score_answers, without
from tools.train_embedded.rows import SINGLE_CLAIMS, Labelled

_MOST_STATEMENTS, _MOST_ANSWERS = 200, 150
_TIMED, _REPEATS, _PER_ANSWER = 20, 10, 5


class Part(NamedTuple):
    """A part of the engine.

    `functions` are its code, as "file.function"; `off` are their replacements when it is off.
    """

    name: str
    functions: Sequence[str]
    off: Mapping[str, Any]


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


def _no(*_: object) -> bool:
    return False


def _same(value: Any, *_: object) -> Any:
    return value


_CLASSES = "compare.StatementComparison"
PARTS = (
    Part("other numbers", ["compare._figure_rivals"], {"compare._figure_rivals": _nothing}),
    Part("other names", ["compare._name_rivals", "compare._align"],
         {"compare._name_rivals": _nothing}),
    Part("other units", ["compare._unit_clashes"], {"compare._unit_clashes": _nothing}),
    Part("equal amounts in another unit, sums",
         [f"{_CLASSES}._find_same_amounts", "compare._amounts"],
         {f"{_CLASSES}._find_same_amounts": lambda *_: None}),
    Part("opposites and converses",
         ["compare._opposites", "compare._opposing", "compare.opposites", "compare.converses"],
         {"compare._opposites": _nothing}),
    Part("names on the wrong side of a relation",
         ["compare._turned", "compare._is_plain_relation", "compare._is_passive", "compare._sides"],
         {"compare._is_plain_relation": _no}),
    Part("values of another name or row",
         ["compare._misplaced", "compare._values", "compare._beside_value", "passage.clauses_in"],
         {"compare._misplaced": _nothing}),
    Part("negations", ["compare._denials", "compare._denied", "compare._is_denied",
                     "passage.denials_in"], {"compare._denials": _nothing}),
    Part("quantifiers", ["compare._quantifiers", "compare._quantified"],
         {"compare._quantifiers": _nothing}),
    Part("dropped hedges", ["compare._dropped_hedge"], {"compare._dropped_hedge": _nothing}),
    Part("sentences about something else", ["decide._of_same_subject"],
         {"decide._of_same_subject": _same}),
    Part("what the sources omit", ["sources.absence_of"],
         {"decide.absence_of": lambda _: None}),
    Part("questions and pronouns",
         ["setting.stand_alone", "setting.read_question", "setting._read_wh",
          "setting._split_subject", "setting._read_russian", "setting._yes_or_no",
          "setting._filled", "setting._without_pronoun", "setting._antecedent"],
         {"decide.stand_alone": lambda claim: Reading(claim.text)}),
    Part("other answers to the question", ["decide._Decision._said_otherwise"],
         {"decide._Decision._said_otherwise": lambda *_: None}),
    Part("leads and remarks", ["sources._without_leads", "sources._without_remarks"],
         {"sources._without_leads": _same, "sources._without_remarks": _same}),
    Part("sentences about the sources", ["sources.speaks_of_sources"],
         {"claims.speaks_of_sources": _no}),
    Part("headings of lists and steps", ["claims._announces"], {"claims._announces": _no}),
)  # fmt: skip


def ablation_table(
    statements: Mapping[str, Sequence[Labelled]], rows: Mapping[str, Sequence[dict[str, Any]]]
) -> str:
    """Write a row for each part; gains are of balanced accuracy, leaving a source out."""
    whole = _measure(statements, rows)
    lines = []
    for part in PARTS:
        with _without_part(part):
            found = _measure(statements, rows)
        lost = whole - found
        saved = _milliseconds(statements, part)
        length = sum(_length(name) for name in part.functions)
        cells = [part.name, f"{length}", f"{saved:.2f}"]
        cells += [f"{value:+.1f}" for value in lost[:3]]
        cells += [f"{value:+.0f}" for value in lost[3:]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _length(name: str) -> int:
    owner, attribute = _find(name)
    return len(inspect.getsource(inspect.unwrap(vars(owner)[attribute])).splitlines())


def _find(name: str) -> tuple[Any, str]:
    """Return the module or class that has a function, and the function's name in it."""
    file, *path, attribute = name.split(".")
    owner: Any = import_module(f"rag_evals.embedded.{file}")
    for one in path:
        owner = getattr(owner, one)
    return owner, attribute


@contextmanager
def _without_part(part: Part) -> Iterator[None]:
    found = [(*_find(name), stand_in) for name, stand_in in part.off.items()]
    kept = [getattr(owner, attribute) for owner, attribute, _ in found]
    for owner, attribute, stand_in in found:
        setattr(owner, attribute, stand_in)
    try:
        yield
    finally:
        for (owner, attribute, _), function in zip(found, kept, strict=True):
            setattr(owner, attribute, function)


def _measure(
    statements: Mapping[str, Sequence[Labelled]], rows: Mapping[str, Sequence[dict[str, Any]]]
) -> figures.Array:
    """Return three balanced accuracies, and counts of right cases and pairs."""
    _forget()
    verifier = EmbeddedVerifier()
    single: dict[str, tuple[figures.Array, figures.Array]] = {}
    for name, items in statements.items():
        drawn = items[:: max(1, len(items) // _MOST_STATEMENTS)]
        supports = [verifier.verify([one.text], one.chunks)[0].support for one in drawn]
        single[name] = np.array([float(one.label) for one in drawn]), np.array(supports)
    answers: dict[str, tuple[figures.Array, figures.Array]] = {}
    for name, answered in rows.items():
        if name not in SINGLE_CLAIMS:
            every = 1 if name == "ragtruth_qa" else max(1, len(answered) // _MOST_ANSWERS)
            labels, weakest, _ = score_answers(verifier, answered[::every])
            answers[name] = labels, weakest
    rag = _accuracies(answers).get("ragtruth_qa", 0.0)
    means = [np.mean(list(_accuracies(part).values()) or [0.0]) for part in (single, answers)]
    fresh = sum(map(sum, fresh_cases(verifier).values()))
    pairs = sum(sum(map(sum, kind.values())) for kind in minimal_pairs(verifier).values())
    return np.array([*means, rag, fresh, pairs])


def _accuracies(scored: Scored) -> dict[str, float]:
    return {
        name: 100 * figures.balanced_accuracy(*pair, choose_limit(without(scored, name)))
        for name, pair in scored.items()
        if 0 < pair[0].mean() < 1
    }


def _milliseconds(statements: Mapping[str, Sequence[Labelled]], part: Part) -> float:
    """Return the CPU time of a part in an answer of five statements, mean of twenty answers.

    Both sides are timed in turn, and the least time of each counts, because machines are busy.
    """
    verifier = EmbeddedVerifier()
    pooled = [one for items in statements.values() for one in items[:_TIMED]]
    answers = [pooled[start::_TIMED][:_PER_ANSWER] for start in range(_TIMED)]
    least = {True: [1e9] * len(answers), False: [1e9] * len(answers)}
    for repeat in range(_REPEATS):
        for place, group in enumerate(answers):
            for is_on in (True, False):
                # Chunks are cached by their text.
                chunks = [one.chunks[0] + " " * (2 * repeat + is_on + 1) for one in group]
                with nullcontext() if is_on else _without_part(part):
                    began = time.process_time()
                    verify_answer(verifier, " ".join(one.text for one in group), chunks)
                    seconds = time.process_time() - began
                least[is_on][place] = min(least[is_on][place], seconds)
    return 1000 * (sum(least[True]) - sum(least[False])) / len(answers)


def _forget() -> None:
    """Clear what was cached with other parts switched on."""
    for name in ("claims", "compare", "passage", "setting", "sources"):
        for value in vars(import_module(f"rag_evals.embedded.{name}")).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
