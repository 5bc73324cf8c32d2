"""Does a Hugging Face classifier find the statement in the chunks? Runs on this machine.

The statement is always read whole. What is too long for the model is read in windows that overlap;
the support of a statement is the greatest over all windows.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, get_args

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
from rag_evals.verify.classifier.model import (
    Adapter,
    Joining,
    Source,
    adapter_for,
    resolve_device,
    resolve_revision,
    weights_identity,
)

LEAST_WINDOW = 16
"""A window that leaves fewer tokens than this to the context cannot show anything."""

_MOST_TOGETHER = 4
_MOST_PADDING = 0.08
# A full batch of windows of this length is what a batch size promises room for.
_USUAL_TOKENS = 512

Offsets = Sequence[tuple[int, int]]


class Window(NamedTuple):
    """Pieces of chunks next to a claim, ready for the model."""

    evidence: tuple[Evidence, ...]
    encoded: dict[str, list[int]]

    @property
    def tokens(self) -> int:
        """Tokens that the model reads."""
        return len(self.encoded["input_ids"])

    @property
    def chunk_ids(self) -> tuple[int, ...]:
        """The chunks in it, in order."""
        return tuple(one.chunk_id for one in self.evidence)


class Reader:
    """Cuts chunks into windows that leave room for a whole claim."""

    def __init__(
        self, adapter: Adapter, chunks: Sequence[str], max_length: int | None, stride: int
    ) -> None:
        self._adapter = adapter
        self._limit = max_length or adapter.max_length
        self._stride = stride
        self._chunks = chunks
        self._offsets = [adapter.offsets(text) for text in chunks]

    def alone(self, claim: Claim, chunk_ids: Sequence[int] | None = None) -> list[Window]:
        """Read each chunk by itself; `chunk_ids` names them, None takes all."""
        numbers = range(len(self._chunks)) if chunk_ids is None else chunk_ids
        return [window for number in numbers for window in self._windows([number], claim)]

    def joined(self, claim: Claim) -> list[Window]:
        """Read all chunks as one text."""
        return self._windows(range(len(self._chunks)), claim)

    def together(self, claim: Claim, best_first: Sequence[Evidence]) -> list[Window]:
        """Read the best pieces of several chunks as one text, those that fit; none below two."""
        taken: list[Evidence] = []
        window: list[Window] = []
        for piece in best_first[:_MOST_TOGETHER]:
            tried = sorted([*taken, piece], key=lambda one: one.chunk_id)
            made = self._window(tried, claim)
            if made.tokens <= self._limit:
                taken, window = tried, [made]
        return window if len(taken) > 1 else []

    def _windows(self, numbers: Sequence[int], claim: Claim) -> list[Window]:
        """Cut chunks; a piece may take more tokens alone than it did in the whole text."""
        pieces = [(number, *span) for number in numbers for span in self._offsets[number]]
        room = self._room(claim)
        while True:
            windows = [
                self._window(list(self._evidence(pieces[first:last])), claim)
                for first, last in spans(len(pieces), room, min(self._stride, room // 2))
            ]
            if all(window.tokens <= self._limit for window in windows) or room <= 1:
                return windows
            room = room * 3 // 4

    def _room(self, claim: Claim) -> int:
        empty = self._adapter.encode("\n".join([""]), claim.text)
        room = self._limit - len(empty["input_ids"])
        if room < LEAST_WINDOW:
            raise VerifierError(
                f"a statement of {len(claim.text)} characters leaves {max(room, 0)} of "
                f"{self._limit} tokens "
                "to the context; break it up, or use a model that reads more"
            )
        return room

    def _window(self, evidence: Sequence[Evidence], claim: Claim) -> Window:
        premise = "\n".join([one.text for one in evidence])
        return Window(tuple(evidence), self._adapter.encode(premise, claim.text))

    def _evidence(self, pieces: Sequence[tuple[int, int, int]]) -> Iterator[Evidence]:
        """Put the tokens of a window together again: one piece for each chunk."""
        for number in dict.fromkeys(piece[0] for piece in pieces):
            own = [piece for piece in pieces if piece[0] == number]
            start, end = own[0][1], own[-1][2]
            yield Evidence(number, start, end, self._chunks[number][start:end])


def spans(count: int, room: int, stride: int) -> list[tuple[int, int]]:
    """Return where windows of at most `room` tokens begin and end; neighbours share `stride`."""
    found = []
    begin = 0
    while begin < count:
        end = min(begin + room, count)
        found.append((begin, end))
        if end == count:
            break
        begin += room - stride
    return found


class _Item:
    """One window of the pool, and who waits for its score."""

    def __init__(self, window: Window, batch_size: int) -> None:
        self.window = window
        self.batch_size = batch_size
        self.score: Future[float] = Future()


class SharedModel:
    """One loaded model; callers that come while it is busy join the pool between two batches.

    A batch holds windows of nearly one length, from any row: at most 8 % of it is padding. It holds
    no more windows than its callers' batch size, and no more tokens than that many windows of 512.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        # The oldest first.
        self._pool: list[_Item] = []

    def score(self, windows: Sequence[Window], batch_size: int) -> list[float]:
        """Return the support of each window; an error of the model reaches all of its batch."""
        items = [_Item(window, batch_size) for window in windows]
        with self._queue:
            self._pool.extend(items)
        with self._busy:
            while not all(item.score.done() for item in items):
                self._score_a_batch()
        return [item.score.result() for item in items]

    def _score_a_batch(self) -> None:
        batch = self._next_batch()
        try:
            found = self.adapter.scores([item.window.encoded for item in batch])
            scores = dict(zip(batch, found, strict=True))
        except Exception as error:  # noqa: BLE001 - it belongs to all who wait for this batch
            for item in batch:
                item.score.set_exception(error)
            return
        except BaseException:
            # Ctrl-C ends this caller; the next one scores what others wait for.
            with self._queue:
                self._pool = batch + self._pool
            raise
        for item, score in scores.items():
            item.score.set_result(score)

    def _next_batch(self) -> list[_Item]:
        """Take the oldest window, and those nearest to it in length as long as they fit."""
        with self._queue:
            oldest = self._pool[0]
            size = oldest.batch_size
            # Only windows of one batch size: it may be what the caller's device has memory for.
            alike = [item for item in self._pool if item.batch_size == size]
            alike.sort(key=lambda item: abs(item.window.tokens - oldest.window.tokens))
            # The oldest stays first: nothing is nearer to it, and the sort is stable.
            batch = alike[:1]
            for item in alike[1:]:
                if not _fits([*batch, item], size):
                    break
                batch.append(item)
            taken = set(batch)
            self._pool = [item for item in self._pool if item not in taken]
        return batch


