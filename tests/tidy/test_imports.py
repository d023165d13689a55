"""What a process imports before it does anything: nothing that only others need.

Modules are held, not seconds: those hang on the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FOR_NOBODY = {"matplotlib", "networkx", "psycopg", "scipy.sparse", "typer", "pydantic"}
ENGINE = {"penstock.cli", "penstock.lab", *FOR_NOBODY}
WORKER = {
    "penstock.engine", "penstock.kinds", "penstock.language", "penstock.planning",
    "penstock.operators.bounded", "penstock.operators.bounded_join", "penstock.operators.filter",
    "penstock.operators.join", "penstock.operators.lookup", "penstock.operators.model_query",
    "penstock.operators.multi_join", "penstock.operators.range_aggregate",
    "penstock.operators.view", "penstock.worlds", "rich", "sqlglot", *ENGINE,
}  # fmt: skip
"""A worker imports the kinds of operators that its groups have, when they come."""
COMMANDS = {"duckdb", "numba", "numpy", "pyarrow", "pyspark", "sqlglot", "penstock.engine"}
"""A command imports these when it runs, so that `--help` is there at once."""
SERVER = {"fastapi", "pydantic", "starlette", "uvicorn", "websockets", "penstock.server"}
STATE_ASKER = {
    "duckdb", "numba", "numpy", "pandas", "pyarrow", "penstock.kernels", "penstock.operators",
    "penstock.storage", "penstock.vocabulary",
}  # fmt: skip
"""The process that Spark starts before every run, to ask which state there is, ends at once."""


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("penstock.engine", ENGINE),
        ("penstock.cli.main", {*COMMANDS, *SERVER}),
        ("penstock.spark.operate", WORKER),
        ("penstock.spark.cluster", WORKER),
        ("penstock.spark.deferral", {*STATE_ASKER, *WORKER}),
    ],
)
def test_a_process_imports_what_it_needs(module: str, never: set[str]) -> None:
    command = f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    found = never & set(json.loads(done.stdout))
    assert not found, f"{module} imports {sorted(found)}"
