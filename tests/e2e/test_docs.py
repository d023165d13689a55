"""What README and guides show, runs: Python block after block, and every script."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app

ROOT = Path(__file__).parents[2]
companies = runpy.run_path(str(ROOT / "examples" / "companies.py"))["main"]
DOCUMENTS = (
    "README.md",
    "docs/guides/quickstart.md",
    "docs/guides/joins.md",
    "docs/guides/planning.md",
    "docs/guides/memory.md",
    "docs/guides/lookups.md",
    "docs/guides/sinks.md",
    "docs/guides/serving.md",
    "docs/guides/views.md",
    "docs/guides/models.md",
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.spark


def own_files(directory: Path) -> None:
    """Make the files of one's own that README speaks of."""
    (directory / "readings").mkdir()
    lines = ["sensor,celsius,at", "s1,31.5,2026-03-02T10:00:00Z", "s2,18,2026-03-02T10:00:40Z"]
    (directory / "readings" / "monday.csv").write_text("\n".join(lines) + "\n")
    (directory / "alerts.csv").write_text("id,sensor,above\nanna,s1,30\nbert,s2,30\n")


def blocks(document: str, language: str) -> list[tuple[int, str]]:
    """Give a document's blocks of a language, with the line on which each begins."""
    text = (ROOT / document).read_text()
    return [
        (text.count("\n", 0, match.start(2)), match[2])
        for match in FENCE.finditer(text)
        if match[1] == language
    ]


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/reference/python.md"])
def test_python_blocks_run_one_after_the_other(
    document: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as of a script that stands there
    own_files(tmp_path)
    found = blocks(document, "python")
    assert found
    names: dict[str, object] = {}
    for line, code in found:
        exec(compile("\n" * line + code, document, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_sql_blocks_run(
    document: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(document, "sql")
    assert found
    companies(Path("companies.duckdb"))
    own_files(tmp_path)
    for number, (_, sql) in enumerate(found):
        script = tmp_path / f"app{number}.sql"
        script.write_text(sql)
        result = CliRunner().invoke(app, ["run", str(script), "--once", "--quiet"])
        assert result.exit_code == 0, result.output
        assert "matches" in result.stdout
