"""Who may sign in: a JSON file of names, each with the scrypt hash of a password."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from marginalia.errors import InvalidInput
from marginalia.store.files import write_whole

_SIGN = "scrypt"
_COST, _BLOCK, _LANES = 15, 8, 1  # 32 MiB and about 80 ms for one guess
_MEMORY = 96 << 20
_SHORTEST = 8


class People:
    """The names and hashes in *file*, read anew whenever it changes.

    Files of names and passwords in clear, as Panel has them, are read too. Raises ``InvalidInput`` for a file that is
    no list of people.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read: tuple[tuple[int, int], Mapping[str, str]] | None = None

    def names(self) -> tuple[str, ...]:
        """Who may sign in."""
        return tuple(self._known())

    def knows(self, name: str) -> bool:
        """Whether *name* may be signed in at this moment."""
        return name in self._known()

    def mark(self, name: str, secret: str) -> str:
        """Something that changes with the password of *name*, and tells nothing of it without the *secret*."""
        return hmac.digest(secret.encode(), self._known().get(name, "").encode(), "sha256").hex()

    def in_clear(self) -> tuple[str, ...]:
        """Whose passwords stand in the file as they are."""
        return tuple(name for name, kept in self._known().items() if not kept.startswith(f"{_SIGN}:"))

    def check(self, name: str, password: str) -> bool:
        """Whether that is the password of *name*; takes as long for a name that nobody has."""
        kept = self._known().get(name)
        return _matches(password, kept if kept is not None else _NOBODY) and kept is not None

    def add(self, name: str, password: str) -> None:
        """Let *name* sign in with *password*, or change it; raises ``InvalidInput`` for a bad name or password."""
        if not name.strip() or name != name.strip() or not name.isprintable():
            raise InvalidInput(
                "A name needs at least one letter, and neither blanks around it nor line breaks."
            )
        if len(password) < _SHORTEST:
            raise InvalidInput(f"A password needs at least {_SHORTEST} characters.")
        known = dict(self._known()) if self.file.exists() else {}
        self._write(known | {name: hashed(password)})

    def remove(self, name: str) -> None:
        """Let *name* in no longer; the books stay. Raises ``InvalidInput`` where nobody is called so."""
        known = dict(self._known())
        if name not in known:
            raise InvalidInput(f"Nobody called “{name}” can sign in. {_listed(known)}")
        del known[name]
        self._write(known)

    def _known(self) -> Mapping[str, str]:
        try:
            now = self.file.stat()
            stamp = (now.st_mtime_ns, now.st_size)
            if self._read is None or self._read[0] != stamp:
                self._read = (stamp, self._checked(json.loads(self.file.read_text("utf-8"))))
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"{self.file} cannot be read as a list of people: {error}. Make it with: marginalia user add NAME"
            ) from error
        return self._read[1]

    def _checked(self, people: object) -> Mapping[str, str]:
        if not isinstance(people, dict) or not all(
            isinstance(text, str) and text
            for pair in cast("dict[object, object]", people).items()
            for text in pair
        ):
            raise InvalidInput(
                f"{self.file} has to be a JSON object of names and passwords; marginalia user add NAME writes one."
            )
        return cast("dict[str, str]", people)

    def _write(self, people: Mapping[str, str]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(people, indent=2, ensure_ascii=True) + "\n"
        write_whole(self.file, text.encode(), private=True)


def hashed(password: str) -> str:
    """What is kept of a password: it can be checked, and not be read."""
    salt = secrets.token_bytes(16)
    return f"{_SIGN}:{_COST}:{_BLOCK}:{_LANES}:{salt.hex()}:{_scrypt(password, salt, _COST, _BLOCK, _LANES).hex()}"


def _matches(password: str, kept: str) -> bool:
    if not kept.startswith(f"{_SIGN}:"):
        return hmac.compare_digest(password.encode(), kept.encode())
    try:
        _, cost, block, lanes, salt, digest = kept.split(":")
        found = _scrypt(password, bytes.fromhex(salt), int(cost), int(block), int(lanes))
        return hmac.compare_digest(found, bytes.fromhex(digest))
    except (ValueError, OverflowError, TypeError):  # a hash that was cut or edited lets nobody in
        return False


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=1 << cost, r=block, p=lanes, maxmem=_MEMORY, dklen=32
    )


def _listed(known: Mapping[str, str]) -> str:
    return f"These can: {', '.join(known)}." if known else "Nobody can yet."


_NOBODY = f"{_SIGN}:{_COST}:{_BLOCK}:{_LANES}:{'00' * 16}:{'00' * 32}"
