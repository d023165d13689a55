"""The end of a process: whatever it asked of DuckDB, nothing is said of what is left."""

from __future__ import annotations

import subprocess
import sys

ASKS = """
import threading

from penstock.expressions import deadlines
from penstock.expressions.admission import AdmissionError
from penstock.expressions.connections import connect
from penstock.language import duckdb_checks

slow = "SELECT count(*) FROM range(100000000000)"
with connect() as db, deadlines.within(0.1):
    try:
        deadlines.watched(db, lambda: db.execute(slow).fetchall())
    except AdmissionError:
        print("interrupted")
del db
asked = threading.Event()

def ask_and_stay():
    duckdb_checks.evaluate("1 + 1")
    asked.set()
    threading.Event().wait()

threading.Thread(target=ask_and_stay, daemon=True).start()
asked.wait()
"""


def test_nothing_is_left_of_what_was_interrupted_or_asked_by_threads_that_stay() -> None:
    ended = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")
