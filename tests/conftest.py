"""What every test shares: how examples are drawn, and how a failure is replayed."""

from __future__ import annotations

import gc
import os
import shutil
import time
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from penstock.planning.constants import VARIABLE, save_constants
from tests.support import postgres
from tests.support.plan_costs import ROUND

# The first call of a kernel compiles: neither a deadline nor slow data says anything here. Examples
# are the same in every run, so that a change alone decides whether tests pass.
settings.register_profile(
    "penstock",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# To look for more: PENSTOCK_HYPOTHESIS=fresh draws others each time, and thorough many of them.
settings.register_profile("fresh", settings.get_profile("penstock"), derandomize=False)
settings.register_profile("thorough", settings.get_profile("fresh"), max_examples=2_000)
settings.load_profile(os.environ.get("PENSTOCK_HYPOTHESIS", "penstock"))

UNTIL_S = float(os.environ.get("PENSTOCK_TESTS_UNTIL", "inf"))
"""When the last test may begin, in seconds since 1970: for whoever stops a run after a while."""

SEED = pytest.StashKey[int]()
MEMORY, MEMORY_MIN = Path("/dev/shm"), 6 << 30
"""Where `tmp_path` is, if so much is free: whoever waits for a disk waits for a third of a test."""
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_MIN:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a test that draws its own data: fixed per test, or PENSTOCK_SEED."""
    given = os.environ.get("PENSTOCK_SEED")
    drawn = zlib.crc32(request.node.nodeid.encode()) if given is None else int(given)
    request.node.stash[SEED] = drawn
    return drawn


@pytest.fixture(autouse=True, scope="session")
def round_costs(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Plan with round costs: what is chosen must not hang on the latest calibration."""
    with pytest.MonkeyPatch.context() as patched:
        path = save_constants(ROUND, tmp_path_factory.mktemp("costs") / "plan-constants.json")
        patched.setenv(VARIABLE, str(path))
        yield


@pytest.fixture(scope="session")
def postgresql() -> Generator[postgres.Server]:
    """A PostgreSQL server that tests share: each leaves it as it was."""
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.running() as server:
        yield server


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Leave out what is to begin too late, and say so."""
    if time.time() > UNTIL_S:
        pytest.skip("NOT RUN: the time of this run is over (PENSTOCK_TESTS_UNTIL)")


def pytest_collection_finish() -> None:
    """Look for garbage more seldom, and not among all that was imported: a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Let go of everything: what is left at the end, DuckDB tells of."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a failed test's seed, with the command that replays it."""
    report = yield
    if report.failed and SEED in item.stash:
        replay = f"PENSTOCK_SEED={item.stash[SEED]} .venv/bin/pytest '{item.nodeid}'"
        report.sections.append(("replay", replay))
    return report
