"""How is a worker that hangs told from one that works? It says something, again and again.

A thread of the worker does that, because a long row keeps the others waiting. A process that was
stopped, or that the machine does not let go on, says nothing; and neither does one whose event loop
has stood still for ten times as long.
"""

import math
import threading
import time
from collections.abc import Callable

from rag_evals.core.variables import number_in_variable

SILENCE_VARIABLE = "RAG_EVALS_WORKER_SILENCE"
_DEFAULT_SECONDS = 60.0
_BEATS_IN_SILENCE = 5
_SILENCES_OF_A_LOOP = 10
# Before its first word a worker starts Python and reads modules, from a slow disk perhaps.
_SECONDS_TO_BEGIN = 300.0


def silence_seconds() -> float:
    """Return how long a worker may say nothing: 60 s, or what `RAG_EVALS_WORKER_SILENCE` says.

    Raises:
        ConfigurationError: The variable has no meaning.
    """
    return number_in_variable(
        SILENCE_VARIABLE,
        _DEFAULT_SECONDS,
        lambda seconds: 0 < seconds < math.inf,
        "seconds above 0, such as 60",
    )


def beat_seconds() -> float:
    """Return how often a worker says something."""
    return silence_seconds() / _BEATS_IN_SILENCE


class Beats:
    """Says in a worker that it works.

    Args:
        say: Is called again and again, in a thread.
        clock: Seconds, from any start.
    """

    def __init__(self, say: Callable[[], None], clock: Callable[[], float] = time.monotonic):
        self._say = say
        self._clock = clock
        self._silence = silence_seconds()
        self._moved_at = clock()
        self._over = threading.Event()

    def begin(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._go_on, name="rag-evals beats", daemon=True).start()

    def moved(self) -> None:
        """Note that the event loop goes on."""
        self._moved_at = self._clock()

    def end(self) -> None:
        """Say nothing any more."""
        self._over.set()

    def beat(self) -> None:
        """Say something, unless the event loop stands still."""
        if self._clock() - self._moved_at < self._silence * _SILENCES_OF_A_LOOP:
            self._say()

    def _go_on(self) -> None:
        while not self._over.wait(beat_seconds()):
            self.beat()


class Silence:
    """How long a run has heard nothing of a worker.

    It counts looks, not the time between them: after a run and its workers were stopped together,
    as by Ctrl-Z, none of them is late.
    """

    def __init__(self) -> None:
        self._longest = silence_seconds()
        self._looks = 0
        self._has_begun = False

    def heard(self) -> None:
        """Note that the worker said something."""
        self._looks, self._has_begun = 0, True

    def look(self) -> float | None:
        """Look once every `beat_seconds()`.

        Returns:
            The seconds without a word, where that is too long; else None.
        """
        self._looks += 1
        seconds = self._looks * self._longest / _BEATS_IN_SILENCE
        longest = self._longest if self._has_begun else _SECONDS_TO_BEGIN
        return seconds if seconds >= longest else None
