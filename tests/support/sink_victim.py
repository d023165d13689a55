"""A process that feeds the sinks of a home, and is killed behind a write of one of them.

`python -m tests.support.sink_victim HOME SCHEME WRITES`: after so many writes of the sink whose
address has the scheme, before its cursor is kept; with 0 writes it goes on to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

import pyarrow as pa

from penstock.delivery import sink_pool
from penstock.delivery.sink_kinds import AddressedSink
from penstock.engine import Desk


def main(home: str, scheme: str, writes_max: int) -> None:
    """Feed the sinks that the home knows."""
    write, written = AddressedSink.write, count(1)

    def killed_behind(self: AddressedSink, table: pa.Table, token: str) -> None:
        write(self, table, token)
        if self.address.scheme == scheme and next(written) == writes_max:
            os.kill(os.getpid(), signal.SIGKILL)

    AddressedSink.write = killed_behind  # type: ignore[method-assign]
    if writes_max:
        sink_pool.CURSORS_EVERY_S = 1e9
    desk = Desk(home)
    desk.readers.sinks.begin(desk.readers.courier)
    desk.readers.sinks.finish(drain=True, patience_s=600)
    desk.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
