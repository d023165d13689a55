"""Paths as Spark takes them: it reads a path as a pattern, and ours are names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PATTERN = re.compile(r"([{}\[\]*?\\])")


def local_path(path: str) -> Path | None:
    """Give the path on this machine that a text means; None if it lies elsewhere.

    >>> local_path("/data/[1]"), local_path("s3://data")
    (PosixPath('/data/[1]'), None)
    """
    scheme = _SCHEME.match(path)
    if scheme is None:
        return Path(path).expanduser()
    return Path(unquote(urlsplit(path).path)) if scheme[1].lower() == "file" else None


def is_pattern(path: str) -> bool:
    """Say whether Spark would take a path for a pattern."""
    return _PATTERN.search(path) is not None


def literal(path: Path | str) -> str:
    r"""Write a path so that Spark takes every sign of it for itself.

    >>> literal("/data/[1] {a}*")
    '/data/\\[1\\] \\{a\\}\\*'
    """
    return _PATTERN.sub(r"\\\1", str(path))
