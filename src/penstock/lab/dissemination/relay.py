"""A relay that counts bytes: what goes to a broker, and what comes from it, over TCP."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

PIECE = 1 << 16


class CountedRelay:
    """Listens on loopback, and hands everything on to another port; counts both ways."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.sent = self.received = 0
        """Bytes that clients sent, and received."""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def bytes(self) -> int:
        """All bytes so far."""
        return self.sent + self.received

    def close(self) -> None:
        """Listen no more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", 0)
        )
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other, onward = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        with suppress(asyncio.CancelledError):  # the relay is closed
            await asyncio.gather(
                self._hand_on(reader, onward, is_sent=True),
                self._hand_on(other, writer, is_sent=False),
            )

    async def _hand_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_sent: bool
    ) -> None:
        try:
            while piece := await reader.read(PIECE):
                if is_sent:
                    self.sent += len(piece)
                else:
                    self.received += len(piece)
                writer.write(piece)
                await writer.drain()
        except OSError:
            return
        finally:
            writer.close()
