"""What a user has set, by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.store.codec import fields_of, from_json, rebuilt, to_json
from marginalia.store.memory import Key
from marginalia.store.session import Change
from marginalia.values import Prompts

if TYPE_CHECKING:
    from marginalia.store.desk import Desk
    from marginalia.store.session import Session, Transaction

_PROMPTS = "prompts"


class Settings:
    """Keys with JSON values, per user; never a place for secrets."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever JSON has
        """The value of *key*, or *default*."""
        found = self._desk.database.read(lambda session: _stored(session, self._desk.user, key))
        return default if found is None else from_json(found)

    def set(self, key: str, value: object) -> None:
        """Store a value that JSON can hold; raises ``InvalidInput`` for another."""
        text = to_json(value)

        def work(transaction: Transaction) -> None:
            transaction.rows(
                "INSERT INTO setting (owner, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value",
                self._desk.user,
                key,
                text,
            )
            transaction.put(_key(self._desk.user, key), text)
            transaction.notify(self._desk.user, Change(kind="settings"))

        self._desk.database.write(work)

    def default_prompts(self) -> Prompts:
        """The prompts that the user's books fall back on."""
        return self._desk.database.read(lambda session: prompts_of(session, self._desk.user))

    def set_default_prompts(self, prompts: Prompts) -> None:
        """Replace them."""
        self.set(_PROMPTS, fields_of(prompts, without=frozenset()))


def prompts_of(session: Session, owner: str) -> Prompts:
    """The default prompts of *owner*."""
    text = _stored(session, owner, _PROMPTS)
    return Prompts() if text is None else rebuilt(Prompts, from_json(text))


def _stored(session: Session, owner: str, key: str) -> str | None:
    def load() -> str | None:
        row = session.row("SELECT value FROM setting WHERE owner = ? AND key = ?", owner, key)
        return None if row is None else str(row[0])

    return session.recall(_key(owner, key), load)


def _key(owner: str, key: str) -> Key[str | None]:
    return Key("setting", f"{owner}\0{key}")
