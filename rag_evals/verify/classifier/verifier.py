"""Verifies statements on this machine with a Hugging Face classifier.

Statements are never truncated. A context that is too long for the model is read in overlapping
windows, and a statement's support is the maximum over all windows.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import NamedTuple, get_args

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
from rag_evals.errors import ConfigurationError, RagEvalsError, VerifierError
from rag_evals.verify.classifier.model import (
    Adapter,
    Joining,
    Source,
    adapter_for,
    find_commit,
    resolve_device,
    weights_identity,
)

LEAST_WINDOW = 16
"""Minimum number of context tokens in a window."""

_SHARED_TOKENS = 64
_MOST_TOGETHER = 4
_MOST_PADDING = 0.08
# A batch has room for `batch_size` windows of this many tokens.
_USUAL_TOKENS = 512


class Window(NamedTuple):
    evidence: tuple[Evidence, ...]
    encoded: dict[str, list[int]]

    @property
    def tokens(self) -> int:
        return len(self.encoded["input_ids"])

    @property
    def chunk_ids(self) -> tuple[int, ...]:
        return tuple(one.chunk_id for one in self.evidence)


class Reader:
    """Splits chunks into windows of at most `limit` tokens, each including the whole claim."""

    def __init__(self, adapter: Adapter, chunks: Sequence[str], limit: int) -> None:
        self._adapter = adapter
        self._limit = limit
        self._chunks = chunks
        self._offsets = [adapter.offsets(text) for text in chunks]

    def alone(self, claim: Claim, chunk_ids: Sequence[int] | None = None) -> list[Window]:
        """Split the chunks in `chunk_ids`, or all chunks if it is None, into separate windows."""
        numbers = range(len(self._chunks)) if chunk_ids is None else chunk_ids
        return [window for number in numbers for window in self._windows([number], claim)]

    def joined(self, claim: Claim) -> list[Window]:
        return self._windows(range(len(self._chunks)), claim)

    def together(self, claim: Claim, best_first: Iterable[tuple[float, Evidence]]) -> list[Window]:
        """Return a window with the best pieces that fit, or an empty list if fewer than two fit."""
        taken: list[Evidence] = []
        window: list[Window] = []
        for _, piece in islice(best_first, _MOST_TOGETHER):
            tried = sorted([*taken, piece], key=lambda one: one.chunk_id)
            made = self._window(tried, claim)
            if made.tokens <= self._limit:
                taken, window = tried, [made]
        return window if len(taken) > 1 else []

    def _windows(self, numbers: Sequence[int], claim: Claim) -> list[Window]:
        """Split chunks into windows; use smaller ones if a piece on its own has more tokens."""
        pieces = [(number, *span) for number in numbers for span in self._offsets[number]]
        room = self._limit - len(self._adapter.encode("", claim.text)["input_ids"])
        if room < LEAST_WINDOW:
            raise VerifierError(
                f"a statement of {len(claim.text)} characters leaves {max(room, 0)} of "
                f"{self._limit} tokens for the context; split it, or use a model with a longer "
                "window"
            )
        while True:
            windows = [
                self._window(self._evidence(pieces[first:last]), claim)
                for first, last in spans(len(pieces), room, min(_SHARED_TOKENS, room // 2))
            ]
            if all(window.tokens <= self._limit for window in windows) or room <= 1:
                return windows
            room = room * 3 // 4

    def _window(self, pieces: Iterable[Evidence], claim: Claim) -> Window:
        evidence = tuple(pieces)
        premise = "\n".join([one.text for one in evidence])
        return Window(evidence, self._adapter.encode(premise, claim.text))

    def _evidence(self, pieces: Sequence[tuple[int, int, int]]) -> Iterator[Evidence]:
        """Merge a window's tokens into one piece per chunk."""
        for number, own in groupby(pieces, key=itemgetter(0)):
            spans_of_chunk = [*own]
            start, end = spans_of_chunk[0][1], spans_of_chunk[-1][2]
            yield Evidence(number, start, end, self._chunks[number][start:end])


