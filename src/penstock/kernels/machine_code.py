"""Machine code on disk: compiled once for all processes of an environment.

A file holds the code of one kernel for one signature. Its directory is named after the text of the
kernel's module and of every module of kernels that it reaches: change a text, and what was compiled
of it is not found any more, in its callers neither. A file is whole or absent, and no two of them
have anything in common, so any number of processes may compile at a time.
"""

from __future__ import annotations

import inspect
import logging
import os
import pickle  # noqa: TID251 - machine code is no state: whatever cannot be read is compiled again
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

# numba ships these without types.
REBUILD: Callable[..., Any] = CompileResult._rebuild
DUMP: Callable[[Any], bytes] = dumps

KEPT_TEXTS = 8
"""How many texts of a module keep their code: those of the branches that are worked on."""

SEAL_BYTES = 20
"""A file ends with a digest of what stands before it: damaged code would answer wrong, or crash."""

REACHES = re.compile(r"^from penstock\.kernels\.(\w+) import", re.MULTILINE)
HERE = Path(__file__).parent

_counted = {"compiled": 0}


def compiled() -> int:
    """Say how many kernels this process had to compile, because no code was on disk."""
    return _counted["compiled"]


@cache
def code_directory() -> Path:
    """Say where code is kept.

    That is where `NUMBA_CACHE_DIR` says, else in the virtual environment that runs, whose packages
    it was compiled with and whose end it shares, be it only to be read there; else in the user's
    cache. Where that cannot be written, an engine keeps it in its home: see `keep_code_in`.
    """
    own = Path(sys.prefix) / "share"
    is_own = sys.prefix != sys.base_prefix
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        root = Path(given)
    elif is_own and (os.access(sys.prefix, os.W_OK) or (own / "penstock").is_dir()):
        root = own
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return root / "penstock" / f"{sys.implementation.cache_tag}-numba-{numba.__version__}"


def keep_code_in(directory: Path) -> None:
    """Keep code in `directory` if the place where it belongs cannot be written, as without a HOME.

    Spark's workers inherit the place.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or code_directory().is_dir():
        return
    above = next(path for path in code_directory().parents if path.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        os.environ["NUMBA_CACHE_DIR"] = str(directory)
        code_directory.cache_clear()


@cache
def _digest(path: Path) -> str:
    """Give the digest of a module's text and of all kernels that it reaches."""
    text = path.read_bytes()
    reached = sorted(set(REACHES.findall(text.decode())) - {Path(__file__).stem})
    parts = [text, *(_digest(HERE / f"{name}.py").encode() for name in reached)]
    return _short(*parts)


def _short(*parts: bytes) -> str:
    digest = blake2b(digest_size=10)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _seal(data: bytes) -> bytes:
    return blake2b(data, digest_size=SEAL_BYTES).digest()


class MachineCode:
    """The code of one kernel on disk, as numba's dispatcher asks for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """Give the directory of the kernel's module as it is now."""
        path = Path(inspect.getfile(self._function))
        return str(code_directory() / f"{path.stem}-{_digest(path)}")

    def enable(self) -> None:
        """Read and write from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: what is compiled anew takes the place of what was."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Give the code for a signature, or None if it must be compiled."""
        if not self._enabled:
            return None
        target.refresh()
        path = self._path(signature, target.codegen())
        kept: Any = None
        payload: Any = None
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            data = path.read_bytes()
            if _seal(data[:-SEAL_BYTES]) == data[-SEAL_BYTES:]:
                kept, payload = pickle.loads(data)  # noqa: S301 - the user's own cache
        if kept != signature:
            _tell()
            _counted["compiled"] += 1
            return None
        return REBUILD(target, *payload)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep code that was just compiled; where that cannot be, it lives as long as the process.

        `_tell` has said that this process compiles.
        """
        if not self._enabled:
            return
        assert not result.lifted
        assert not result.library.has_dynamic_globals, "addresses are of this process alone"
        path = self._path(signature, result.codegen)
        payload = DUMP((signature, result._reduce()))
        payload += _seal(payload)
        try:
            if not path.parent.exists():
                _make_room(path.parent)
            handle, name = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
            os.replace(name, path)
        except OSError as error:
            _tell_unkept(str(error.strerror))

    def _path(self, signature: Any, codegen: Any) -> Path:
        # The module's name is in the code: of one that has moved, nothing could be read.
        module, name = self._function.__module__, self._function.__qualname__
        facts = (module, name, str(signature), repr(codegen.magic_tuple()))
        key = _short(*(fact.encode() for fact in facts))
        return Path(self.cache_path) / f"{name}-{key}"


def _make_room(directory: Path) -> None:
    """Make a module's directory; of its older texts only the newest keep their code."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = directory.name.rpartition("-")[0]
    texts = sorted(
        directory.parent.glob(f"{stem}-*"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for old in texts[KEPT_TEXTS:]:
        shutil.rmtree(old, ignore_errors=True)


@cache
def _tell() -> None:
    logging.getLogger("penstock").warning(
        "Compiling kernels, which takes some seconds; `penstock warm` does it beforehand."
    )


@cache
def _tell_unkept(reason: str) -> None:
    logging.getLogger("penstock").warning(
        "Compiled kernels cannot be kept in %s (%s); "
        "set NUMBA_CACHE_DIR to a directory that can be written.",
        code_directory(), reason,
    )  # fmt: skip
