"""Format 2 becomes 3: seals in manifests, clocks of streams, resolved changes of tables.

- Manifests name the size and checksum of every file, and seal themselves.
- The event time of a stream is followed from its declaration on, by a step of its own.
- Steps say more of a shape, and a group is called by its shape: groups get their new names.
- What filters on a table matched is a section of its own, beside the changes as they were written.
- Operators keep other state: `penstock.engine.migration.kept_state` brings it over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.delivery.parts import net_section
from penstock.engine.migration.formats import GroupNames, Tell
from penstock.engine.migration.stored_names import (
    group_name,
    read_renamed,
    registry_manifests,
    rename_entries,
    rename_in,
    rewrite_results,
    seal_version,
)
from penstock.storage.files import read_json, read_table, write_file, write_table
from penstock.storage.seals import seal_of_file

CORRUPT = "_corrupt"
LINES = ("csv", "json")
"""Sources whose lines may not parse; such a line is in the column `_corrupt`."""


def migrate(home: Path, tell: Tell) -> GroupNames:
    """Bring a copy of a home from format 2 to 3, all but what operators keep."""
    registry = _StoredRegistry(registry_manifests(home))
    registry.rewrite()
    tell(f"The registry: {len(registry.manifests):,} versions.")
    rename_in(home / "statistics.json", registry.names)
    tables = {name for name, own in registry.relations.items() if own["kind"] == "table"}

    def sealed_sections(at: Path, sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
        resolved = list(_resolved(at, sections, tables))
        return [{**section, "seals": _seals(at / section["stem"])} for section in resolved]

    rewrite_results(home, registry.names, tell, sealed_sections)
    shutil.rmtree(home / "transcripts", ignore_errors=True)
    return registry.names


class _StoredRegistry:
    """The manifests of a registry of format 2, and what their groups are called in format 3."""

    def __init__(self, manifests: list[Path]) -> None:
        self.manifests = manifests
        self.relations: dict[str, dict[str, Any]] = {}
        self.steps: dict[str, dict[str, Any]] = {}
        self.names: GroupNames = {}
        for path in manifests:
            manifest = read_json(path)
            for described in manifest["declarations"]:
                self.relations[described["name"]] = _declaration(described)
            for group, described in manifest["steps"].items():
                step = self._step(described)
                self.names[group] = group_name(step)
                self.steps[self.names[group]] = step

    def _step(self, described: dict[str, Any]) -> dict[str, Any]:
        if described["kind"] == "multi_join":
            return {**described, "dropping": described.get("dropping", {})}
        if "join" in described:
            return {**described, "join": self._step(described["join"])}
        if described["kind"] == "filter":
            broken = self.relations[described["relation"]]["broken_column"]
            asks = broken is not None and any(
                broken in _columns(branch) for branch in described["branches"]
            )
            return {"dropping": {}, "event_time": None, **described, "sees_broken": asks}
        if described["kind"] == "keep":
            return {"key": [], "sequence": [], "positioned": False, **described}
        return described

    def rewrite(self) -> None:
        """Rewrite all manifests, with seals, clocks and new names."""
        for path in self.manifests:
            manifest = read_renamed(path, self.names)
            declared = [_declaration(each) for each in manifest["declarations"]]
            clocks = [_clock(each) for each in declared if each["kind"] == "stream"]
            manifest["declarations"] = declared
            manifest["steps"] = {
                **{group_name(step): step for step in clocks if step is not None},
                **{group: self.steps[group] for group in manifest["steps"]},
            }
            rename_entries(path.parent, self.names)
            for file in path.parent.glob("multi_join-*.plan.arrow"):
                _complete_plans(file)
            seal_version(path, manifest)


def _clock(declared: dict[str, Any]) -> dict[str, Any] | None:
    """Describe the step that follows a stream's event time, if it has one."""
    column = declared["event_time"]
    if column is None:
        return None
    type_ = dict(declared["schema"])[column]
    return {"kind": "clock", "relation": declared["name"], "event_time": column, "type": type_}


def _complete_plans(file: Path) -> None:
    """Let plans say what share of the full answer is found: so far, all that was emitted."""
    table = read_table(file)
    told = (json.loads(text) for text in table["plan"].to_pylist())
    texts = pa.array([json.dumps({"found": plan["kept"], **plan}) for plan in told], pa.string())
    table = table.set_column(table.column_names.index("plan"), "plan", texts)
    write_file(file, lambda place: write_table(place, table))


def _columns(branch: dict[str, Any]) -> set[str]:
    terms = (*branch["equalities"], *branch["ranges"])
    return {name for name, _ in terms} | set(branch["residual_columns"])


def _declaration(described: dict[str, Any]) -> dict[str, Any]:
    """Say which column of a declared relation holds lines that do not parse."""
    source = (described["source"] or "").partition(":")[0].strip().lower()
    names = [name for name, _ in described["schema"]]
    broken = CORRUPT if source in LINES and CORRUPT in names else None
    return {"broken_column": broken, **described}


def _resolved(
    directory: Path, sections: list[dict[str, Any]], tables: set[str]
) -> Iterator[dict[str, Any]]:
    """Give what matched of a table a section of its own, at the end."""
    apart = []
    for section in sections:
        if section["relation"] not in tables or not section["groups"]:
            yield section
            continue
        apart.append(section)
        yield {**section, "matches": 0, "groups": {}}
    stem = sections[0]["stem"].rpartition("-")[0] if sections else ""
    for number, section in enumerate(apart, start=len(sections)):
        old = directory / section["stem"]
        events, matches = (pq.read_table(_file(old, each)) for each in ("events", "matches"))
        shown, place = np.unique(matches["event"].to_numpy(), return_inverse=True)
        named = f"{stem}-{number}"
        found = pa.array(place.astype(np.int32))
        tables_ = (
            (directory / named, "events", events.take(pa.array(shown)).replace_schema_metadata()),
            (directory / named, "matches", matches.set_column(1, "event", found)),
            (old, "matches", matches.slice(0, 0)),
        )
        for place_, suffix, table in tables_:
            _file(place_, suffix).unlink(missing_ok=True)  # it may be a link to the old home's
            pq.write_table(table, _file(place_, suffix), compression="none", use_dictionary=False)
        yield {
            **section,
            "relation": net_section(section["relation"]),
            "stem": named,
            "events": len(shown),
        }


def _file(stem: Path, suffix: str) -> Path:
    return stem.with_name(f"{stem.name}-{suffix}.parquet")


def _seals(stem: Path) -> dict[str, list[int]]:
    return {suffix: seal_of_file(_file(stem, suffix)) for suffix in ("events", "matches")}
