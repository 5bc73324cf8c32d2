"""Does a Hugging Face classifier find the statement in the chunks? Runs on this machine.

The statement is always read whole. A chunk that is too long for the model is read in windows that
overlap; the support of a statement is the greatest over all windows of all chunks.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from rag_evals.core import (
    Claim,
    Evidence,
    Flow,
    Verdict,
    Verifier,
    VerifyCall,
    as_claims,
    fingerprint,
    require_fraction,
    require_whole,
)
from rag_evals.errors import ConfigurationError, RagEvalsError, VerifierError
from rag_evals.verify.classifier.adapters import Adapter, adapter_for, resolve_device

HHEM = "vectara/hallucination_evaluation_model"
"""HHEM-2.1-Open by Vectara: FLAN-T5-base, 110 million parameters, Apache 2.0."""

DEFAULT_BATCH_SIZE = 10
_DEVICE = re.compile(r"cpu|auto|mps|cuda(?::\d+)?")
# A window that leaves fewer tokens than this to the context cannot show anything.
_LEAST_WINDOW = 16
# Raise it when the same model may give another verdict.
_VERSION = 2


class ClassifierVerifier(Verifier):
    """Decides statements with an NLI, consistency or hallucination classifier; needs no judge.

    Sequence pairs, T5 with a token classifier (HHEM), T5 that says 1 or 0 (MiniCheck) and token
    classifiers that mark what is made up (LettuceDetect) are told apart by their configuration.

    Args:
        model: Name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda:0` and so on, `mps`, or `auto` for the first GPU where there is one.
        batch_size: Pairs of window and statement at a time, at least 1; changes no verdict.
        max_length: Tokens that the model reads at once; None takes what it was made for.
        stride: Tokens that two windows share.
        label_map: Names for the model's labels where it has none, such as
            `{"LABEL_0": "entailment", "LABEL_1": "contradiction"}`.
        threshold: Support from which a statement counts as supported, 0 to 1.

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
        threshold: float = 0.5,
    ) -> None:
        self.model = _checked_text("model", model, "a name on the Hugging Face hub, or a folder")
        self.name = f"hf:{self.model}"
        self.device = _checked_text("device", device, "'cpu', 'cuda:0', 'mps' or 'auto'", _DEVICE)
        self.batch_size = require_whole("batch_size", batch_size)
        self.stride = require_whole("stride", stride, least=0)
        self.max_length = None if max_length is None else require_whole("max_length", max_length)
        if self.max_length is not None and self.max_length <= self.stride + _LEAST_WINDOW:
            raise ConfigurationError(
                f"stride is {stride!r} and max_length {max_length!r}; expected a stride of at "
                f"least 0 and a max_length more than {_LEAST_WINDOW} above it"
            )
        self.label_map = _checked_labels(label_map)
        self._threshold = require_fraction("threshold", threshold)

    @property
    def threshold(self) -> float:
        """Support from which a statement counts as supported, 0 to 1."""
        return self._threshold

    def fingerprint(self) -> str:
        """Return a hash of model, windows, labels and threshold: what can change a verdict."""
        settings = (self.max_length, self.stride, self.threshold, self.label_map)
        return fingerprint(_VERSION, self.model, *settings)

    def check(self) -> None:
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

    def verify(self, claims: Sequence[str | Claim], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each claim against all windows of all chunks.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ConfigurationError: The model cannot be loaded, its labels have no names, or
                `max_length` is more than it can read.
            VerifierError: A statement is too long for the model, the model fails, or a support is
                no number from 0 to 1.
        """
        statements = [claim.text for claim in as_claims(claims)]
        shared = _shared_model(self.model, self.device, self.label_map)
        self._check_max_length(shared.adapter)
        try:
            reader = _Reader(shared.adapter, chunks, self.max_length, self.stride)
            windows = [reader.windows(statement) for statement in statements]
            scores = shared.score([one for each in windows for one in each], self.batch_size)
        except RagEvalsError:
            raise
        # Tokenizers and devices raise what they like: one row is lost, not the run.
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
            raise VerifierError(
                f"classifier {self.model!r} failed: {reason}; if memory ran out, take a smaller "
                "batch_size or device='cpu'"
            ) from error
        verdicts = []
        for statement, read in zip(statements, windows, strict=True):
            own, scores = scores[: len(read)], scores[len(read) :]
            verdicts.append(self._verdict(statement, read, own))
        return verdicts

    def _check_max_length(self, adapter: Adapter) -> None:
        if self.max_length is not None and self.max_length > adapter.positions:
            raise ConfigurationError(
                f"max_length is {self.max_length}, and classifier {self.model!r} can read "
                f"{adapter.positions} tokens; expected at most that, or None for its own length"
            )

    def _verdict(
        self, statement: str, windows: "Sequence[_Window]", scores: Sequence[float]
    ) -> Verdict:
        for score in scores:
            # Written so that NaN, which is less and more than nothing, is caught.
            if not 0 <= score <= 1:
                raise VerifierError(
                    f"classifier {self.model!r} gives the statement {statement[:80]!r} a support "
                    f"of {score!r}; expected a number from 0 to 1: its weights are damaged, or "
                    "too large for its precision"
                )
        if not windows:
            return Verdict(0.0, False, (), "no context to read", decided_by=self.name, windows=0)
        best = max(range(len(windows)), key=lambda place: scores[place])
        window, support = windows[best], scores[best]
        is_supported = support >= self.threshold
        return Verdict(
            support=support,
            is_supported=is_supported,
            chunk_ids=(window.evidence.chunk_id,) if is_supported else (),
            reason=f"support {support:.2f} at best, in chunk {window.evidence.chunk_id} "
            f"(threshold {self.threshold:g}, {len(windows)} windows read)",
            evidence=(window.evidence,),
            decided_by=self.name,
            windows=len(windows),
        )


def _checked_text(
    name: str, value: object, expected: str, pattern: re.Pattern[str] | None = None
) -> str:
    if isinstance(value, str) and value and (pattern is None or pattern.fullmatch(value)):
        return value
    raise ConfigurationError(f"{name} is {value!r}; expected {expected}")


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


class _Window(NamedTuple):
    """A piece of a chunk beside a statement, ready for the model."""

    evidence: Evidence
    encoded: dict[str, list[int]]

    @property
    def tokens(self) -> int:
        return len(self.encoded["input_ids"])


class _Reader:
    """Cuts chunks into windows that leave room for a whole statement."""

    def __init__(
        self, adapter: Adapter, chunks: Sequence[str], max_length: int | None, stride: int
    ) -> None:
        self._adapter = adapter
        self._limit = max_length or adapter.max_length
        self._stride = stride
        self._chunks = [(number, text, adapter.offsets(text)) for number, text in enumerate(chunks)]

    def windows(self, statement: str) -> list[_Window]:
        room = self._limit - len(self._adapter.encode("", statement)["input_ids"])
        if room < _LEAST_WINDOW:
            raise VerifierError(
                f"a statement of {len(statement)} characters leaves {max(room, 0)} of "
                f"{self._limit} tokens "
                "to the context; break it up, or use a model that reads more"
            )
        return [
            window
            for number, text, offsets in self._chunks
            for window in self._of_chunk(number, text, offsets, statement, room)
        ]

    def _of_chunk(
        self, number: int, text: str, offsets: Sequence[tuple[int, int]], statement: str, room: int
    ) -> list[_Window]:
        """Cut one chunk; a piece may take more tokens alone than it did in the whole text."""
        while True:
            windows = []
            for start, end in _spans(offsets, room, min(self._stride, room // 2)):
                evidence = Evidence(number, start, end, text[start:end])
                windows.append(_Window(evidence, self._adapter.encode(evidence.text, statement)))
            if all(window.tokens <= self._limit for window in windows) or room <= 1:
                return windows
            room = room * 3 // 4


def _spans(offsets: Sequence[tuple[int, int]], room: int, stride: int) -> list[tuple[int, int]]:
    """Return the character spans of windows of at most `room` tokens that share `stride`."""
    spans = []
    begin = 0
    while begin < len(offsets):
        last = min(begin + room, len(offsets)) - 1
        spans.append((offsets[begin][0], offsets[last][1]))
        if last == len(offsets) - 1:
            break
        begin += room - stride
    return spans


class _Ticket(NamedTuple):
    """What one caller waits for."""

    windows: Sequence[_Window]
    batch_size: int
    scores: Future[list[float]]


class _SharedModel:
    """One loaded model; callers that come while it is busy are scored together, in full batches."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        self._waiting: list[_Ticket] = []

    def score(self, windows: Sequence[_Window], batch_size: int) -> list[float]:
        """Return the support of each window; an error of the model reaches every caller."""
        ticket = _Ticket(windows, batch_size, Future())
        with self._queue:
            self._waiting.append(ticket)
        with self._busy:
            if not ticket.scores.done():
                self._score_waiting(ticket)
        return ticket.scores.result()

    def _score_waiting(self, own: _Ticket) -> None:
        with self._queue:
            tickets, self._waiting = self._waiting, []
        try:
            # Each caller's batch size is kept: it may be what its device has memory for.
            for batch_size in sorted({ticket.batch_size for ticket in tickets}):
                self._score_all([one for one in tickets if one.batch_size == batch_size])
        finally:
            # Where Ctrl-C ends this caller, the next one scores the others.
            left = [one for one in tickets if one is not own and not one.scores.done()]
            with self._queue:
                self._waiting[:0] = left

    def _score_all(self, tickets: Sequence[_Ticket]) -> None:
        windows = [window for ticket in tickets for window in ticket.windows]
        batch_size = tickets[0].batch_size
        # Sorted by length, a batch is padded little.
        order = sorted(range(len(windows)), key=lambda place: windows[place].tokens)
        scores = [0.0] * len(windows)
        try:
            for first in range(0, len(order), batch_size):
                places = order[first : first + batch_size]
                batch = self.adapter.scores([windows[place].encoded for place in places])
                for place, score in zip(places, batch, strict=True):
                    scores[place] = score
        except Exception as error:  # noqa: BLE001 - it belongs to all who wait for this batch
            for ticket in tickets:
                ticket.scores.set_exception(error)
            return
        for ticket in tickets:
            ticket.scores.set_result(scores[: len(ticket.windows)])
            del scores[: len(ticket.windows)]


# transformers changes settings of the whole process while it loads.
_loading = threading.Lock()
_known = threading.Lock()
_models: dict[tuple[Any, ...], Future[_SharedModel]] = {}


def _shared_model(model: str, device: str, label_map: Mapping[str, str]) -> _SharedModel:
    """Load a model once for this process; all verifiers of it share it.

    A failure is for all who wait for it, and forgotten then: files can be mended.
    """
    # `auto` and `cuda` are other names of a device.
    place = resolve_device(device)
    key = (model, place, *sorted(label_map.items()))
    with _known:
        is_first = key not in _models
        shared = _models.setdefault(key, Future())
    if is_first:
        try:
            with _loading:
                shared.set_result(_SharedModel(adapter_for(model, place, label_map)))
        except BaseException as error:
            with _known:
                _models.pop(key, None)
            shared.set_exception(error)
            raise
    return shared.result()
