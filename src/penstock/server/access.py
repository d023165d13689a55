"""Access: who may read and register over HTTP, as files of a home.

An access token is a random text that is shown once. Its file holds a digest, so that who reads the
home cannot use it; revoking it removes the file.

```
server/tokens/1f0c77ab.json          scopes, expiry, limits, and the digest of the secret
```
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex, token_urlsafe
from time import time

from penstock.storage.disk import make_directory, remove
from penstock.storage.files import read_json, write_json
from penstock.storage.seals import sealed, unsealed
from penstock.vocabulary.errors import PenstockError

DIRECTORY = "server/tokens"
READ, REGISTER = "read", "register"
ALL = (READ, REGISTER)
ONE = f"{READ}:"
"""What begins the scope that reads one subscription or view: its name follows."""
WRITTEN = re.compile(r"penstock_([0-9a-f]{8})_([\w-]{43})")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """What a token may do: `read`, `read:NAME`, `register`; until when, and how much."""

    id: str
    digest: str
    scopes: tuple[str, ...]
    expires_s: float | None = None
    rows_per_second: int | None = None
    connections: int | None = None

    def may_read(self, name: str) -> bool:
        """Say whether it reads a subscription or a view."""
        return READ in self.scopes or f"{ONE}{name}" in self.scopes

    def needs(self, scope: str) -> None:
        """Refuse unless it has a scope, or one that holds it."""
        if scope in self.scopes or (scope.startswith(ONE) and READ in self.scopes):
            return
        raise PenstockError(
            "SRV-005",
            f"The access token {self.id} has not the scope {scope!r}.",
            f"Use a token with that scope: `penstock token create HOME --scope {scope}`.",
        )


class AccessTokens:
    """The access tokens of a home."""

    def __init__(self, home: Path, clock: Callable[[], float] = time) -> None:
        self._root, self._clock = home / DIRECTORY, clock

    @property
    def are_new(self) -> bool:
        """Whether nobody ever made one."""
        return not self._root.is_dir()

    def create(
        self,
        scopes: Iterable[str],
        lifetime_s: float | None = None,
        rows_per_second: int | None = None,
        connections: int | None = None,
    ) -> tuple[str, AccessToken]:
        """Make a token; gives its text, which is kept nowhere, and what is kept."""
        known = tuple(dict.fromkeys(scopes))
        bad = [each for each in known if each not in ALL and not each.removeprefix(ONE)]
        bad += [each for each in known if each not in ALL and not each.startswith(ONE)]
        if bad or not known:
            raise PenstockError(
                "SRV-015",
                f"{', '.join(map(repr, bad)) or 'Nothing'} is no scope of an access token.",
                "Scopes are `read`, `read:NAME` of one subscription or view, and `register`.",
            )
        secret = token_urlsafe(32)
        token = AccessToken(
            id=token_hex(4),
            digest=_digest(secret),
            scopes=known,
            expires_s=None if lifetime_s is None else self._clock() + lifetime_s,
            rows_per_second=rows_per_second,
            connections=connections,
        )
        make_directory(self._root)
        write_json(self._path(token.id), sealed(asdict(token)))
        return f"penstock_{token.id}_{secret}", token

    def every(self) -> list[AccessToken]:
        """List all, also those that are expired."""
        return [self._read(path) for path in sorted(self._root.glob("*.json"))]

    def revoke(self, id_: str) -> None:
        """Let a token be nobody's any more."""
        path = self._path(id_)
        if not re.fullmatch("[0-9a-f]{8}", id_) or not path.exists():
            raise PenstockError(
                "SRV-016", f"There is no access token {id_!r}.", "See `penstock token list HOME`."
            )
        remove(path)

    def admitted(self, text: str | None) -> AccessToken:
        """Give the token that a text is, or refuse."""
        if not text:
            raise PenstockError(
                "SRV-002",
                "The request has no access token.",
                "Send `Authorization: Bearer TOKEN`; `penstock token create HOME` makes one.",
            )
        found = WRITTEN.fullmatch(text)
        token = None if found is None else self.of_id(found[1])
        # Compared in constant time, so that nobody learns how much of a guess was right.
        if found is None or token is None or not _is_secret(token, found[2]):
            raise PenstockError(
                "SRV-003",
                "The access token is not one of this home, or was revoked.",
                "Use one that `penstock token list HOME` shows, or make another.",
            )
        self.refuse_expired(token)
        return token

    def refuse_expired(self, token: AccessToken) -> None:
        """Refuse a token whose time is over."""
        if token.expires_s is not None and self._clock() >= token.expires_s:
            raise PenstockError(
                "SRV-004",
                f"The access token {token.id} has expired.",
                "Make another: `penstock token create HOME`.",
            )

    def of_id(self, id_: str) -> AccessToken | None:
        """Give a token, or None if there is none, or none any more."""
        path = self._path(id_)
        return self._read(path) if path.exists() else None

    def _path(self, id_: str) -> Path:
        return self._root / f"{id_}.json"

    def _read(self, path: Path) -> AccessToken:
        try:
            facts = unsealed(read_json(path))
            if facts["id"] != path.stem:
                raise ValueError("it is of another token")
            return AccessToken(**{**facts, "scopes": tuple(facts["scopes"])})
        except (ValueError, KeyError, TypeError, OSError):
            raise PenstockError(
                "SRV-017",
                f"The file {path} of an access token cannot be read.",
                "Revoke that token by removing the file, and make another.",
            ) from None


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _is_secret(token: AccessToken, secret: str) -> bool:
    return hmac.compare_digest(token.digest, _digest(secret))
