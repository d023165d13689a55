"""Spark's Python daemon, `spark.python.daemon.module`, with all imports done before it forks.

Spark forks a Python worker for every task that finds none idle, and every one of them would import
the operators and set up numba for itself, which takes it two seconds of processor time. Forked from
this process it has both.

Spark ends a query by closing the sockets of its workers, and one that was about to flush its output
is left with a broken pipe. There is nobody to tell, so it ends without Spark's traceback.
"""

from __future__ import annotations

import socket

from pyspark import daemon

from penstock.kernels.levels import width_class
from penstock.spark import cluster  # noqa: F401 - for the workers

_serve = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """Serve Spark's tasks, until Spark hangs up; other errors are told as ever."""
    try:
        return _serve(sock, authenticated)
    except BrokenPipeError:
        return 1


def main() -> None:
    """Get ready, then fork a worker whenever Spark asks for one."""
    width_class(1, 1)  # numba's own start
    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
