"""API keys, kept outside the database: in the environment, in the system's keyring, or in a file of their own.

A provider holds only a reference. ``env:NAME`` is the environment variable of that name; ``keyring:NAME`` is an item of
the keyring (the ``keyring`` package, if it is installed); any other reference is an item of ``keys.sealed``, which is
encrypted and which only its owner may read (:mod:`.sealing`). A key is never part of a value that is shown, logged,
exported or stored with a story.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

from marginalia.errors import InvalidInput
from marginalia.inference.sealing import Vault

_ENVIRONMENT = "env:"
_KEYRING = "keyring:"
_SERVICE = "marginalia"


class _Keyring(Protocol):
    """What is used of the optional package of that name."""

    def get_password(self, service: str, name: str) -> str | None: ...
    def set_password(self, service: str, name: str, password: str) -> None: ...
    def delete_password(self, service: str, name: str) -> None: ...


class KeyStore:
    """The keys of this machine's user, in *folder* and in the environment. Its text form shows no key."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        own_only: bool = False,
    ) -> None:
        self._vault = None if folder is None else Vault(folder, environment)
        self._environment = environment
        self._own_only = own_only
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"KeyStore({str(self._vault.path) if self._vault else 'no folder'!r})"

    def get(self, reference: str) -> str | None:
        """The key that *reference* names; ``None`` when nobody has it, and for the empty reference."""
        self._refuse_foreign(reference)
        if reference.startswith(_ENVIRONMENT):
            return self._environment.get(reference.removeprefix(_ENVIRONMENT), "").strip() or None
        if reference.startswith(_KEYRING):
            return (_keyring().get_password(_SERVICE, reference.removeprefix(_KEYRING)) or "").strip() or None
        return self._read().get(reference) if reference else None

    def set(self, reference: str, key: str) -> None:
        """Keep *key* under *reference*; raises :class:`InvalidInput` where that cannot be."""
        if not reference:
            raise InvalidInput("A key needs a name to be kept under.")
        self._refuse_foreign(reference)
        if reference.startswith(_ENVIRONMENT):
            raise InvalidInput(
                f"{reference} is an environment variable: set it where the app is started, not here."
            )
        key = key.strip()
        if not key or not key.isascii() or any(character.isspace() for character in key):
            raise InvalidInput("An API key has only plain characters and no spaces; copy it again.")
        if reference.startswith(_KEYRING):
            _keyring().set_password(_SERVICE, reference.removeprefix(_KEYRING), key)
        else:
            self._change(reference, key)

    def forget(self, reference: str) -> None:
        """Remove the key under *reference*; does nothing when there is none."""
        self._refuse_foreign(reference)
        if reference.startswith(_KEYRING):
            keyring = _keyring()
            if keyring.get_password(_SERVICE, reference.removeprefix(_KEYRING)) is not None:
                keyring.delete_password(_SERVICE, reference.removeprefix(_KEYRING))
        elif reference and not reference.startswith(_ENVIRONMENT):
            self._change(reference, None)

    def _refuse_foreign(self, reference: str) -> None:
        """Guests of a server must not reach the machine's own keys: they go to addresses that guests choose."""
        if self._own_only and reference.startswith((_ENVIRONMENT, _KEYRING)):
            raise InvalidInput(
                f"{reference} belongs to the server, not to you: enter the key itself, it is kept under your name."
            )

    def _read(self) -> dict[str, str]:
        if self._vault is None:
            return {}
        with self._lock:
            return self._vault.read()

    def _change(self, reference: str, key: str | None) -> None:
        if self._vault is None:
            raise InvalidInput(
                "Nothing is kept here, so no key can be; use an environment variable (env:NAME)."
            )
        with self._lock:
            keys = self._vault.read()
            if key is None and reference not in keys:
                return
            if key is None:
                del keys[reference]
            else:
                keys[reference] = key
            self._vault.write(keys)


def _keyring() -> _Keyring:
    if find_spec("keyring") is None:
        raise InvalidInput("The keyring package is not installed: install it, or keep the key elsewhere.")
    return cast("_Keyring", import_module("keyring"))
