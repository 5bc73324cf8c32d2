"""How do two runs differ besides their scores? Judge, prompts, settings and data, in words."""

from collections.abc import Iterable, Iterator
from functools import reduce

from rag_evals.core import Phrase
from rag_evals.run import Run

_SETTINGS = ("judge", "address", "columns", "limit", "settings")


def named_differences(first: Run, second: Run) -> list[Phrase]:
    """Say each difference in one sentence; an empty list for runs that differ in nothing known."""
    moved = moved_judge(first, second)
    told = [] if moved is None else [moved]
    # A run that only memory has knows its judge, graders and rows, and nothing else of these.
    if first.identity and second.identity:
        told += _settings(first, second)
    return [*told, *_graders(first, second), *_data(first, second)]


def moved_judge(first: Run, second: Run) -> Phrase | None:
    """Say that another model answered behind the name of the same judge; None where none is known.

    Args:
        first: The earlier run.
        second: The later one; by a judge of another name nothing is said.
    """
    models = [run.identity.get("models") or {} for run in (first, second) if run.identity]
    if first.judge != second.judge or models[1:] != models[:-1]:
        return None
    old, new = _answering(first), _answering(second)
    if not old or not new:
        return None
    judge = repr(second.judge)
    if set(old) != set(new):
        return Phrase.of("differs.model_behind", judge=judge, old=_listed(old), new=_listed(new))
    systems = [{one for each in said.values() for one in each} for said in (old, new)]
    if all(systems) and not systems[0] & systems[1]:
        was, now = (", ".join(sorted(each)) for each in systems)
        return Phrase.of("differs.system_behind", judge=judge, old=was, new=now)
    return None


def _answering(run: Run) -> dict[str, set[str]]:
    """Return the models that replies said they are from, each with its systems' fingerprints."""
    found: dict[str, set[str]] = {}
    for record in run.records:
        for said in record.get("answered_by") or ():
            model, _, system = said.partition(" ")
            found.setdefault(model, set()).update([system] if system else [])
    return found


def _listed(models: Iterable[str]) -> Phrase | str:
    names: list[Phrase | str] = [repr(model) for model in sorted(models)]
    return reduce(lambda one, other: Phrase.of("differs.both", one=one, other=other), names)


def _settings(first: Run, second: Run) -> Iterator[Phrase]:
    for key in _SETTINGS:
        old, new = first.identity.get(key), second.identity.get(key)
        if old != new:
            yield Phrase.of(f"differs.{key}", old=_value(old), new=_value(new))


def _value(value: object) -> Phrase | str:
    return Phrase("differs.none") if value is None else repr(value)


def _graders(first: Run, second: Run) -> Iterator[Phrase]:
    old, new = (run.identity.get("graders", {}) for run in (first, second))
    models = [run.identity.get("models", {}) for run in (first, second)]
    for grader in first.graders:
        if grader not in second.graders:
            yield Phrase.of("differs.first_only", grader=grader)
            continue
        if old and new and old.get(grader) != new.get(grader):
            yield Phrase.of("differs.prompt", grader=grader)
        named = [each.get(grader) for each in models]
        if old and new and named[0] != named[1]:
            asked = {"old": _value(named[0]), "new": _value(named[1])}
            yield Phrase.of("differs.model", grader=grader, **asked)
    for grader in second.graders:
        if grader not in first.graders:
            yield Phrase.of("differs.second_only", grader=grader)
    lonely = [
        [grader for grader in run.graders if grader not in other.graders]
        for run, other in ((first, second), (second, first))
    ]
    if all(lonely):
        yield Phrase.of("differs.pair", pair=f"{lonely[0][0]}={lonely[1][0]}")


def _data(first: Run, second: Run) -> Iterator[Phrase]:
    common = [sample_id for sample_id in first.samples if sample_id in second.samples]
    if not common:
        if first.identity.get("data") != second.identity.get("data"):
            yield Phrase("differs.data")
        return
    changed = {
        name: sum(
            getattr(first.samples[row], name) != getattr(second.samples[row], name)
            for row in common
        )
        for name in ("question", "answer", "chunks")
    }
    if any(changed.values()):
        told: dict[str, Phrase | str] = {
            name: Phrase.of(f"differs.another_{name}", count=str(count)) if count else ""
            for name, count in changed.items()
        }
        yield Phrase.of("differs.rows", rows=str(len(common)), **told)
