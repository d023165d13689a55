"""Names of groups in stored files: what migrations share when a step is described otherwise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.engine.migration.formats import Tell
from penstock.spark.older_state import renamed
from penstock.storage.files import write_json
from penstock.storage.seals import seal_of_file, sealed

TOLD_EVERY = 200
"""Batches between two words on how far it is."""


def step_digest(described: Mapping[str, Any]) -> str:
    """Give the end of a name: that of a described step, or of another shape."""
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def group_name(described: Mapping[str, Any]) -> str:
    """Name the group of a described step."""
    return f"{described['kind']}-{step_digest(described)}"


def registry_manifests(home: Path) -> list[Path]:
    """List the manifests of a registry, of versions and of what they were folded into."""
    return sorted((home / "registry").glob("[vb]*s/[0-9]*/manifest.json"))


def rename_in(path: Path, names: Mapping[str, str]) -> None:
    """Give groups their new names in a small file that is not sealed, if it is there."""
    if path.exists():
        path.write_bytes(renamed(path.read_bytes(), names))


def rename_entries(directory: Path, names: Mapping[str, str]) -> None:
    """Give the files of a version's entries the new names of their groups and ports."""
    for file in directory.glob("*.arrow"):
        name = renamed(file.name.encode(), names).decode()
        if name != file.name:
            file.rename(file.with_name(name))


def seal_version(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a version with the seals of the files beside it."""
    files = sorted(file for file in path.parent.iterdir() if file != path)
    seals = {file.name: seal_of_file(file) for file in files}
    write_json(path, sealed({**manifest, "files": seals}))


def read_renamed(path: Path, names: Mapping[str, str]) -> dict[str, Any]:
    """Read a manifest with the new names in it."""
    manifest: dict[str, Any] = json.loads(renamed(path.read_bytes(), names))
    return manifest


def rewrite_results(
    home: Path,
    names: Mapping[str, str],
    tell: Tell,
    change: Callable[[Path, list[dict[str, Any]]], list[dict[str, Any]]],
) -> None:
    """Rewrite the manifests of all batches: new names, and their sections as `change` gives them.

    `change` is told the directory that the sections' files are in.
    """
    paths = sorted((home / "results").glob("[0-9]*/[0-9]*.json"))
    for number, path in enumerate(paths):
        manifest = read_renamed(path, names)
        for part in manifest["parts"]:
            part["sections"] = change(path.parent, part["sections"])
        write_json(path, sealed(manifest))
        if (number + 1) % TOLD_EVERY == 0:
            tell(f"Results: {number + 1:,} of {len(paths):,} batches.")
    tell(f"Results: {len(paths):,} batches.")