def _fits(batch: Sequence[_Item], size: int) -> bool:
    """Say whether windows make a batch that is neither padded too much nor too large."""
    lengths = [item.window.tokens for item in batch]
    padded = max(lengths) * len(batch)
    room = len(batch) <= size and padded <= size * _USUAL_TOKENS
    return room and sum(lengths) >= (1 - _MOST_PADDING) * padded


HHEM = "vectara/hallucination_evaluation_model"
"""HHEM-2.1-Open by Vectara: FLAN-T5-base, 110 million parameters, Apache 2.0."""

DEFAULT_BATCH_SIZE = 10
DTYPES = ("float32", "float16", "bfloat16")
# The commit that its way of asking was written for, and the window that its makers use.
_HHEM_REVISION = "8e4a2e6e96c708cc76c2344f7e4757df2515292c"
_HHEM_TOKENS = 2048
_DEVICE = re.compile(r"cpu|auto|mps|cuda(?::\d+)?")
# Raise it when the same model may give another verdict.
_VERSION = 4


@dataclass(frozen=True, eq=False)
class ClassifierVerifier:
    """Decides statements with HHEM or an NLI cross-encoder; needs no judge.

    HHEM is asked as its makers do, also from a folder of its name. Any other sequence classifier
    reads a chunk and a statement as two texts; its entailment label is found by name.

    Args:
        model: Name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda:0` and so on, `mps`, or `auto` for the first GPU where there is one.
        batch_size: Windows at a time, at least 1; fewer where they are long. Changes no verdict.
        max_length: Tokens that the model reads at once; None takes what it was made for.
        stride: Tokens that two windows share.
        label_map: Names for the model's labels where it has none, such as
            `{"LABEL_0": "entailment", "LABEL_1": "contradiction"}`.
        threshold: Support from which a statement counts as supported, 0 to 1.
        join: `always` reads all chunks as one text, `unsupported` only where no chunk alone
            supports a statement, `never` each chunk alone; None takes the makers' way.
        dtype: `float32`, `float16` or `bfloat16`.
        revision: Branch, tag or commit on the hub; None takes the one that is known, or `main`.
        local_files_only: Ask no hub: what is not on this machine is an error.

    Raises:
        ConfigurationError: A setting cannot work; the model itself is loaded when first used.
    """

    model: str
    _: KW_ONLY
    device: str = "cpu"
    batch_size: int = DEFAULT_BATCH_SIZE
    max_length: int | None = None
    stride: int = 64
    label_map: Mapping[str, str] | None = None
    threshold: float = 0.5
    join: Joining | None = None
    dtype: str = "float32"
    revision: str | None = None
    local_files_only: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        _check_text("model", self.model, "a name on the Hugging Face hub, or a folder")
        _check_text("device", self.device, "'cpu', 'cuda:0', 'mps' or 'auto'", _DEVICE)
        require_whole("batch_size", self.batch_size)
        require_whole("stride", self.stride, least=0)
        if self.max_length is not None:
            require_whole("max_length", self.max_length)
            if self.max_length <= self.stride + LEAST_WINDOW:
                raise ConfigurationError(
                    f"stride is {self.stride!r} and max_length {self.max_length!r}; expected a "
                    f"stride of at least 0 and a max_length more than {LEAST_WINDOW} above it"
                )
        _check_one_of("join", self.join, get_args(Joining))
        _check_one_of("dtype", self.dtype, DTYPES)
        require_fraction("threshold", self.threshold)
        object.__setattr__(self, "label_map", _checked_labels(self.label_map))
        if self.revision is None and self._is_hhem:
            object.__setattr__(self, "revision", _HHEM_REVISION)

    @property
    def name(self) -> str:
        """The model's, behind `hf:`."""
        return f"hf:{self.model}"

    @property
    def traits(self) -> VerifierTraits:
        """It decides on this machine, and needs its libraries and a device."""
        return VerifierTraits(threshold=self.threshold, check=self._check)

    def adapt(self, changes: VerifierChanges) -> "ClassifierVerifier":
        """Return itself: no change means anything to it."""
        del changes
        return self

    @property
    def _is_hhem(self) -> bool:
        """Whether the model has the name of HHEM, on the hub or as a folder."""
        last = self.model.replace("\\", "/").rstrip("/").rpartition("/")[2]
        return last.lower() == HHEM.rpartition("/")[2]

    def fingerprint(self) -> str:
        """Return a hash of weights, windows, labels and threshold: what can change a verdict."""
        settings = (self.max_length, self.stride, self.threshold, self.label_map)
        return fingerprint(
            _VERSION, self.model, self.weights(), *settings, self.join, self.dtype, self._is_hhem
        )

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
        # First the libraries: without them the hub need not be asked.
        self._check()
        revision = resolve_revision(
            self.model, self.revision, local_files_only=self.local_files_only
        )
        source = Source(
            self.model,
            revision or self.revision,
            self.local_files_only,
            self.dtype,
            self.label_map or {},
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
        made_for = _HHEM_TOKENS if self._is_hhem else adapter.max_length
        return self.max_length or min(made_for, adapter.positions)

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
        join = self.join or shared.adapter.join
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


def _check_text(
    name: str, value: object, expected: str, pattern: re.Pattern[str] | None = None
) -> None:
    if not isinstance(value, str) or not value or (pattern and not pattern.fullmatch(value)):
        raise ConfigurationError(f"{name} is {value!r}; expected {expected}")


def _check_one_of(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise UnknownNameError.of(name, str(value), known)


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
_models: dict[tuple[Any, ...], SharedModel] = {}


def _shared_model(source: Source, device: str, identity: str) -> SharedModel:
    """Load a model once for this process; all verifiers of it share it."""
    # `auto` and `cuda` are other names of a device.
    place = resolve_device(device)
    labels = tuple(sorted(source.label_map.items()))
    key = (source.model, identity, place, source.dtype, labels)
    with _loading:
        if key not in _models:
            _models[key] = SharedModel(adapter_for(source, place))
        return _models[key]
