"""Does a Hugging Face classifier find the statement in the chunks? Runs on this machine.

The statement is always read whole. What is too long for the model is read in windows that overlap;
the support of a statement is the greatest over all windows.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, get_args

from rag_evals.core import (
    Claim,
    Evidence,
    Flow,
    Verdict,
    VerifierChanges,
    VerifierTraits,
    VerifyCall,
    as_claims,
    fingerprint,
    require_fraction,
    require_whole,
)
from rag_evals.errors import ConfigurationError, RagEvalsError, UnknownNameError, VerifierError
from rag_evals.verify.classifier.adapters import READS_QUESTION, Adapter
from rag_evals.verify.classifier.batches import SharedModel
from rag_evals.verify.classifier.identity import resolve_revision, weights_identity
from rag_evals.verify.classifier.known import FORMS, Joining, KnownModel, known_model
from rag_evals.verify.classifier.loading import Source, adapter_for, resolve_device
from rag_evals.verify.classifier.windows import LEAST_WINDOW, Reader, Window

HHEM = "vectara/hallucination_evaluation_model"
"""HHEM-2.1-Open by Vectara: FLAN-T5-base, 110 million parameters, Apache 2.0."""

DEFAULT_BATCH_SIZE = 10
DTYPES = ("float32", "float16", "bfloat16")
_DEVICE = re.compile(r"cpu|auto|mps|cuda(?::\d+)?")
# Raise it when the same model may give another verdict.
_VERSION = 3


class ClassifierVerifier:
    """Decides statements with an NLI, consistency or hallucination classifier; needs no judge.

    Models that are known (`rag_evals.verify.classifier.KNOWN`) are asked as their makers do; any
    other one is told apart by its configuration: sequence pairs, T5 with a token classifier (HHEM),
    T5 that says 1 or 0 (MiniCheck) and token classifiers that mark what is made up.

    Args:
        model: Name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda:0` and so on, `mps`, or `auto` for the first GPU where there is one.
        batch_size: Windows at a time, at least 1; fewer where they are long. Changes no verdict.
        max_length: Tokens that the model reads at once; None takes what it was made for.
        stride: Tokens that two windows share.
        label_map: Names for the model's labels where it has none, such as
            `{"LABEL_0": "entailment", "LABEL_1": "contradiction"}`.
        threshold: Support from which a statement counts as supported, 0 to 1; None takes the
            makers', or 0.5.
        form: How the model is asked, such as `minicheck`; None takes what is known of it.
        join: `always` reads all chunks as one text, `unsupported` only where no chunk alone
            supports a statement, `never` each chunk alone; None takes the makers' way.
        dtype: `float32`, `float16` or `bfloat16`; None takes the makers'.
        revision: Branch, tag or commit on the hub; None takes the one that is known, or `main`.
        local_files_only: Ask no hub: what is not on this machine is an error.

    Raises:
        ConfigurationError: A setting cannot work; the model itself is loaded when first used.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str = "cpu",
        batch_size: int = DEFAULT_BATCH_SIZE,
        max_length: int | None = None,
        stride: int = 64,
        label_map: Mapping[str, str] | None = None,
        threshold: float | None = None,
        form: str | None = None,
        join: Joining | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        self.model = _checked_text("model", model, "a name on the Hugging Face hub, or a folder")
        known = known_model(self.model) or KnownModel("")
        self.name = f"hf:{self.model}"
        self.device = _checked_text("device", device, "'cpu', 'cuda:0', 'mps' or 'auto'", _DEVICE)
        self.batch_size = require_whole("batch_size", batch_size)
        self.stride = require_whole("stride", stride, least=0)
        self.max_length = None if max_length is None else require_whole("max_length", max_length)
        if self.max_length is not None and self.max_length <= self.stride + LEAST_WINDOW:
            raise ConfigurationError(
                f"stride is {stride!r} and max_length {max_length!r}; expected a stride of at "
                f"least 0 and a max_length more than {LEAST_WINDOW} above it"
            )
        self.form = _one_of("form", form or known.form or None, tuple(FORMS))
        self.join: Joining | None = _one_of("join", join, get_args(Joining))
        self.dtype = _one_of("dtype", dtype, DTYPES) or known.dtype
        self.revision = revision if revision is not None else known.revision
        self.local_files_only = local_files_only
        self.label_map = _checked_labels(label_map)
        self._window = known.max_length
        self.threshold = require_fraction(
            "threshold", known.threshold if threshold is None else threshold
        )

    @property
    def traits(self) -> VerifierTraits:
        """It needs its libraries; some models are shown what was asked."""
        return VerifierTraits(
            reads_question=self.form in READS_QUESTION,
            threshold=self.threshold,
            check=self._check,
        )

    def adapt(self, changes: VerifierChanges) -> "ClassifierVerifier":
        """Return itself: no change means anything to it."""
        del changes
        return self

    def fingerprint(self) -> str:
        """Return a hash of weights, windows, labels and threshold: what can change a verdict."""
        settings = (self.max_length, self.stride, self.threshold, self.label_map)
        asked = (self.form, self.join, self.dtype, self._window)
        return fingerprint(_VERSION, self.model, self.weights(), *settings, *asked)

    def weights(self) -> str:
        """Name the weights: a hash of the folder's files, or the model's commit on the hub."""
        return weights_identity(self.model, self.revision, local_files_only=self.local_files_only)

    def _check(self) -> None:
        """Look for the libraries and the device; the model itself is loaded when first used.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ConfigurationError: There is no such device here.
        """
        resolve_device(self.device)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work as one local step."""
        call = VerifyCall(self, claims, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def load(self) -> SharedModel:
        """Load the model, or take the one that is loaded.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ConfigurationError: The model cannot be loaded, its labels have no names, or
                `max_length` is more than it can read.
        """
        revision = resolve_revision(
            self.model, self.revision, local_files_only=self.local_files_only
        )
        source = Source(
            self.model,
            revision or self.revision,
            self.local_files_only,
            self.dtype,
            self.form,
            self.label_map,
        )
        shared = _shared_model(source, self.device, self.weights())
        if self.max_length is not None and self.max_length > shared.adapter.positions:
            raise ConfigurationError(
                f"max_length is {self.max_length}, and classifier {self.model!r} can read "
                f"{shared.adapter.positions} tokens; expected at most that, or None for its own "
                "length"
            )
        return shared

    def window_tokens(self, adapter: Adapter) -> int:
        """Return how many tokens of a loaded model are read at once."""
        known = min(self._window or adapter.max_length, adapter.positions)
        return self.max_length or known

    def joining(self, adapter: Adapter) -> Joining:
        """Say when chunks are read together by a loaded model."""
        return self.join or FORMS[adapter.form]

    def verify(self, claims: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each claim against all windows of the chunks, joined or alone.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ConfigurationError: The model cannot be loaded, its labels have no names, or
                `max_length` is more than it can read.
            VerifierError: A statement is too long for the model, the model fails, or a support is
                no number from 0 to 1.
        """
        shared = self.load()
        try:
            return self._verdicts(shared, as_claims(claims), chunks)
        except RagEvalsError:
            raise
        # Tokenizers and devices raise what they like: one row is lost, not the run.
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
            raise VerifierError(
                f"classifier {self.model!r} failed: {reason}; if memory ran out, take a smaller "
                "batch_size or device='cpu'"
            ) from error

    def _verdicts(
        self, shared: SharedModel, claims: Sequence[Claim], chunks: Sequence[str]
    ) -> list[Verdict]:
        reader = Reader(shared.adapter, chunks, self.window_tokens(shared.adapter), self.stride)
        readings = [_Reading(claim) for claim in claims]
        join = self.joining(shared.adapter)
        if join == "always":
            self._read(shared, readings, lambda one: reader.joined(one.claim))
            # Which of the chunks was it? That changes no support.
            several = [one for one in readings if one.support >= self.threshold and one.is_joined]
            alone = [_Reading(one.claim, whole=one.best) for one in several]
            self._read(shared, alone, lambda one: reader.alone(one.claim, one.chunk_ids))
            for one, parts in zip(several, alone, strict=True):
                one.parts = parts
        else:
            self._read(shared, readings, lambda one: reader.alone(one.claim))
        if join == "unsupported":
            # Some claims need two chunks, and neither supports them alone.
            open_ = [one for one in readings if one.windows and one.support < self.threshold]
            self._read(shared, open_, lambda one: reader.together(one.claim, one.best_pieces))
        return [self._verdict(one) for one in readings]

    def _read(
        self,
        shared: SharedModel,
        readings: "Sequence[_Reading]",
        windows_of: "Callable[[_Reading], list[Window]]",
    ) -> None:
        """Score further windows of several claims at once."""
        made = [windows_of(one) for one in readings]
        scores = shared.score([window for each in made for window in each], self.batch_size)
        for one, windows in zip(readings, made, strict=True):
            own, scores = scores[: len(windows)], scores[len(windows) :]
            self._check_scores(one.claim, own)
            one.windows.extend(windows)
            one.scores.extend(own)

    def _check_scores(self, claim: Claim, scores: Sequence[float]) -> None:
        for score in scores:
            # Written so that NaN, which is less and more than nothing, is caught.
            if not 0 <= score <= 1:
                raise VerifierError(
                    f"classifier {self.model!r} gives the statement {claim.text[:80]!r} a support "
                    f"of {score!r}; expected a number from 0 to 1: its weights are damaged, or "
                    "too large for its precision"
                )

    def _verdict(self, read: "_Reading") -> Verdict:
        if not read.windows:
            return Verdict(0.0, False, (), "no context to read", decided_by=self.name, windows=0)
        is_supported = read.support >= self.threshold
        ids = read.carriers(self.threshold)
        where = "chunk" if len(ids) == 1 else "chunks"
        return Verdict(
            support=read.support,
            is_supported=is_supported,
            chunk_ids=ids if is_supported else (),
            reason=f"support {read.support:.2f} at best, in {where} {', '.join(map(str, ids))} "
            f"(threshold {self.threshold:g}, {read.count} windows read)",
            evidence=read.best.evidence,
            decided_by=self.name,
            windows=read.count,
        )


@dataclass
class _Reading:
    """All that was read for one claim, and what came of it."""

    claim: Claim
    whole: Window | None = None
    windows: list[Window] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    parts: "_Reading | None" = None

    @property
    def support(self) -> float:
        return max(self.scores, default=0.0)

    @property
    def best(self) -> Window:
        return self.windows[self.scores.index(self.support)]

    @property
    def is_joined(self) -> bool:
        return len(self.best.chunk_ids) > 1

    @property
    def chunk_ids(self) -> tuple[int, ...]:
        """The chunks of the window that is taken apart."""
        return () if self.whole is None else self.whole.chunk_ids

    @property
    def count(self) -> int:
        return len(self.windows) + (0 if self.parts is None else self.parts.count)

    @property
    def best_pieces(self) -> list[Evidence]:
        """The best window of each chunk, the best chunk first."""
        ranked = sorted(zip(self.scores, self.windows, strict=True), key=lambda one: -one[0])
        best: dict[int, Evidence] = {}
        for _, window in ranked:
            if len(window.evidence) == 1:
                best.setdefault(window.chunk_ids[0], window.evidence[0])
        return list(best.values())

    def carriers(self, threshold: float) -> tuple[int, ...]:
        """Name the chunks that carry the support, best first: alone where one can, else all."""
        if not self.is_joined:
            return self.best.chunk_ids
        alone = self if self.parts is None else self.parts
        ranked = [one.chunk_id for one in alone.best_pieces]
        if self.parts is not None:
            enough = {
                window.chunk_ids[0]
                for window, score in zip(alone.windows, alone.scores, strict=True)
                if score >= threshold
            }
            if enough:
                return tuple(number for number in ranked if number in enough)
        own = self.best.chunk_ids
        return tuple(sorted(own, key=lambda n: ranked.index(n) if n in ranked else len(ranked)))


def _checked_text(
    name: str, value: object, expected: str, pattern: re.Pattern[str] | None = None
) -> str:
    if isinstance(value, str) and value and (pattern is None or pattern.fullmatch(value)):
        return value
    raise ConfigurationError(f"{name} is {value!r}; expected {expected}")


def _one_of(name: str, value: Any, known: Sequence[str]) -> Any:
    if value is not None and value not in known:
        raise UnknownNameError.of(name, str(value), known)
    return value


def _checked_labels(label_map: object) -> dict[str, str]:
    if label_map is None:
        return {}
    if isinstance(label_map, Mapping) and all(
        isinstance(text, str) for pair in label_map.items() for text in pair
    ):
        return dict(label_map)
    raise ConfigurationError(
        f"label_map is {label_map!r}; expected names for labels, such as "
        "{'LABEL_0': 'entailment'}"
    )


# transformers changes settings of the whole process while it loads.
_loading = threading.Lock()
_known = threading.Lock()
_models: dict[tuple[Any, ...], Future[SharedModel]] = {}


def _shared_model(source: Source, device: str, identity: str) -> SharedModel:
    """Load a model once for this process; all verifiers of it share it.

    A failure is for all who wait for it, and forgotten then: files can be mended.
    """
    # `auto` and `cuda` are other names of a device.
    place = resolve_device(device)
    labels = tuple(sorted(source.label_map.items()))
    key = (source.model, identity, place, source.dtype, source.form, labels)
    with _known:
        is_first = key not in _models
        shared = _models.setdefault(key, Future())
    if is_first:
        try:
            with _loading:
                shared.set_result(SharedModel(adapter_for(source, place)))
        except BaseException as error:
            with _known:
                _models.pop(key, None)
            shared.set_exception(error)
            raise
    return shared.result()
