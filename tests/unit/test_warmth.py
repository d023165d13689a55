"""`penstock warm` compiles every kind, in processes of their own, and says what it did."""

from __future__ import annotations

import json

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
