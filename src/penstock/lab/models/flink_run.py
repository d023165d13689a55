"""Flink's side of the experiments with models: a script for an environment of its own.

flink_run.py <plan>    a JSON file

The plan names `tables`, each a CSV file with its columns and types, `views` over them, and a
`query` that gives one count. Every table has a column `ts`, its event time in microseconds, and
gets a column `moment`. The query runs as a stream, on one task. Prints, as JSON, the seconds that
it took and the count; runs over few rows, `tables_few`, go before it and are taken off: what it
takes to start is not the query's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

from pyflink.table import EnvironmentSettings, TableEnvironment

RUNS = ("tables_few", "tables_few", "tables")
SETTINGS = {
    "parallelism.default": "1",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "10 s",
    "table.exec.mini-batch.size": "100000",
    "table.local-time-zone": "UTC",
    "taskmanager.memory.managed.size": "1g",
}


def counted(
    tables: dict[str, dict[str, str]], views: dict[str, str], query: str
) -> tuple[float, int]:
    """Run the query over files; give the seconds and the last count that was told."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in SETTINGS.items():
        environment.get_config().set(name, value)
    for name, table in tables.items():
        environment.execute_sql(
            f"CREATE TABLE {name} ({table['columns']}, "
            "moment AS TO_TIMESTAMP_LTZ(ts / 1000, 3), WATERMARK FOR moment AS moment) "
            f"WITH ('connector' = 'filesystem', 'path' = 'file://{table['path']}', "
            "'format' = 'csv')"
        )
    for name, text in views.items():
        environment.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
    started = perf_counter()
    last = 0
    with environment.execute_sql(query).collect() as found:
        for row in found:
            last = row[0]
    return perf_counter() - started, int(last)


def main() -> None:
    """Read, run, print."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    runs = [counted(plan[own], plan["views"], plan["query"]) for own in RUNS]
    few, (seconds, count) = min(runs[0][0], runs[1][0]), runs[2]
    sys.stdout.write(json.dumps({"seconds": max(seconds - few, 0.0), "count": count}))


if __name__ == "__main__":
    main()
