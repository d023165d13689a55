"""State stores of a cluster's shards: damage to what Spark would load is named.

The home is one that ran on the cluster host; its batches are sealed here as that host seals them.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.delivery.log import ResultLog
from penstock.spark.failures import explain_failure
from penstock.spark.state_stores import STATE, STORES, examine_stores, seals_of
from penstock.storage.files import write_json
from penstock.storage.seals import sealed
from tests.support.older_homes import unpacked

KINDS = ("0/0/3.changelog", "0/1/1.zip", "0/0/SSTs/*.sst", "0/_metadata/v2/2", "0/_stateSchema/*/*")
"""Files that the next start reads."""
Damage = Callable[[Path], None]


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 4
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def delete(file: Path) -> None:
    file.unlink()


def swap(file: Path) -> None:
    shutil.copy(file.with_name("2.changelog"), file)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = unpacked("home-3-cluster", tmp_path_factory.mktemp("stores"))
    log = ResultLog(path / "results")
    for batch in range(log.newest() + 1):
        found = log.noted(batch)
        assert found is not None
    files = (path / "checkpoint" / STATE).rglob("*")
    log.note(log.newest(), **{STORES: seals_of(path / "checkpoint" / STATE, files)})
    return path


def told(home: Path) -> dict[Path, str]:
    """Give what is said of which files."""
    found = list(examine_stores(home / "checkpoint", 2, ResultLog(home / "results")))
    assert {finding.code for finding in found} <= {"RUN-016"}
    return {finding.file: finding.fact for finding in found}


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        *((damage, kind) for kind in KINDS for damage in (flip, cut, empty)),
        # Spark goes on without a snapshot, and removes what describes older runs itself.
        *((delete, kind) for kind in (KINDS[0], KINDS[2])),
        (swap, KINDS[0]),
    ],
)
def test_damage_to_a_store_is_named(home: Path, damage: Damage, kind: str) -> None:
    (file,) = (home / "checkpoint" / STATE).glob(kind)
    assert told(home) == {}
    data = file.read_bytes()
    damage(file)
    found = told(home)
    file.write_bytes(data)
    assert set(found) == {file}, found


def test_a_whole_part_that_is_missing_is_named(home: Path, tmp_path: Path) -> None:
    here = tmp_path / "home"
    shutil.copytree(home, here)
    state = here / "checkpoint" / STATE
    shutil.rmtree(state / "0" / "1")
    assert told(here) == {state / "0" / "1" / f"{n}.changelog": "is missing" for n in (1, 2, 3)}
    shutil.rmtree(state)
    assert told(here) == {state: "is missing, though batches were run"}


def test_a_snapshot_that_was_written_again_is_right(home: Path, tmp_path: Path) -> None:
    """Spark may do so at any time; a batch that comes again has other seals."""
    here = tmp_path / "home"
    shutil.copytree(home, here)
    state, log = here / "checkpoint" / STATE, ResultLog(here / "results")
    snapshot, changes = state / "0" / "0" / "1.zip", state / "0" / "0" / "3.changelog"
    with zipfile.ZipFile(snapshot) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(snapshot, "w") as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    assert told(here) == {}
    changes.write_bytes(b"others")
    assert set(told(here)) == {changes}
    newest = log.noted(log.newest())
    assert newest is not None
    log.note(log.newest(), **{STORES: newest[STORES] | seals_of(state, [changes])})
    assert told(here) == {}
    older = {name: own for name, own in newest.items() if name != STORES}
    write_json(log.manifest(log.newest()), sealed(older))
    assert told(here) == {}, "homes of before have no seals of stores"


def test_what_spark_says_of_a_store_has_a_code() -> None:
    said = (
        "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state. "
        "Caused by: java.io.FileNotFoundException: File file:/h/checkpoint/state/0/0/3.changelog "
        "does not exist"
    )
    error = explain_failure(RuntimeError(said))
    assert error.code == "RUN-016" and "/h/checkpoint/state/0/0/3.changelog is" in error.fact
    said = "org.rocksdb.RocksDBException: Corruption: block checksum mismatch in /tmp/x.sst"
    error = explain_failure(RuntimeError(said))
    assert error.code == "RUN-016" and "block checksum mismatch" in error.fact
