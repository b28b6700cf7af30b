"""What the studios of all users of one database stand on: the file, the clock, the dice, the bundled model."""

from __future__ import annotations

import os
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from threading import Event, Lock
from typing import Self

from marginalia.inference import KeyStore, LocalModel, Models, TiktokenTokenizer
from marginalia.prompt.tokens import CachedTokenizer, Tokenizer
from marginalia.store import Store, database_path
from marginalia.studio import learning
from marginalia.studio.counting import VARIABLE as EXACT_COUNTS
from marginalia.studio.counting import Counting
from marginalia.studio.limits import HouseRules
from marginalia.values import BookId

IN_MEMORY = ":memory:"
OWN_KEYS = "users"


class Dice:
    """Where ids and seeds come from: from *seed* they are the same every time, without one nobody can guess them."""

    def __init__(self, seed: int | None) -> None:
        self._random = Random(seed) if seed is not None else None  # noqa: S311 - a seed is asked for in tests
        self._seeds: dict[BookId, int] = {}
        self._lock = Lock()

    def new_uid(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self._bits(128), version=4))

    def seed_of(self, book: BookId, *, used: bool) -> int:
        """The seed of a book's next turn: previews see the dice that the generation will throw."""
        with self._lock:
            seed = self._seeds.get(book)
            if seed is None:
                seed = self._seeds[book] = self._bits(48)
            if used:
                del self._seeds[book]
            return seed

    def _bits(self, number: int) -> int:
        return self._random.getrandbits(number) if self._random else secrets.randbits(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """One database and what goes with it. ``store`` is that of the user who opened it; others get theirs beside it.

    ``counted_by_caller`` tells that the tokenizer was given and counts everything. ``shared`` is set once there is a
    second user: from then on nobody's templates may hold up the others.
    """

    path: Path | str
    user: str
    clock: Callable[[], datetime]
    dice: Dice
    tokenizer: CachedTokenizer
    store: Store
    local: LocalModel
    rules: HouseRules
    home: bool = field(default=False)
    counted_by_caller: bool = False
    shared: Event = field(default_factory=Event)

    @classmethod
    def open(
        cls,
        path: Path | str | None,
        *,
        user: str,
        tokenizer: Tokenizer | None,
        clock: Callable[[], datetime] | None,
        seed: int | None,
        rules: HouseRules | None = None,
    ) -> Self:
        """Open the database at *path*, or the one in the user's home; raises ``StoreError`` with a plain sentence.

        Without *rules* those of the environment hold.
        """
        rules = rules or HouseRules.from_environment(os.environ)
        where = database_path() if path is None else path
        dice, now = Dice(seed), clock or _now
        counting = CachedTokenizer(tokenizer or TiktokenTokenizer())
        store = Store.open(where, user=user, clock=now, tokenizer=counting, new_uid=dice.new_uid)
        local = LocalModel(None if where == IN_MEMORY else Path(where).parent)
        return cls(
            path=where,
            user=user,
            clock=now,
            dice=dice,
            tokenizer=counting,
            store=store,
            local=local,
            rules=rules,
            home=path is None,
            counted_by_caller=tokenizer is not None,
        )

    @property
    def folder(self) -> Path | None:
        """The folder of the database; ``None`` in memory."""
        return None if self.path == IN_MEMORY else Path(self.path).parent

    def models(self, store: Store, keys: KeyStore) -> Models:
        """The models of a user, with what their servers were found to want."""
        return Models(
            self.folder,
            keys=keys,
            local=self.local,
            hosts=self.rules.hosts,
            learned=learning.learned(store),
            keep=partial(learning.keep, store),
        )

    def counting(self, store: Store, models: Models) -> Counting:
        """How the prompts of a user are counted."""
        ask = os.environ.get(EXACT_COUNTS, "").strip().lower() != "no"
        return Counting(store, models, self.tokenizer, self.folder, off=self.counted_by_caller, ask=ask)

    def store_of(self, user: str) -> Store:
        """The things of *user* in this database."""
        return self.store if user == self.user else self.store.for_user(user)

    def keys_of(self, user: str) -> KeyStore:
        """The keys of *user*: the owner's may come from the machine's environment, a guest's only from a file."""
        if user == self.user or self.folder is None:
            return KeyStore(self.folder)
        return KeyStore(self.folder / OWN_KEYS / uuid.uuid5(uuid.NAMESPACE_OID, user).hex, own_only=True)


def _now() -> datetime:
    return datetime.now().astimezone()
