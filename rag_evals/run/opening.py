"""How is a session opened? By `async with`, in the running event loop, or by `with`, in its own."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from rag_evals.dataset import RowData
from rag_evals.errors import ConfigurationError
from rag_evals.judge import Client
from rag_evals.run.loop_thread import LoopThread
from rag_evals.run.plan import Graders, Plan, make_plan
from rag_evals.run.session import AsyncGradingSession, GradingSession, plan_words, session_of
from rag_evals.run.settings import OPTIONS, RunOptions, refuse_idle


class SessionThread:
    """A session that is open in an event loop of its own, until it is closed.

    Attributes:
        loop: Where the session grades.
        session: The session.
    """

    def __init__(self, manager: AbstractAsyncContextManager[AsyncGradingSession]) -> None:
        self._manager = manager
        self.loop = LoopThread()
        try:
            self.session = self.loop.run(manager.__aenter__())
        except BaseException:
            self.loop.close()
            raise

    def close(self) -> None:
        """Close the session and its connections, then the loop."""
        try:
            self.loop.run(self._manager.__aexit__(None, None, None))
        finally:
            self.loop.close()


_OF_A_SESSION = frozenset({"grade", "grade_all", "graders", "usage", "cost_usd", "close"})


class SessionOpener:
    """What `open_session` returns: enter it by `async with`, or by `with`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._opened: AbstractAsyncContextManager[AsyncGradingSession] | None = None
        self._thread: SessionThread | None = None

    if not TYPE_CHECKING:  # Checkers know that it does not grade.

        def __getattr__(self, name: str) -> Any:
            """Say what is missing where it is used as a session."""
            if name in _OF_A_SESSION:
                raise AttributeError(
                    f"no session is open, so there is no {name!r}: write `with open_session(...) "
                    f"as session:`, or `async with`, and use session.{name} inside"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        """One line: the graders, and the judge."""
        return f"SessionOpener({plan_words(self._plan)})"

    async def __aenter__(self) -> AsyncGradingSession:
        """Open the session in the running event loop."""
        self._opened = self._new()
        return await self._opened.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session and the connections that were made for it."""
        assert self._opened is not None, "it was entered"
        await self._opened.__aexit__(kind, error, trace)

    def __enter__(self) -> GradingSession:
        """Open the session in an event loop of its own."""
        self._opened = self._new()
        self._thread = SessionThread(self._opened)
        return GradingSession(self._thread.loop, self._thread.session)

    def __exit__(self, *_: object) -> None:
        """Close the session and the connections that were made for it."""
        assert self._thread is not None, "it was entered by `with`"
        self._thread.close()

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse data that lacks a column which the graders need.

        Args:
            names: Columns of the data.

        Raises:
            MissingColumnError: It names the field, and the columns that there are.
        """
        rows = self._plan.data
        assert isinstance(rows, RowData), "a session is planned without a file"
        rows.require_names(names)

    def _new(self) -> AbstractAsyncContextManager[AsyncGradingSession]:
        if self._opened is not None:
            raise ConfigurationError("a session is entered once; call open_session again")
        return session_of(self._plan)


def open_session(
    graders: Graders = "faithfulness", client: Client = None, **options: Unpack[RunOptions]
) -> SessionOpener:
    """Open a session that grades rows as they come: in a server, a guardrail, a test or a worker.

    `async with open_session(...) as session` gives an `AsyncGradingSession`, whose `grade` is
    awaited; `with open_session(...) as session` gives a `GradingSession` for any thread.

    Args:
        graders: As for `evaluate`.
        client: As for `evaluate`.
        options: As for `evaluate`; those of a whole data set, such as `limit`, are refused.
            Gradings above `concurrency` wait.

    Raises:
        ConfigurationError: A setting cannot work; nothing was sent.
    """
    of_data = [name for name, option in OPTIONS.items() if not option.in_session]
    refuse_idle(options, *of_data, where="in a session, which has no data of its own")
    return SessionOpener(make_plan((), graders, client, options=options))
