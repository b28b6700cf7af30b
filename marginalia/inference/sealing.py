"""The file of API keys: encrypted, with a passphrase from the environment or with a key that only this machine has.

With ``MARGINALIA_KEYS_PASSPHRASE`` set, the file is worth nothing without the passphrase, also to somebody who has the
whole folder. Without it the key to the file lies beside it in ``keys.secret``, readable by its owner alone: that
protects the keys where one of the two files goes elsewhere by itself (an upload, a search, a look over the shoulder),
and not from a program that runs as the same user, nor from a copy of the whole folder.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

import msgspec

from marginalia.errors import InvalidInput

T = TypeVar("T")
VARIABLE = "MARGINALIA_KEYS_PASSPHRASE"
_PLAIN, _SEALED, _SECRET = "keys.json", "keys.sealed", "keys.secret"
_BY_PASSPHRASE, _BY_FILE = "passphrase", "file"
_SALT_BYTES = 16
# scrypt with 16 MB and 45 ms (measured) for each guess at a passphrase; once per file for whoever knows it.
_SCRYPT_COST, _SCRYPT_BLOCK, _SCRYPT_LANES = 2**14, 8, 1


class _Sealed(msgspec.Struct):
    """What stands in the file: the encrypted keys, and what opens them."""

    by: str
    salt: str
    keys: str


class Vault:
    """The keys in *folder*, by their names. Keys that an earlier version kept as plain text are sealed when read."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.path = folder / _SEALED
        self._plain, self._secret = folder / _PLAIN, folder / _SECRET
        self._environment = environment
        self._derived: dict[tuple[str, str], bytes] = {}

    def read(self) -> dict[str, str]:
        """All keys; raises :class:`InvalidInput` with what to do when they cannot be opened. Nothing is lost then."""
        sealed, plain = self._sealed(), self._old()
        keys = {} if sealed is None else self._opened(sealed)
        outdated = sealed is not None and sealed.by == _BY_FILE and bool(self._passphrase)
        if plain is None and not outdated:
            return keys
        keys |= plain or {}
        with suppress(OSError):  # a folder that cannot be written to still has its keys
            self.write(keys)
        return keys

    def write(self, keys: Mapping[str, str]) -> None:
        """Keep *keys* in place of what was kept; either the old ones or the new ones are there afterwards."""
        passphrase, salt = self._passphrase, ""
        if passphrase:
            salt = self._salt()
            key, by = self._key_from(passphrase, salt), _BY_PASSPHRASE
        else:
            key, by = self._machine_key(), _BY_FILE
        sealed = _Sealed(by=by, salt=salt, keys=_encrypted(key, json.dumps(dict(keys)).encode()))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _replace(self.path, msgspec.json.encode(sealed))
        self._plain.unlink(missing_ok=True)
        if by == _BY_PASSPHRASE:
            self._secret.unlink(missing_ok=True)

    @property
    def _passphrase(self) -> str:
        return self._environment.get(VARIABLE, "").strip()

    def _salt(self) -> str:
        """The salt of the file as it is, so that its key needs no second derivation; a new one for a new file."""
        sealed = self._sealed()
        if sealed is not None and sealed.by == _BY_PASSPHRASE:
            return sealed.salt
        return base64.b64encode(secrets.token_bytes(_SALT_BYTES)).decode()

    def _old(self) -> dict[str, str] | None:
        return _decoded(self._plain, dict[str, str])

    def _sealed(self) -> _Sealed | None:
        return _decoded(self.path, _Sealed)

    def _opened(self, sealed: _Sealed) -> dict[str, str]:
        if sealed.by == _BY_PASSPHRASE:
            if not self._passphrase:
                raise InvalidInput(
                    f"The API keys in {self.path} are sealed with a passphrase. Start Marginalia with {VARIABLE} set "
                    "to it. Nothing is lost."
                )
            key = self._key_from(self._passphrase, sealed.salt)
            closed = f"The passphrase in {VARIABLE} does not open {self.path}. Set the one that it was sealed with."
        else:
            key = self._read_secret()
            closed = f"{self._secret} does not open {self.path}. Put back the file that belongs to it."
        found = _decrypted(key, sealed.keys) if key else None
        if found is None:
            raise InvalidInput(f"{closed} Nothing is lost; to begin anew, remove {self.path.name}.")
        return msgspec.json.decode(found, type=dict[str, str])

    def _key_from(self, passphrase: str, salt: str) -> bytes:
        known = self._derived.get((passphrase, salt))
        if known is None:
            known = self._derived[passphrase, salt] = _derived(passphrase, salt)
        return known

    def _machine_key(self) -> bytes:
        if not self._secret.exists():
            self._secret.parent.mkdir(parents=True, exist_ok=True)
            _replace(self._secret, base64.urlsafe_b64encode(secrets.token_bytes(32)))
        return self._read_secret()

    def _read_secret(self) -> bytes:
        try:
            return self._secret.read_bytes().strip()
        except FileNotFoundError:
            return b""


def _decoded(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError:
        raise InvalidInput(
            f"The key file {path} cannot be read; remove it and enter the keys again."
        ) from None


def _replace(path: Path, content: bytes) -> None:
    # The temporary file is born with mode 0600, and renaming it keeps either the old content or the new one whole.
    with NamedTemporaryFile("wb", dir=path.parent, prefix=".keys-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise
    Path(file.name).replace(path)


def _derived(passphrase: str, salt: str) -> bytes:
    # A slow import that most programs never need.
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt  # noqa: PLC0415

    kdf = Scrypt(salt=base64.b64decode(salt), length=32, n=_SCRYPT_COST, r=_SCRYPT_BLOCK, p=_SCRYPT_LANES)
    return base64.urlsafe_b64encode(kdf.derive(passphrase.encode()))


def _encrypted(key: bytes, content: bytes) -> str:
    from cryptography.fernet import Fernet  # noqa: PLC0415 - the same

    return Fernet(key).encrypt(content).decode()


def _decrypted(key: bytes, token: str) -> bytes | None:
    """The content; ``None`` when *key* is not the one, or the token was changed."""
    from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415 - the same

    try:
        return Fernet(key).decrypt(token.encode())
    except (InvalidToken, ValueError):
        return None
