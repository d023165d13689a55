"""An engine that is killed: it prints a line once this process has found new matches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from penstock.engine import Engine
from penstock.lab.filters.pipeline import SQL
from penstock.spark.hosts import BatchReport


def main(home: str, events: str, parameters: str) -> None:
    """Run on a home; the stream brings one small batch per trigger."""
    engine = Engine(Path(home), host="embedded")

    def tell(report: BatchReport) -> None:
        if report.matches:
            sys.stdout.write(json.dumps({"batch": report.batch, "matches": report.matches}) + "\n")
            sys.stdout.flush()

    engine.on_batch(tell)
    engine.stream("events", f"parquet:{events}", event_time="ts", maxFilesPerTrigger="1")
    if "ranges" not in engine.desk.registry.subscriptions:
        engine.subscribe(SQL, name="ranges", each=parameters)
    engine.start(trigger=0.5)
    engine.wait()


if __name__ == "__main__":
    main(*sys.argv[1:4])