def spans(count: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Return the bounds of windows of at most `room` tokens, overlapping by `stride` tokens."""
    starts = range(0, max(count - stride, 1) if count else 0, room - stride)
    return [(start, min(start + room, count)) for start in starts]


@dataclass(eq=False)
class _Item:
    window: Window
    batch_size: int
    score: Future[float] = field(default_factory=Future)


class SharedModel:
    """A loaded model; windows that arrive while it is busy wait in a pool for the next batch.

    A batch contains windows of similar length from any row, so that at most 8 % is padding. Batches
    are limited to the callers' batch size, and to 512 times as many tokens.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        # Oldest first.
        self._pool: list[_Item] = []

    def score(self, windows: Sequence[Window], batch_size: int) -> list[float]:
        """Return the support for each window; an error makes the whole batch fail."""
        items = [_Item(window, batch_size) for window in windows]
        with self._queue:
            self._pool.extend(items)
        with self._busy:
            while not all(item.score.done() for item in items):
                self._score_a_batch()
        return [item.score.result() for item in items]

    def _score_a_batch(self) -> None:
        with self._queue:
            batch = _next_batch(self._pool)
        try:
            found = self.adapter.scores([item.window.encoded for item in batch])
            scores = dict(zip(batch, found, strict=True))
        except Exception as error:  # noqa: BLE001 - raised for all callers of this batch
            for item in batch:
                item.score.set_exception(error)
        else:
            for item, score in scores.items():
                item.score.set_result(score)
        # If one caller is interrupted by Ctrl-C, the next caller scores the remaining windows.
        with self._queue:
            self._pool = [item for item in self._pool if not item.score.done()]


def _next_batch(pool: Sequence[_Item]) -> list[_Item]:
    """Return the oldest window and as many windows of similar length as fit."""
    oldest = pool[0]
    size = oldest.batch_size
    # Combine only windows with the same batch size, as other callers may not have memory for more.
    alike = [item for item in pool if item.batch_size == size]
    # The sort is stable, so the oldest window stays first.
    alike.sort(key=lambda item: abs(item.window.tokens - oldest.window.tokens))
    batch: list[_Item] = []
    tokens = longest = 0
    for item in alike[:size]:
        tokens += item.window.tokens
        longest = max(longest, item.window.tokens)
        padded = longest * (len(batch) + 1)
        too_large = padded > size * _USUAL_TOKENS or tokens < (1 - _MOST_PADDING) * padded
        if batch and too_large:
            break
        batch.append(item)
    return batch


HHEM = "vectara/hallucination_evaluation_model"
"""HHEM-2.1-Open by Vectara: FLAN-T5-base, 110 million parameters, Apache 2.0."""

DEFAULT_BATCH_SIZE = 10
# The commit whose prompt format we use.
_HHEM_REVISION = "8e4a2e6e96c708cc76c2344f7e4757df2515292c"
_DEVICE, _JOIN = r"cpu|auto|mps|cuda(?::\d+)?", "|".join(get_args(Joining))
_DTYPE = "float32|float16|bfloat16"
# transformers changes process-wide settings while it loads a model.
_loading = threading.Lock()
_models: dict[tuple[Source, str, str], SharedModel] = {}
# Increment this when a change in this subpackage can change verdicts.
_VERSION = 5


@dataclass(frozen=True, eq=False)
class ClassifierVerifier:
    """Verifies statements with HHEM or an NLI cross-encoder, without calling a judge.

    Args:
        model: Name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda:0`, `mps`, or `auto` for the first GPU, if any.
        batch_size: Maximum number of windows per batch, at least 1. Batches of long windows are
            smaller. Does not affect verdicts.
        max_length: Tokens per window, at least 32; by default, the model's limit.
        entailment: The label that means "supported", such as `LABEL_0`; None looks for its name.
        threshold: Minimum support for a "supported" verdict, 0 to 1.
        join: `always` reads all chunks as one text, `unsupported` does so only if no single chunk
            supports a statement, and `never` reads each chunk alone. The default is what the
            model's authors recommend.
        dtype: `float32`, `float16` or `bfloat16`.
        revision: Branch, tag or commit on the hub; None means `main`, or a pinned commit for HHEM.
        local_files_only: If True, never contact the hub; missing files are an error.

    Raises:
        ConfigurationError: A setting is invalid. The model itself is not loaded until first use.
    """

    model: str
    _: KW_ONLY
    device: str = "cpu"
    batch_size: int = DEFAULT_BATCH_SIZE
    max_length: int | None = None
    entailment: str | None = None
    threshold: float = 0.5
    join: Joining | None = None
    dtype: str = "float32"
    revision: str | None = None
    local_files_only: bool = False

    def __post_init__(self) -> None:
        for name, value, pattern, expected in (
            ("model", self.model, ".+", "a name on the Hugging Face hub, or a folder"),
            ("device", self.device, _DEVICE, "'cpu', 'cuda:0', 'mps' or 'auto'"),
            ("join", self.join or "never", _JOIN, "'always', 'unsupported' or 'never'"),
            ("dtype", self.dtype, _DTYPE, "'float32', 'float16' or 'bfloat16'"),
        ):
            if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
                raise ConfigurationError(f"{name} is {value!r}; expected {expected}")
        require_whole("batch_size", self.batch_size)
        if self.max_length is not None:
            require_whole("max_length", self.max_length, least=2 * LEAST_WINDOW)
        require_fraction("threshold", self.threshold)
        if self.revision is None and self.model == HHEM:
            object.__setattr__(self, "revision", _HHEM_REVISION)

    @property
    def name(self) -> str:
        """The judge string, such as `hf:MODEL`."""
        return f"hf:{self.model}"

    @property
    def traits(self) -> VerifierTraits:
        """Traits of a verifier that runs on this machine."""
        return VerifierTraits(threshold=self.threshold, check=self._check)

    def adapt(self, changes: VerifierChanges) -> "ClassifierVerifier":
        """Return the verifier itself, because no change applies to it."""
        del changes
        return self

    def fingerprint(self) -> str:
        """Return a hash of the weights, windows, labels and threshold."""
        settings = (self.max_length, self.threshold, self.entailment, self.join, self.dtype)
        return fingerprint(_VERSION, self.model, weights_identity(self._source), *settings)

    @property
    def _source(self) -> Source:
        return Source(self.model, self.revision, self.local_files_only, self.dtype, self.entailment)

    def _check(self) -> None:
        resolve_device(self.device)

    def flow(self, claims: Sequence[Claim], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Judge all claims in one local step."""
        call = VerifyCall(self, claims, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def load(self) -> SharedModel:
        """Load the model once per process; all verifiers with this model share it."""
        # Check the libraries first: without them, there is no need to contact the hub.
        device = resolve_device(self.device)
        source = replace(self._source, revision=find_commit(self._source) or self.revision)
        key = (source, weights_identity(source), device)
        with _loading:
            if key not in _models:
                _models[key] = SharedModel(adapter_for(source, device))
        shared = _models[key]
        if self.max_length is not None and self.max_length > shared.adapter.positions:
            raise ConfigurationError(
                f"max_length is {self.max_length}, but classifier {self.model!r} can read only "
                f"{shared.adapter.positions} tokens; expected at most that, or None"
            )
        return shared

    def verify(self, claims: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Judge each claim against every window, whether it contains one chunk or several.

        Raises:
            ConfigurationError: The model cannot be loaded, or its libraries are not installed.
            VerifierError: A statement is too long, the model fails, or a support is not in 0 to 1.
        """
        shared = self.load()
        try:
            return self._verdicts(shared, as_claims(claims), chunks)
        except RagEvalsError:
            raise
        # Tokenizers and devices can raise any exception, which should fail only this row.
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
            raise VerifierError(
                f"classifier {self.model!r} failed: {reason}; if memory ran out, use a smaller "
                "batch_size or device='cpu'"
            ) from error

    def _verdicts(
        self, shared: SharedModel, claims: Sequence[Claim], chunks: Sequence[str]
    ) -> list[Verdict]:
        reader = Reader(shared.adapter, chunks, self.max_length or shared.adapter.max_length)
        readings = [_Reading(claim) for claim in claims]
        join = self.join or shared.adapter.join
        if join == "always":
            self._read(shared, [(one, one.scored, reader.joined(one.claim)) for one in readings])
            # Find the chunks that support the claim, without changing its support.
            several = [
                (one, one.alone, reader.alone(one.claim, one.best.chunk_ids))
                for one in readings
                if one.support >= self.threshold and len(one.best.chunk_ids) > 1
            ]
            self._read(shared, several)
        else:
            self._read(shared, [(one, one.scored, reader.alone(one.claim)) for one in readings])
        if join == "unsupported":
            # Some claims are supported only by two chunks together.
            unsupported = [
                (one, one.scored, reader.together(one.claim, one.best_pieces.values()))
                for one in readings
                if one.scored and one.support < self.threshold
            ]
            self._read(shared, unsupported)
        return [self._verdict(one) for one in readings]

    def _read(
        self, shared: SharedModel, wanted: "Sequence[tuple[_Reading, _Scored, list[Window]]]"
    ) -> None:
        """Score windows for several claims at once, and append the scores to each claim's list."""
        every = [(one, scored, window) for one, scored, made in wanted for window in made]
        scores = shared.score([window for _, _, window in every], self.batch_size)
        for (one, scored, window), score in zip(every, scores, strict=True):
            # NaN also fails this comparison.
            if not 0 <= score <= 1:
                raise VerifierError(
                    f"classifier {self.model!r} returned a support of {score!r} for the statement "
                    f"{one.claim.text[:80]!r}; expected a number from 0 to 1; the weights may be "
                    "damaged, or too large for the precision"
                )
            scored.append((score, window))

    def _verdict(self, read: "_Reading") -> Verdict:
        if not read.scored:
            return Verdict(0.0, False, (), "no context to read", decided_by=self.name, windows=0)
        is_supported = read.support >= self.threshold
        ids = read.carriers(self.threshold)
        count = len(read.scored) + len(read.alone)
        where = "chunk" if len(ids) == 1 else "chunks"
        return Verdict(
            support=read.support,
            is_supported=is_supported,
            chunk_ids=ids if is_supported else (),
            reason=f"highest support {read.support:.2f}, in {where} {', '.join(map(str, ids))} "
            f"(threshold {self.threshold:g}, {count} windows read)",
            evidence=read.best.evidence,
            decided_by=self.name,
            windows=count,
        )


_Scored = list[tuple[float, Window]]


@dataclass
class _Reading:
    claim: Claim
    scored: _Scored = field(default_factory=list)
    # Windows of single chunks, read if a joined window supports the claim.
    alone: _Scored = field(default_factory=list)

    @property
    def support(self) -> float:
        return max((score for score, _ in self.scored), default=0.0)

    @property
    def best(self) -> Window:
        return max(self.scored, key=itemgetter(0))[1]

    @property
    def best_pieces(self) -> dict[int, tuple[float, Evidence]]:
        """The best window of each chunk read alone, with its score, best first."""
        ranked: dict[int, tuple[float, Evidence]] = {}
        for score, window in sorted(self.alone or self.scored, key=itemgetter(0), reverse=True):
            if len(window.evidence) == 1:
                ranked.setdefault(window.chunk_ids[0], (score, window.evidence[0]))
        return ranked

    def carriers(self, threshold: float) -> tuple[int, ...]:
        """Return the chunks that each support the claim, best first, or else the best window's."""
        own, ranked = self.best.chunk_ids, self.best_pieces
        if len(own) == 1:
            return own
        enough = [n for n, (score, _) in ranked.items() if score >= threshold and self.alone]
        return tuple(enough or sorted(own, key=lambda n: [*ranked, n].index(n)))
