"""Does a Hugging Face classifier find the statement in the chunks? Runs on this machine.

The statement is always read whole. A chunk that is too long for the model is read in windows that
overlap; the support of a statement is the greatest over all windows of all chunks.
"""

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rag_evals.errors import ConfigurationError, VerifierError
from rag_evals.verify.checks import require_fraction, require_whole
from rag_evals.verify.classifier.adapters import Adapter, adapter_for
from rag_evals.verify.flow import Flow, VerifyCall
from rag_evals.verify.verdict import Evidence, Verdict

HHEM = "vectara/hallucination_evaluation_model"
"""HHEM-2.1-Open by Vectara: FLAN-T5-base, 110 million parameters, Apache 2.0."""

DEFAULT_BATCH_SIZE = 10
_DEVICE = re.compile(r"cpu|auto|mps|cuda(?::\d+)?")
# A window that leaves fewer tokens than this to the context cannot show anything.
_LEAST_WINDOW = 16
_VERSION = 1


class ClassifierVerifier:
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
        if not _DEVICE.fullmatch(device):
            raise ConfigurationError(
                f"device is {device!r}; expected 'cpu', 'cuda:0', 'mps' or 'auto'"
            )
        if stride < 0 or (max_length is not None and max_length <= stride + _LEAST_WINDOW):
            raise ConfigurationError(
                f"stride is {stride!r} and max_length {max_length!r}; expected a stride of at "
                f"least 0 and a max_length more than {_LEAST_WINDOW} above it"
            )
        self.model = model
        self.device = device
        self.batch_size = require_whole("batch_size", batch_size)
        self.max_length = max_length
        self.stride = stride
        self.label_map = dict(label_map or {})
        self.threshold = require_fraction("threshold", threshold)

    @property
    def name(self) -> str:
        """`hf:` and the model."""
        return f"hf:{self.model}"

    def fingerprint(self) -> str:
        """Return a hash of model, windows, labels and threshold: what can change a verdict."""
        parts = [
            *(_VERSION, self.model, self.max_length, self.stride, self.threshold),
            sorted(self.label_map.items()),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def flow(self, statements: Sequence[str], chunks: Sequence[str]) -> Flow[list[Verdict]]:
        """Describe the work as one local step."""
        call = VerifyCall(self, statements, chunks)
        (reply,) = yield [call]
        return call.read(reply)

    def verify(self, statements: Sequence[str], chunks: Sequence[str]) -> list[Verdict]:
        """Decide each statement against all windows of all chunks.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ConfigurationError: The model cannot be loaded, or its labels have no names.
            VerifierError: A statement is too long for the model.
        """
        shared = _shared_model(self.model, self.device, self.label_map)
        reader = _Reader(shared.adapter, chunks, self.max_length, self.stride)
        windows = [reader.windows(statement) for statement in statements]
        scores = shared.score([one for each in windows for one in each], self.batch_size)
        verdicts = []
        for read in windows:
            own, scores = scores[: len(read)], scores[len(read) :]
            verdicts.append(self._verdict(read, own))
        return verdicts

    def _verdict(self, windows: "Sequence[_Window]", scores: Sequence[float]) -> Verdict:
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
                f"a statement of {len(statement)} characters leaves {room} of {self._limit} tokens "
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


class _Ticket:
    """What one caller waits for."""

    def __init__(self, windows: Sequence[_Window]) -> None:
        self.windows = windows
        self.scores: list[float] | None = None
        self.error: Exception | None = None


class _SharedModel:
    """One loaded model; callers that come while it is busy are scored together, in full batches."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._busy = threading.Lock()
        self._queue = threading.Lock()
        self._waiting: list[_Ticket] = []

    def score(self, windows: Sequence[_Window], batch_size: int) -> list[float]:
        ticket = _Ticket(windows)
        with self._queue:
            self._waiting.append(ticket)
        with self._busy:
            if ticket.scores is None and ticket.error is None:
                with self._queue:
                    tickets, self._waiting = self._waiting, []
                self._score_all(tickets, batch_size)
        if ticket.error is not None:
            raise ticket.error
        return ticket.scores or []

    def _score_all(self, tickets: Sequence[_Ticket], batch_size: int) -> None:
        windows = [window for ticket in tickets for window in ticket.windows]
        # Sorted by length, a batch is padded little.
        order = sorted(range(len(windows)), key=lambda place: windows[place].tokens)
        scores = [0.0] * len(windows)
        try:
            for first in range(0, len(order), batch_size):
                places = order[first : first + batch_size]
                batch = self.adapter.scores([windows[place].encoded for place in places])
                for place, score in zip(places, batch, strict=True):
                    scores[place] = score
        except RuntimeError as error:
            # torch has one class for all that goes wrong on a device, memory included.
            fault = VerifierError(f"the classifier failed: {str(error)[:300]}")
            for ticket in tickets:
                ticket.error = fault
            return
        for ticket in tickets:
            ticket.scores = scores[: len(ticket.windows)]
            del scores[: len(ticket.windows)]


_loading = threading.Lock()
_models: dict[tuple[Any, ...], _SharedModel] = {}


def _shared_model(model: str, device: str, label_map: Mapping[str, str]) -> _SharedModel:
    """Load a model once for this process; all verifiers of it share it."""
    key = (model, device, *sorted(label_map.items()))
    with _loading:
        if key not in _models:
            _models[key] = _SharedModel(adapter_for(model, device, label_map))
        return _models[key]
