"""Spark sessions: one of our own on this machine, or the user's, left as it is.

Times in the comments are medians over 40 micro-batches of 10,000 rows through `foreachBatch` and
`toArrow`, one run each, on the reference machine while others used it: trust ratios. Settings
without a time were not seen to matter; they are there for order, bounds or quiet.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.spark.java_process import forget_dead_java, hush_after_death, launch_java
from penstock.vocabulary.errors import PenstockError

JAVA_MIN = 17
TASK_TRIES = 4
"""As on a cluster: a Python worker that dies is replaced, and the batch goes on."""
BATCHES_TO_RETAIN = 100
"""Spark can replay at most so many of the last batches; keep what a replay needs as long."""

_GB = 1 << 30
_LOG4J = Path(__file__).with_name("log4j2.properties")
_FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SQL_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # One Arrow batch per task as a rule: with the default of 10,000 a batch of 10^6 rows arrives
    # in a hundred pieces per task.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": str(BATCHES_TO_RETAIN),
    "spark.sql.streaming.stopTimeout": "60s",
    # Files of lists that a later one repeats: with the default of ten minutes thousands of them.
    "spark.sql.streaming.fileSource.log.cleanupDelay": "60s",
    "spark.sql.streaming.numRecentProgressUpdates": "100",
    "spark.sql.streaming.metricsEnabled": "false",
    # Micro-batches are small and alike: nothing to adapt to, only plans to make twice.
    "spark.sql.adaptive.enabled": "false",
}
"""What the engine needs of any session; all of them can be set on a running one."""

LOCAL_SQL_SETTINGS = {
    # Writing an offset and a commit file takes 30 ms each with the default file manager, 10 ms
    # each with this one: 113 ms per batch, and 72. Rename is atomic on a local disk either way.
    # RawLocalFileSystem as fs.file.impl would bring it to 60, but Hadoop's FileSystem.getLocal
    # then fails with a ClassCastException.
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
}
"""What makes checkpoints on a local disk cheap; on a shared file system Spark's choice stands."""

SOCKET_DIRECTORY_MAX = 50
"""A socket's path has at most 107 characters, and Spark's own part of it takes about half."""

LOCAL_SETTINGS = {
    # Both, or results above a megabyte are looked for at the machine's outer address and lost.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Results up to this size come with the task's answer, not by way of the block manager.
    "spark.task.maxDirectResultSize": "64m",
    "spark.driver.maxResultSize": "0",
    "spark.locality.wait": "0",
    "spark.python.worker.reuse": "true",
    # Workers are forked with all imports done: the first batch of a cluster host takes its Python
    # processes 6 s of processor time instead of 9 s.
    "spark.python.daemon.module": "penstock.spark.daemon",
    # A hop to a Python worker is some 35 ms shorter than over TCP: a batch of the market source
    # takes 124 ms, and 91 ms with this.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    # Spark remembers what it saw of every file of every batch, up to 250 MB, and never asks again.
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}
"""What only a session that we start ourselves can have."""


def local_session(
    app_name: str = "penstock", cores: int | None = None, shuffle_partitions: int | None = None
) -> SparkSession:
    """Start Spark on this machine; if one runs already in this process, share it.

    Parameters
    ----------
    app_name
        The name that Spark shows.
    cores
        How many tasks run at a time; all cores of this process if not given.
    shuffle_partitions
        Into how many parts a shuffle splits the data; as many as cores if not given.

    It raises ENG-001 if there is no Java that Spark can run on.
    """
    tasks = cores if cores is not None else len(os.sched_getaffinity(0))
    parts = shuffle_partitions if shuffle_partitions is not None else tasks
    forget_dead_java()
    running = SparkSession.getActiveSession()
    if running is not None:
        return prepared(running, shuffle_partitions=parts)
    check_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf = SparkConf(loadDefaults=False)
    conf.setAll([*SQL_SETTINGS.items(), *LOCAL_SQL_SETTINGS.items(), *LOCAL_SETTINGS.items()])
    if len(tempfile.gettempdir()) > SOCKET_DIRECTORY_MAX:
        conf.set("spark.python.unix.domain.socket.enabled", "false")
    conf.setAppName(app_name).setMaster(f"local[{tasks},{TASK_TRIES}]")
    conf.set("spark.pyspark.python", sys.executable)
    conf.set("spark.pyspark.driver.python", sys.executable)
    conf.set("spark.sql.shuffle.partitions", str(parts))
    conf.set("spark.driver.memory", f"{driver_memory_mb()}m")
    conf.set("spark.driver.extraJavaOptions", _java_options())
    launch_java(conf)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    assert isinstance(spark, SparkSession)
    hush_after_death(spark.sparkContext)
    return spark


