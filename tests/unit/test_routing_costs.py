"""Cost formulas give the published vectors; constants are kept, found, and refused when broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.operators.join.routing import (
    BUILT_IN,
    CHOICES,
    PAPER,
    Sizes,
    costs,
    load_constants,
    save_constants,
)
from penstock.operators.join.routing.constants import TERMS, VARIABLE
from penstock.vocabulary.errors import PenstockError

# |S|, |Q|, |Q_s|, hot groups and their size, m', n', n''; the costs J, S, V, H; the choice.
VECTORS = {
    "A": (1e5, 1e5, 2e4, 80, 1000, 1000, 10000, 2000,
          (1372431.38, 82698.84, 117435.98, 17063.85), "hot"),
    "C": (1e5, 1e5, 2e4, 80, 1000, 1000, 20, 18,
          (1372431.38, 660.96, 117435.98, 1045.18), "selection"),
    "D": (1e5, 1e5, 2e4, 80, 1000, 0, 10000, 2000, (2.88, 496.55, 4.14, 899.70), "join"),
    "E": (5e5, 5e5, 0, 100, 5000, 50, 50000, 0,
          (153445.45, 233331.34, 332526.68, 568.18), "hot"),
    "F": (1e5, 100, 100, 0, 0, 1000, 60, 60, (43402.88, 696.26, 121.58, 810.35), "scan"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(VECTORS))
def test_published_vectors(case: str) -> None:
    rows, queries, scattered, groups, members, joining, n, n_scattered, expected, choice = VECTORS[
        case
    ]
    sizes = Sizes(
        rows=int(rows),
        queries=int(queries),
        scattered=int(scattered),
        groups=groups,
        roots=groups * float(np.sqrt(members)),
    )
    found = costs(PAPER, sizes, *(np.array([float(x)]) for x in (joining, n, n_scattered)))[:, 0]
    assert found == pytest.approx(expected, abs=0.01)
    assert CHOICES[int(found.argmin())] == choice


def test_constants_go_to_the_file_that_the_variable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "constants.json"
    monkeypatch.setenv(VARIABLE, str(path))
    assert save_constants(PAPER) == path
    assert load_constants() == PAPER


def test_without_a_file_the_built_in_constants_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_constants() == BUILT_IN
    save_constants(PAPER)
    assert (tmp_path / ".config" / "penstock" / "constants.json").exists()
    assert load_constants() == PAPER


def _broken() -> dict[str, bytes]:
    def changed(**change: Any) -> bytes:
        return json.dumps({**PAPER.to_json(), **change}).encode()

    lacking = PAPER.to_json()
    del lacking["hot"]
    return {
        "not json": b"{",
        "a list": b"[]",
        "another format": changed(format=2),
        "a missing strategy": json.dumps(lacking).encode(),
        "an unknown term": changed(join={"luck": 1.0}),
        "a negative term": changed(join={"base": -1.0}),
        "a word": changed(join={"base": "much"}),
        "a strategy for nothing": changed(join={"base": 0.0}),
        "not a number": changed(shift=float("nan")),
    }


@pytest.mark.parametrize("fault", sorted(_broken()))
def test_a_broken_file_is_an_error(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "constants.json"
    path.write_bytes(_broken()[fault])
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(PenstockError) as caught:
        load_constants()
    assert caught.value.code == "ENG-030"
    assert str(path) in caught.value.fact and "calibrate" in caught.value.remedy


def test_a_file_that_is_named_and_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere.json"))
    with pytest.raises(PenstockError, match="ENG-030"):
        load_constants()


def test_the_built_in_constants_are_whole() -> None:
    for choice in CHOICES:
        values = [getattr(BUILT_IN.of(choice), term) for term in TERMS]
        assert min(values) >= 0 and sum(value > 0 for value in values) >= 2
