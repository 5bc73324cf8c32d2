"""Which grader of one run is compared with which of the other? The same name, or a given pair."""

from collections.abc import Mapping, Sequence

from rag_evals.errors import ConfigurationError, UnknownNameError
from rag_evals.run import Run, guesses

_Names = list[tuple[str, str]]


def paired_runs(
    first: Run,
    second: Run,
    *,
    pairs: Mapping[str, str] | None = None,
    graders: Sequence[str] = (),
) -> tuple[Run, Run]:
    """Give graders that belong together one name: "strict -> mild".

    Args:
        first: The baseline.
        second: The candidate; the first run itself compares graders within one run.
        pairs: Graders of the candidate, by that of the baseline.
        graders: Names that both runs have, to compare no others; none compares all of them.

    Returns:
        Both runs, with their graders so named and without those that are not compared.

    Raises:
        UnknownNameError: A run has no grader of that name.
        ConfigurationError: One run alone, and no pair of its graders.
    """
    pairs = pairs or {}
    if second is first and not pairs and not graders:
        return first, second
    for wanted in (*pairs, *graders):
        _require_grader(wanted, first, "baseline")
    for wanted in (*pairs.values(), *graders):
        _require_grader(wanted, second, "candidate")
    if not pairs and not graders:
        return first, second
    told = {(old, new): old if old == new else f"{old} -> {new}" for old, new in pairs.items()}
    # Within one run every other grader would be compared with itself.
    alone = first is second and bool(pairs)
    return (
        _renamed(first, [(old, name) for (old, _), name in told.items()], alone, graders),
        _renamed(second, [(new, name) for (_, new), name in told.items()], alone, graders),
    )


def _require_grader(name: str, run: Run, which: str) -> None:
    if name not in run.graders:
        raise UnknownNameError.of(f"{which} grader", name, run.graders)


def _renamed(run: Run, names: _Names, alone: bool, graders: Sequence[str]) -> Run:
    told = {old for old, _ in names}
    others = [] if alone else [name for name in run.graders if name not in told]
    names = names + [(name, name) for name in others if not graders or name in graders]
    identity = dict(run.identity)
    for key in ("graders", "models"):
        known = identity.get(key) or {}
        identity[key] = {new: known[old] for old, new in names if old in known}
    renamed = Run(
        [{**record, "grader": new} for old, new in names for record in run.of_grader(old)],
        folder=run.folder,
        manifest={**run.manifest, "identity": identity},
        samples=run.samples,
    )
    return renamed if run.free is None else renamed.beside(_renamed(run.free, names, True, ()))


def guessed_differences(
    grader: str, first: Run, second: Run, count: Mapping[str, float]
) -> dict[str, float]:
    """Return by how much the candidate is better, as judges of every row say, by sample id.

    Args:
        grader: Its name in both runs.
        first: The baseline.
        second: The candidate.
        count: Numbers for reasons of rows without a score.

    Returns:
        Nothing where neither run is of a sample. A run that is of none speaks for itself.
    """
    if first.free is None and second.free is None:
        return {}
    old, new = (guesses((run.free or run).of_grader(grader), count) for run in (first, second))
    return {row: new[row] - guess for row, guess in old.items() if row in new}


def parse_pairs(texts: Sequence[str]) -> dict[str, str]:
    """Read pairs of graders as the command line has them: `strict=mild`.

    Raises:
        ConfigurationError: Not BASELINE=CANDIDATE, or one name with two partners.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        old, _, new = (part.strip() for part in text.partition("="))
        if not old or not new:
            raise ConfigurationError(
                f"pair {text!r} is not BASELINE=CANDIDATE, two names of graders, as in strict=mild"
            )
        if pairs.get(old, new) != new:
            raise ConfigurationError(f"{old!r} is paired with {pairs[old]!r} and {new!r}")
        pairs[old] = new
    return pairs
