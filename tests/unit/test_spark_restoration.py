"""Spark's checkpoint after a power cut: restored from manifests, planned anew, or refused."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.delivery.log import ResultLog
from penstock.spark.provenance import read_provenance, refuse_another, sums_file
from penstock.spark.restoration import examine_checkpoint, restore_checkpoint
from penstock.vocabulary.errors import PenstockError
from tests.support.checkpoints import plan

BATCHES = 13
NEWEST = BATCHES - 1


def put(file: Path, text: str) -> None:
    """Write a file and its checksums, as Hadoop does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    sums = (zlib.crc32(text.encode()[at : at + 512]) for at in range(0, len(text), 512))
    data = b"crc\0" + (512).to_bytes(4, "big") + b"".join(s.to_bytes(4, "big") for s in sums)
    sums_file(file).write_bytes(data)


def line(step: int) -> str:
    entry = {"path": f"in/{step}", "timestamp": step, "batchId": step}
    return json.dumps(entry, separators=(",", ":"))


def list_step(checkpoint: Path, step: int) -> None:
    lines = [line(n) for n in range(step + 1)] if step % 10 == 9 else [line(step)]
    name = f"{step}.compact" if step % 10 == 9 else str(step)
    put(checkpoint / "sources" / "1" / name, "\n".join(["v1", *lines]))


def make(home: Path) -> tuple[Path, ResultLog]:
    """Make a home in which Spark ran batches of one file each, and one more is planned."""
    checkpoint, log = home / "checkpoint", ResultLog(home / "results")
    put(checkpoint / "metadata", '{"id":"1"}')
    for batch in range(BATCHES + 1):
        list_step(checkpoint, batch)
        plan(checkpoint, batch, "-", f'{{"logOffset":{batch}}}', f'{{"offset":{10 * batch}}}')
        if batch < BATCHES:
            came = read_provenance(checkpoint, batch)
            log.commit(batch, 1, [], provenance=came.to_json())
            put(checkpoint / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}')
    return checkpoint, log


def texts(checkpoint: Path) -> dict[str, str]:
    """Give what Spark will read: not the steps that a compact file repeats."""
    return {
        str(path.relative_to(checkpoint)): path.read_text()
        for path in checkpoint.rglob("*")
        if path.is_file() and not path.name.endswith(".crc")
        if path.parent.name != "1" or int(path.stem) >= 9
    }


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)


