"""What every part of the store works with: the database, whose it is, and where times, counts and ids come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from marginalia.prompt.tokens import Tokenizer
    from marginalia.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One user's place at a database."""

    database: Database
    user: str
    clock: Callable[[], datetime]
    tokenizer: Tokenizer
    new_uid: Callable[[], str]
