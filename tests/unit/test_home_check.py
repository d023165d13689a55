"""`penstock check` names every damaged file, and `penstock repair` mends what manifests repeat."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.engine import Desk
from penstock.spark.provenance import read_provenance
from penstock.storage.seals import seal_of_file
from tests.support.checkpoints import plan
from tests.support.falsified import BATCHES, make_home, restored


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a home that seems to have run under Spark."""
    path = make_home(tmp_path_factory.mktemp("checked") / "home", "ranges", "deals")
    desk, checkpoint = Desk(path), path / "checkpoint"
    desk.home.settle(host="embedded", shards=1)
    for batch in range(BATCHES):
        plan(checkpoint, batch, "-", f'{{"offset":{batch}}}')
        manifest = desk.log.noted(batch)
        assert manifest is not None
        came = read_provenance(checkpoint, batch).to_json()
        seal = seal_of_file(path / "state" / f"{batch:012d}.arrow")
        desk.log.commit(batch, manifest["version"], manifest["parts"], provenance=came, state=seal)
        (checkpoint / "commits").mkdir(exist_ok=True)
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    (checkpoint / "metadata").write_text('{"id":"1"}')
    desk.close()
    return path


def told(command: str, home: Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, [command, str(home), "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_a_whole_home_is_whole(home: Path) -> None:
    code, facts = told("check", home)
    assert (code, facts["flaws"], facts["batches"]) == (0, [], BATCHES)
    shown = CliRunner().invoke(app, ["check", str(home)])
    assert "Whole" in shown.stdout
    assert "nothing to repair" in CliRunner().invoke(app, ["repair", str(home)]).stdout


def test_repair_brings_a_checkpoint_back_and_keeps_what_was(home: Path) -> None:
    with restored(home):
        shutil.rmtree(home / "checkpoint" / "offsets")
        announced = min((home / "registry" / "announcements").iterdir())
        announced.write_bytes(b"")
        code, facts = told("repair", home)
        assert (code, facts["left"]) == (0, [])
        assert len(facts["mended"]) >= 3
        copy = Path(facts["copy"])
        assert (copy / "registry" / "announcements" / announced.name).read_bytes() == b""
        assert told("check", home)[1]["flaws"] == []
        (home / "statistics.json").write_bytes(b"{")
        assert "statistics.json" in told("check", home)[1]["flaws"][0]["fact"]
        code, facts = told("repair", home)
        assert (code, facts["left"]) == (0, [])
        assert (Path(facts["copy"]) / "statistics.json").read_bytes() == b"{"
        assert told("check", home)[1]["flaws"] == []
        shutil.rmtree(home / "checkpoint")
        assert told("check", home)[1]["flaws"][0]["code"] == "RUN-010"
        assert told("repair", home)[0] == 0
        assert told("check", home)[0] == 0
        (home / "results" / "000000000" / f"{0:012d}.json").unlink()
        code, facts = told("repair", home)
        assert code == 1
        assert "VER-002" in {flaw["code"] for flaw in facts["left"]}
