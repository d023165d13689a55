"""News in an event loop: what a reader awaits there, again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any

from penstock.delivery.courier import Taken

Resume = Callable[[Any], object]


class LoopNews:
    """What one reader in an event loop awaits: its next batch, an error, or None for nothing.

    Thousands of readers hear of a batch at once. A future and a call of the loop for each are most
    of what that costs; so this is a future in asyncio's sense (`asyncio.isfuture`) that can be
    awaited again and again, and whoever tells the news runs the reader until it waits again.
    """

    __slots__ = ("_asyncio_future_blocking", "_context", "_error", "_loop", "_resume", "_taken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._asyncio_future_blocking = False
        self._loop = loop
        self._resume: Resume | None = None
        self._context: Context | None = None
        self._taken: Taken = None
        self._error: BaseException | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the reader waits."""
        return self._resume is not None

    def tell(self, taken: Taken | Exception) -> None:
        """Let a reader that waits go on; called in the loop, and by no task of it."""
        resume, self._resume = self._resume, None
        if resume is None or self._context is None:
            return
        if isinstance(taken, Exception):
            self._error = taken
        else:
            self._taken = taken
        self._context.run(resume, self)

    async def within(self, patience_s: float) -> Taken:
        """Wait for news, but no longer than so many seconds."""
        timer = self._loop.call_later(patience_s, self.tell, None)
        try:
            return await self
        finally:
            timer.cancel()

    def __await__(self) -> Generator[LoopNews, None, Taken]:
        self._asyncio_future_blocking = True
        yield self
        taken, self._taken = self._taken, None
        return taken

    # What a task asks of a future that it waits for

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Give the loop of the reader."""
        return self._loop

    def add_done_callback(self, resume: Resume, *, context: Context) -> None:
        """Hear who is to be resumed."""
        self._resume, self._context = resume, context

    def result(self) -> None:
        """Raise what the reader is to be told as an error."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def cancel(self, msg: Any = None) -> bool:
        """Let the reader that waits be cancelled; say whether it waits."""
        resume, self._resume = self._resume, None
        if resume is None:
            return False
        self._error = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        self._loop.call_soon(resume, self, context=self._context)
        return True
