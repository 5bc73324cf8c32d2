"""The fit of the weights that separate supported from unsupported statements.

It is repeated, because the weights decide which sentence counts for a statement. Clean clashes are
rare in labelled rows, so their weight has a lower limit, chosen by leaving a source out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rag_evals.embedded.model import FAVOURABLE, FEATURES
from tools.train_embedded.figures import (
    MOST_COUNTED,
    auroc,
    balanced_accuracy,
    balanced_threshold,
    sigmoid,
)
from tools.train_embedded.tables import Array, Table

_RIDGE = 3.0
# Columns of this size make the ridge nearly spare the offsets of sources.
_OFFSET_SIZE = 3.0
# Single sentences without retrieval are plenty and unlike answers; edited summaries are so alike
# that they would pull every other source their way.
_SOURCE_WEIGHTS = {"mnli": 0.3, "scitail": 0.3, "terra_ru": 0.3, "summedits": 0.25}
# In log odds where all else agrees.
_MOST_CLASH, _LEAST_CLASH = -6.0, -3.0
_ROUNDS = 3
# Two sources with the same texts must be left out together.
_FAMILIES = {"wice_claim": "wice", "wice_tokens": "wice"}
Bounds = Sequence[tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class Fit:
    """A logistic regression on raw features."""

    coefficients: Array
    intercept: float

    def readings(self, table: Table) -> Array:
        """Return the log odds of support of each reading."""
        return np.asarray(table.features @ self.coefficients + self.intercept, dtype=np.float64)

    def logits(self, table: Table) -> Array:
        """Return the log odds of support of each statement: those of its best reading."""
        readings = self.readings(table)
        return np.asarray(readings[table.best_rows(readings)], dtype=np.float64)


def fit_sources(tables: Mapping[str, Table]) -> Fit:
    # Of statements that are all wrong nothing can be told apart.
    names = [name for name in sorted(tables) if 0 < tables[name].labels.mean() < 1]
    rows = [tables[name].starts for name in names]
    labels = np.concatenate([tables[name].labels for name in names])
    weights = np.concatenate(
        [row_weights(tables[name].labels) * _SOURCE_WEIGHTS.get(name, 1.0) for name in names]
    )
    owners = _owners([tables[name] for name in names])
    fit = None
    for _ in range(_ROUNDS):
        if fit is not None:
            rows = [tables[name].best_rows(fit.readings(tables[name])) for name in names]
        chosen = [tables[name].features[row] for name, row in zip(names, rows, strict=True)]
        fit = _fit_rows(np.vstack(chosen), labels, weights, owners)
    assert fit is not None
    return fit


def leave_one_out(tables: Mapping[str, Table], others: Mapping[str, Table]) -> dict[str, Fit]:
    """Fit for each source without it, and without sources that share its texts.

    Args:
        tables: The sources that may be fitted on.
        others: Sources that are only measured; they get the fit on all of `tables`.
    """
    fits: dict[str, Fit] = {}
    for name in tables:
        rest = {key: value for key, value in tables.items() if _family(key) != _family(name)}
        fits[name] = fit_sources(rest or tables)
    if others:
        whole = fit_sources(tables)
        fits.update(dict.fromkeys(others, whole))
    return fits


def ablate(tables: Mapping[str, Table], others: Mapping[str, Table]) -> dict[str, Array]:
    """Measure the leave-one-source-out figures without each feature.

    Returns:
        By feature, the change of the mean balanced accuracy, at a threshold chosen on the fitted
        sources, and of the mean AUROC, both in points.
    """
    drawn = [
        {name: table.first(MOST_COUNTED) for name, table in part.items()}
        for part in (tables, others)
    ]
    whole = _mean_figures(*drawn)
    return {
        feature: _mean_figures(
            *({name: table.without(place) for name, table in part.items()} for part in drawn)
        )
        - whole
        for place, feature in enumerate(FEATURES)
    }


def _mean_figures(tables: Mapping[str, Table], others: Mapping[str, Table]) -> Array:
    fits = leave_one_out(tables, others)
    scores = {name: fits[name].logits(table) for name, table in {**tables, **others}.items()}
    slope, offset = calibrate(
        [scores[name] for name in tables], [table.labels for table in tables.values()]
    )
    labels = {name: table.labels for name, table in {**tables, **others}.items()}
    scores = {name: sigmoid(values * slope + offset) for name, values in scores.items()}
    threshold = balanced_threshold(
        {name: labels[name] for name in tables}, {name: scores[name] for name in tables}
    )
    found = [
        (
            balanced_accuracy(labels[name], scores[name], threshold),
            auroc(labels[name], scores[name]),
        )
        for name in labels
        if 0 < labels[name].mean() < 1
    ]
    return np.asarray(100 * np.mean(np.array(found), axis=0), dtype=np.float64)


def calibrate(logits: Sequence[Array], labels: Sequence[Array]) -> tuple[float, float]:
    """Find slope and offset that turn left-out log odds into honest probabilities.

    Sources and classes weigh the same, as in the fit, because the share of true statements in an
    answer is not known beforehand.
    """
    values = np.concatenate(logits).reshape(-1, 1)
    weights = np.concatenate([row_weights(label) for label in labels])
    bounds: Bounds = [(0.1, None), (None, None)]
    found = _solve(values, np.concatenate(labels), weights, bounds, ridge=1e-6)
    return float(found[0]), float(found[1])


def shipped(fit: Fit, slope: float, offset: float) -> dict[str, Any]:
    return {
        "intercept": round(fit.intercept * slope + offset, 4),
        "coefficients": {
            # Adding 0.0 turns a negative zero into a plain one.
            name: round(float(value) * slope, 4) + 0.0
            for name, value in zip(FEATURES, fit.coefficients, strict=True)
        },
    }


def row_weights(labels: Array) -> Array:
    """Weigh rows so that both classes count the same, and large sources only a little more."""
    share = float(min(max(labels.mean(), 0.02), 0.98))
    size = min(len(labels), MOST_COUNTED) ** 0.5 / len(labels)
    if labels.min() == labels.max():
        return np.full(len(labels), size / 2)
    return np.asarray(np.where(labels == 1, 0.5 / share, 0.5 / (1 - share)) * size)


def _family(source: str) -> str:
    return _FAMILIES.get(source, source)


def _owners(tables: Sequence[Table]) -> Array:
    sizes = [len(table.labels) for table in tables]
    return np.repeat(np.eye(len(tables)), sizes, axis=0)


def _fit_rows(features: Array, labels: Array, weights: Array, owners: Array) -> Fit:
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = 1.0
    bounds: Bounds = [
        *((0.0, None) if name in FAVOURABLE else (None, 0.0) for name in FEATURES),
        *[(None, None)] * (owners.shape[1] + 1),
    ]
    # Each source has an offset of its own: features must tell statements of one source apart,
    # not how strict its labels are.
    columns = np.hstack([(features - mean) / scale, _OFFSET_SIZE * owners])
    found = _solve(columns, labels, weights, bounds)
    offsets = _OFFSET_SIZE * found[len(FEATURES) : -1]
    coefficients = found[: len(FEATURES)] / scale
    place = FEATURES.index("clash")
    coefficients[place] = min(max(coefficients[place], _MOST_CLASH), _LEAST_CLASH)
    return Fit(coefficients, float(found[-1] + offsets.mean() - coefficients @ mean))


def _solve(
    features: Array,
    labels: Array,
    weights: Array,
    bounds: Bounds,
    *,
    ridge: float = _RIDGE,
) -> Array:
    weights = weights / weights.mean()

    def loss(point: Array) -> tuple[float, Array]:
        logits = features @ point[:-1] + point[-1]
        errors = weights * (1 / (1 + np.exp(-np.clip(logits, -40, 40))) - labels)
        value = (weights * (np.logaddexp(0, logits) - labels * logits)).sum()
        value += 0.5 * ridge * (point[:-1] ** 2).sum()
        slope = np.append(features.T @ errors + ridge * point[:-1], errors.sum())
        return float(value) / len(labels), slope / len(labels)

    start = np.zeros(features.shape[1] + 1)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}
    )
    return np.asarray(found.x, dtype=np.float64)