DAMAGES: list[Callable[[Path], None]] = [Path.unlink, empty, cut, flip]
CLAIMED = [
    f"offsets/{NEWEST}",
    f"offsets/{NEWEST - 1}",
    "offsets/7",
    f"commits/{NEWEST - 1}",
    "commits/4",
    f"sources/1/{NEWEST}",
    "sources/1/9.compact",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_manifests_repeat_is_written_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    checkpoint, log = make(tmp_path)
    assert restore_checkpoint(checkpoint, log) == []
    before = texts(checkpoint)
    for name in CLAIMED:
        damage(checkpoint / name)
        found = restore_checkpoint(checkpoint, log)
        assert [flaw.finding.code for flaw in found] == ["RUN-008"], name
        assert found[0].finding.file == checkpoint / name
        assert texts(checkpoint) == before
        assert restore_checkpoint(checkpoint, log) == []


@pytest.mark.parametrize("damage", DAMAGES[1:])
def test_what_no_manifest_speaks_of_is_planned_anew(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    checkpoint, log = make(tmp_path)
    file = checkpoint / "commits" / str(NEWEST)
    damage(file)
    assert len(restore_checkpoint(checkpoint, log)) == 1
    assert not file.exists()
    damage(checkpoint / "metadata")
    assert len(restore_checkpoint(checkpoint, log)) == 1
    assert json.loads((checkpoint / "metadata").read_text())["id"]
    damage(checkpoint / "sources" / "1" / str(BATCHES))
    restore_checkpoint(checkpoint, log)
    assert not (checkpoint / "offsets" / str(BATCHES)).exists(), "it names files that are gone"
    assert not (checkpoint / "sources" / "1" / str(BATCHES)).exists()
    assert restore_checkpoint(checkpoint, log) == []


def test_checksums_that_do_not_fit_a_right_file_go(tmp_path: Path) -> None:
    checkpoint, log = make(tmp_path)
    sums = sums_file(checkpoint / "sources" / "1" / str(NEWEST))
    empty(sums)
    (flaw,) = restore_checkpoint(checkpoint, log)
    assert flaw.finding.file == sums
    assert not sums.exists()


def test_a_whole_checkpoint_comes_back_when_asked(tmp_path: Path) -> None:
    checkpoint, log = make(tmp_path)
    before = texts(checkpoint)
    shutil.rmtree(checkpoint)
    with pytest.raises(PenstockError, match=r"\[RUN-010\].*missing.*penstock repair"):
        restore_checkpoint(checkpoint, log)
    (flaw,) = examine_checkpoint(checkpoint, log)
    assert flaw.mend is not None
    flaw.mend()
    after = texts(checkpoint)
    del before["metadata"]
    assert {**after, **before} == {**before, "metadata": after["metadata"]}
    needed = {f"offsets/{NEWEST}", f"offsets/{NEWEST - 1}", "sources/1/9.compact"}
    assert needed <= after.keys()
    assert restore_checkpoint(checkpoint, log) == []


def test_results_that_are_gone_are_not_run_over(tmp_path: Path) -> None:
    checkpoint, log = make(tmp_path)
    (tmp_path / "results" / "000000000" / f"{NEWEST:012d}.json").unlink()
    with pytest.raises(PenstockError, match=r"\[RUN-011\].*ahead of the results"):
        restore_checkpoint(checkpoint, log)


def test_older_homes_lose_nothing_on_a_guess(tmp_path: Path) -> None:
    """Their manifests do not say what a batch held; the number of its rows does."""
    checkpoint, log = make(tmp_path)
    came = read_provenance(checkpoint, NEWEST)
    log.commit(NEWEST, 1, [{"rows_in": 50, "sections": []}])
    refuse_another(log, NEWEST, came, 50)
    with pytest.raises(PenstockError, match=r"\[RUN-009\] Batch 12"):
        refuse_another(log, NEWEST, came, 150)
    (checkpoint / "offsets" / str(NEWEST)).unlink()
    with pytest.raises(PenstockError, match=r"\[RUN-008\].*no manifest repeats it"):
        restore_checkpoint(checkpoint, log)


def test_a_batch_of_other_rows_is_refused(tmp_path: Path) -> None:
    checkpoint, log = make(tmp_path)
    refuse_another(log, NEWEST, read_provenance(checkpoint, NEWEST))
    plan(checkpoint, NEWEST, "-", f'{{"logOffset":{NEWEST}}}', '{"offset":999}')
    with pytest.raises(PenstockError, match=r"\[RUN-009\]"):
        refuse_another(log, NEWEST, read_provenance(checkpoint, NEWEST))
    empty(checkpoint / "offsets" / str(NEWEST))
    with pytest.raises(PenstockError, match=r"\[RUN-008\].*offsets/12"):
        read_provenance(checkpoint, NEWEST)


def test_a_first_batch_that_never_ran_leaves_nothing(tmp_path: Path) -> None:
    checkpoint, log = tmp_path / "checkpoint", ResultLog(tmp_path / "results")
    assert restore_checkpoint(checkpoint, log) == []
    list_step(checkpoint, 0)
    plan(checkpoint, 0, "-", '{"logOffset":0}')
    put(checkpoint / "metadata", '{"id":"1"}')
    assert restore_checkpoint(checkpoint, log) == []
    empty(checkpoint / "sources" / "1" / "0")
    restore_checkpoint(checkpoint, log)
    assert texts(checkpoint).keys() == {"metadata"}
