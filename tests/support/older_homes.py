"""Homes of older formats, made by the Penstock of their day and kept as archives.

An archive has the home, the files of its sources, and what subscribers read when it was made. Paths
in it begin with ROOT, which is put right when it is unpacked.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.storage.files import write_json
from penstock.storage.seals import SEAL, sealed

DATA = Path(__file__).parent.parent / "data"
ROOT = "/penstock/older"
TEXTS = (".json", ".txt", ".compact", "")


def unpacked(name: str, place: Path) -> Path:
    """Unpack an archive; give the home."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(place, filter="data")
    for file in place.rglob("*"):
        if file.is_file() and file.suffix in TEXTS and not file.name.endswith(".crc"):
            text = file.read_bytes()
            if ROOT.encode() in text:
                file.write_bytes(text.replace(ROOT.encode(), str(place).encode()))
                _seal(file)
                # Spark's own checksum is of the text before.
                (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    return place / "home"


def _seal(file: Path) -> None:
    """Seal what was put right, if it was sealed."""
    if file.suffix == ".json":
        data = json.loads(file.read_text())
        if SEAL in data:
            write_json(file, sealed(data))


def told(place: Path) -> dict[str, list[dict[str, Any]]]:
    """Give what subscribers read when the home was made, by subscription."""
    found: dict[str, list[dict[str, Any]]] = json.loads((place / "told.json").read_text())
    return found


def grow(place: Path, number: int) -> None:
    """Put one more file into the directory of every source: its last rows once more, but later."""
    for directory in sorted((place / "data").iterdir()):
        files = sorted(directory.glob("*.parquet"))
        table = pq.read_table(files[-1])
        if "ts" in table.column_names:
            at = table.column_names.index("ts")
            later = pa.array([4_000_000 * (number + 1)] * table.num_rows, pa.duration("us"))
            table = table.set_column(at, "ts", pa.compute.add(table["ts"], later))
        pq.write_table(table, directory / f".growing{number}")
        (directory / f".growing{number}").rename(directory / f"{900 + number}.parquet")
