"""Whoever takes turns is killed (-9) at any moment, and so is the server: no turn is lost."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.views.stores import open_store
from tests.oracle.views import bag_of
from tests.support import postgres
from tests.support.view_victim import definition, take, twin

pytestmark = pytest.mark.crash

KILLS, SERVER_KILLS = 7, 6
"""By store, and of the server: twenty in all."""


@pytest.fixture(params=["duckdb", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, str]]:
    if request.param == "duckdb":
        yield "duckdb", str(tmp_path / "v.duckdb")
        return
    server = request.getfixturevalue("postgresql")
    yield "postgresql", server.url()
    store = open_store(definition("postgresql"), server.url())
    store.drop()
    store.close()


def run(address: str, wait_s: float) -> int:
    """Let turns be taken for a while after the first two have returned, then kill; give the last.

    The first may be one that had been taken before.
    """
    command = [sys.executable, "-m", "tests.support.view_victim", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        try:
            told = [victim.stdout.readline() for _ in range(2)]
            time.sleep(wait_s)
        finally:
            victim.kill()
        return int([*told, *victim.stdout][-1])


def test_a_view_outlives_whoever_takes_its_turns(address: tuple[Any, str], seed: int) -> None:
    kind, place = address
    chance = random.Random(seed)
    taken = 0
    for _ in range(KILLS):
        told = run(place, chance.uniform(0.0, 0.3))
        store = open_store(definition(kind), place)
        try:
            assert store.taken() in {told, told + 1}
            assert told > taken
            taken = store.taken()
            expected = twin(store)
            assert bag_of(store.rows()) == bag_of(store.recomputed()) == expected.rows()
            assert store.pending().tolist() == expected.pending()
            # The number that it may not have heard back of is asked for again, and changes nothing.
            take(store, taken)
            assert bag_of(store.rows()) == expected.rows()
        finally:
            store.close()


def test_a_view_outlives_its_server(seed: int) -> None:
    if why := postgres.missing():
        pytest.skip(why)
    chance = random.Random(seed)
    with postgres.running() as server:
        for _ in range(SERVER_KILLS):
            command = [sys.executable, "-m", "tests.support.view_victim", server.url()]
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as victim:
                assert victim.stdout is not None and victim.stderr is not None
                assert victim.stdout.readline().strip().isdigit()
                time.sleep(chance.uniform(0.0, 0.3))
                server.stop()
                assert "VIEW-00" in victim.stderr.read()
            server.start()
            store = open_store(definition("postgresql"), server.url())
            expected = twin(store)
            assert bag_of(store.rows()) == bag_of(store.recomputed()) == expected.rows()
            assert store.pending().tolist() == expected.pending()
            store.close()
