"""Format 3 becomes 4: every join has inputs `i0`, `i1`, …, and says them itself.

- A join of two had sides, `l` and `r`: its step, its entries and its result files named them.
- A bounded join and a lookup contained a step of a join of many.
- Groups are called by their steps, so these get new names. What operators keep is as it was.

Result files are not written anew: the manifest says what their columns are called.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.delivery.parts import Part, Section, part_from_bytes, part_to_bytes
from penstock.engine.migration.formats import GroupNames, Tell
from penstock.engine.migration.stored_names import (
    group_name,
    read_renamed,
    registry_manifests,
    rename_entries,
    rename_in,
    rewrite_results,
    seal_version,
    step_digest,
)
from penstock.spark.older_state import renamed
from penstock.storage.files import read_json, read_table, write_file, write_table
from penstock.storage.transcripts import Transcript, Transcripts

OF_TWO = ("select_join", "band_join", "window_join")
OF_MANY = ("inputs", "crossing", "residual_sql", "residual_columns", "residual_types")
"""What a bounded join, a lookup, and a join in a shared memory took from a join of many."""
SHAPE = "shape"
SIDES = {"l": "i0", "r": "i1"}
ENTRY = re.compile(r"([lr])(_[elhr]\d+(?:_hash)?)")
MADE_SIGN = "_sign"

Columns = dict[str, list[str]]
"""What the columns of rows are called that the groups of joins of two made, by the new names."""


def migrate(home: Path, tell: Tell) -> GroupNames:
    """Bring a copy of a home from format 3 to 4."""
    manifests = registry_manifests(home)
    steps: dict[str, dict[str, Any]] = {}
    for path in manifests:
        steps |= read_json(path)["steps"]
    new = {group: new_step(step) for group, step in steps.items()}
    names = {group: group_name(step) for group, step in new.items()}
    columns = {names[group]: _made(step) for group, step in new.items() if step["kind"] in OF_TWO}
    for path in manifests:
        for file in path.parent.glob("bounded_join-*.queries-*.arrow"):
            names[file.name.split(".")[1]] = _reshape(file)
        manifest = read_renamed(path, names)
        manifest["steps"] = {group: new_step(own) for group, own in manifest["steps"].items()}
        rename_entries(path.parent, names)
        for group in columns:
            for file in path.parent.glob(f"{group}.queries.arrow"):
                _rename_entries(file)
        seal_version(path, manifest)
    tell(f"The registry: {len(manifests):,} versions.")
    rename_in(home / "statistics.json", names)

    def named_columns(_: Path, sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
        own = [columns.get(section["relation"]) for section in sections]
        return [
            section if made is None else {**section, "columns": made}
            for section, made in zip(sections, own, strict=True)
        ]

    rewrite_results(home, names, tell, named_columns)
    _rewrite_transcripts(home / "transcripts", names, columns)
    return names


def new_step(step: dict[str, Any]) -> dict[str, Any]:
    """Describe a step as format 4 does.

    >>> new_step({"kind": "lookup_join", "join": {"kind": "multi_join", "inputs": [], "waiting": 3},
    ...           "looked_up": 1})
    {'kind': 'lookup_join', 'inputs': [], 'looked_up': 1}
    """
    kind = step["kind"]
    if kind in OF_TWO:
        rest = {name: own for name, own in step.items() if name not in {"left", "right"}}
        inputs = [{"window": None, **step[side]} for side in ("left", "right")]
        columns = [_made_name(name) for name in step["residual_columns"]]
        return {**rest, "inputs": inputs, "residual_columns": columns}
    if "join" in step:
        join = step["join"]
        waiting = {"waiting": join["waiting"]} if kind == "bounded_join" else {}
        rest = {name: own for name, own in step.items() if name not in {"kind", "join"}}
        return {"kind": kind, **_of_many(join), **waiting, **rest}
    return step


def _of_many(join: dict[str, Any]) -> dict[str, Any]:
    return {name: join[name] for name in OF_MANY if name in join}


def _made_name(name: str) -> str:
    side, _, column = name.partition(".")
    return f"{SIDES[side]}.{column}"


def _made(step: dict[str, Any]) -> list[str]:
    own = [
        f"i{number}.{name}"
        for number, each in enumerate(step["inputs"])
        for name, _ in each["columns"]
    ]
    return [*own, MADE_SIGN]


def _reshape(file: Path) -> str:
    """Let entries of a shared memory describe their join as format 4 does; name its port."""
    table = read_table(file)
    at = table.column_names.index(SHAPE)
    old = table.column(SHAPE).combine_chunks()
    shapes = [_of_many(json.loads(text)) for text in old.dictionary.to_pylist()]
    texts = pa.array([json.dumps(shape, sort_keys=True) for shape in shapes])
    again = pa.DictionaryArray.from_arrays(old.indices, texts)
    table = table.set_column(at, SHAPE, again)
    write_file(file, lambda place: write_table(place, table))
    return f"queries-{step_digest(shapes[0])}"


def _rename_entries(file: Path) -> None:
    table = read_table(file)
    found = [(name, ENTRY.fullmatch(name)) for name in table.column_names]
    names = [f"{SIDES[own[1]]}{own[2]}" if own else name for name, own in found]
    table = table.rename_columns(names)
    write_file(file, lambda place: write_table(place, table))


def _rewrite_transcripts(root: Path, names: GroupNames, columns: Columns) -> None:
    """Keep what was answered in batches that Spark may run again."""
    transcripts = Transcripts(root)
    for path in sorted(root.glob("*.arrow")):
        shard, _, batch = path.stem.rpartition("-")
        old = transcripts.read(int(shard), int(batch))
        assert old is not None
        part = part_from_bytes(old.part)
        told = json.loads(renamed(json.dumps(part.told).encode(), names))
        sections = tuple(_renamed_section(each, names, columns) for each in part.sections)
        again = Part(version=part.version, rows_in=part.rows_in, sections=sections, told=told)
        deltas = {
            names.get(group, group): renamed(data, names) for group, data in old.deltas.items()
        }
        path.unlink()
        new = Transcript(old.version, deltas, part_to_bytes(again))
        transcripts.write(int(shard), int(batch), new)


def _renamed_section(section: Section, names: GroupNames, columns: Columns) -> Section:
    relation = names.get(section.relation, section.relation)
    events = section.events
    if relation in columns:
        events = events.rename_columns(columns[relation])
    groups = {names.get(group, group): own for group, own in section.groups.items()}
    return Section(relation=relation, events=events, matches=section.matches, groups=groups)