def _java_options() -> str:
    """Give the quiet log, and deep stacks.

    A query that is stopped inside a micro-batch reads Python's traceback with a recursive pattern
    that overflows Java's default stack of 1 MB and prints a thousand lines. Stacks cost memory
    only where they are used.
    """
    return f"-Xss16m -Dlog4j2.configurationFile={_LOG4J.as_uri()}"


def prepared(spark: SparkSession, shuffle_partitions: int | None = None) -> SparkSession:
    """Make a session beside the user's: same Spark, our settings; the user's stays untouched.

    A streaming query takes its settings from the session of its DataFrame, and a union takes the
    session of its first input: put a DataFrame of the prepared session first.

    Whether Spark's Python workers can run Penstock is asked where they are needed: see
    `check_workers`.
    """
    ours = spark.newSession()
    settings = dict(SQL_SETTINGS)
    if is_local(spark):
        settings |= LOCAL_SQL_SETTINGS
    if shuffle_partitions is not None:
        settings["spark.sql.shuffle.partitions"] = str(shuffle_partitions)
    for name, value in settings.items():
        ours.conf.set(name, value)
    return ours


def is_local(spark: SparkSession) -> bool:
    """Say whether Spark runs inside this process's machine only."""
    return str(spark.sparkContext.master).split("[")[0] == "local"


def check_java() -> None:
    """Refuse with ENG-001 unless a Java that Spark can run on is found where Spark looks."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    where = f"in JAVA_HOME = {home}" if home else "on the PATH"
    if java is None:
        raise _java_error(f"There is no Java {where}.")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = java_version(answer.stderr + answer.stdout)
    if version is None:
        raise _java_error(f"The Java {where} does not tell its version.")
    if version < JAVA_MIN:
        raise _java_error(f"The Java {where} is version {version}, which is too old for Spark.")


def _java_error(fact: str) -> PenstockError:
    return PenstockError(
        "ENG-001",
        fact,
        "Install Java 17, 21 or 25 (for example: apt install openjdk-17-jre-headless), "
        "or point JAVA_HOME to it.",
    )


def java_version(text: str) -> int | None:
    """Read the major version out of what `java -version` prints.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('version "1.8.0_1"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def check_workers(spark: SparkSession) -> None:
    """Refuse with ENG-002 unless Spark's Python workers can run Penstock.

    The cluster host needs them, and sources that are made up. Workers that are this very Python
    need no proof. Others give it in a job of one row.
    """
    context = spark.sparkContext
    if is_local(spark) and shutil.which(context.pythonExec) == sys.executable:
        return
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    remedy = (
        "Set PYSPARK_PYTHON to a Python with Penstock before Spark starts; "
        f"on this machine: PYSPARK_PYTHON={sys.executable}."
    )
    try:
        rows = spark.range(1, numPartitions=1).mapInArrow(_python_version, "version string")
        found = rows.toArrow()["version"][0].as_py()
    except (PySparkException, Py4JError) as error:
        raise PenstockError(
            "ENG-002",
            f"Spark's Python workers ({context.pythonExec}) cannot import Penstock "
            f"under Python {wanted}.",
            remedy,
        ) from error
    if found != wanted:
        raise PenstockError(
            "ENG-002", f"Spark's workers run Python {found}, this process {wanted}.", remedy
        )


def _python_version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run in a worker: to get here it must have imported this module."""
    for _ in batches:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        yield pa.RecordBatch.from_pydict({"version": [version]})


def driver_memory_mb() -> int:
    """Take a quarter of the memory for Spark's heap, from 1 GB to 8 GB; kernels need the rest."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdecimal():
        memory = min(memory, int(text))
    return min(max(memory // 4, _GB), 8 * _GB) >> 20
