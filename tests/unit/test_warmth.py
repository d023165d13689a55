"""`penstock warm` compiles every kind, in processes of their own, and says what it did."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from penstock.cli import warm as command
from penstock.cli.main import app
from penstock.kernels.machine_code import code_directory
from penstock.operators import warmth
from penstock.operators.catalogue import OPERATORS, PLACES


def test_every_package_of_operators_is_warmed_up_once() -> None:
    found = warmth.packages()
    assert set(found) == {package for package, _ in PLACES.values()}
    assert all(PLACES[kind][0] == package for package, kind in found.items())
    assert set(PLACES) <= set(OPERATORS)


RARE = """
from penstock.kernels import coefficient_cells, lookup_caches, routes, skylines
from penstock.operators.warmth import warm

for kind in ("select_join", "lookup_join", "model_query"):
    warm(kind)
called = (
    routes.tuples_cut, routes.rows_restore, skylines.picks_pack, lookup_caches.keys_slice,
    coefficient_cells.coefficients_count, coefficient_cells.cells_move,
    coefficient_cells.places_read, coefficient_cells.segments_draw,
)
print([each.__name__ for each in called if not each.signatures])
"""


def test_kernels_that_small_groups_do_not_come_to_are_warmed_up_too() -> None:
    told = subprocess.run(
        [sys.executable, "-c", RARE], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout.strip() == "[]", told.stdout + told.stderr


def test_the_command_says_what_was_compiled_and_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    few = {"clock": "clock", "keep": "keep"}
    for module in (warmth, command):
        monkeypatch.setattr(module, "packages", lambda: few)
    run = CliRunner().invoke(app, ["warm", "--processes", "1", "--json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert told["directory"] == str(code_directory())
    assert set(told["compiled"]) == {*few, "delivery", "planning"}
    assert told["compiled"]["clock"] == 0
    again = json.loads(CliRunner().invoke(app, ["warm", "--json"]).stdout)
    assert set(again["compiled"].values()) == {0}
    assert not capfd.readouterr().err, "a process said something at its end"
