"""Spark's Python daemon, `spark.python.daemon.module`, with all imports done before it forks.

Spark forks a Python worker for every task that finds none idle, and every one of them would import
the operators and set up numba for itself, which takes it two seconds of processor time. Forked from
this process it has both.
"""

from __future__ import annotations

from pyspark.daemon import manager

from penstock.kernels.levels import width_class
from penstock.spark import cluster  # noqa: F401 - for the workers


def main() -> None:
    """Get ready, then fork a worker whenever Spark asks for one."""
    width_class(1, 1)  # numba's own start
    manager()


if __name__ == "__main__":
    main()
