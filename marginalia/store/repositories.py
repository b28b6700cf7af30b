"""Books, providers and protocols."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Unpack

from marginalia.errors import Busy, InvalidInput
from marginalia.store.repository import Repository, optional_id
from marginalia.store.rows import pages_of
from marginalia.store.session import Change
from marginalia.store.tables import BOOKS, LOREBOOKS, PROTOCOLS, PROVIDERS
from marginalia.values import (
    NOTHING,
    Book,
    BookId,
    LorebookId,
    Prompts,
    Protocol,
    ProtocolId,
    Provider,
    ProviderId,
    Sampling,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from marginalia.lore.book import Lorebook
    from marginalia.store.desk import Desk
    from marginalia.store.fields import PromptFields, ProviderFields
    from marginalia.store.session import Session, Transaction


class Books(Repository[Book]):
    """The books of one user.

    ``save`` writes what a user edits; active leaf and shared variables move with the story.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, BOOKS)

    def create(
        self,
        *,
        name: str,
        description: str = "",
        tags: Iterable[str] = (),
        provider: Provider | int | None = None,
        protocol: Protocol | int | None = None,
        lorebook: Lorebook | int | None = None,
        prompts: Prompts | None = None,
        global_variables: Mapping[str, str] = NOTHING,
        settings: Mapping[str, Any] = NOTHING,
        uid: str = "",
        created: datetime | None = None,
        **texts: Unpack[PromptFields],
    ) -> Book:
        """A new book. References are records or ids; prompts come as a whole, one by one, or both.

        Raises ``InvalidInput`` for a blank name, ``NotFound`` for a reference to nothing.
        """
        record = Book(
            uid=uid,
            name=name,
            description=description,
            tags=tuple(tags),
            provider_id=_provider(provider),
            protocol_id=_protocol(protocol),
            lorebook_id=_lorebook(lorebook),
            prompts=dataclasses.replace(prompts or Prompts(), **texts),
            settings=settings,
            created=created or self._desk.clock(),
        )
        book = self._add(record)
        return self.set_variables(book, global_variables) if global_variables else book

    def set_variables(self, book: Book | BookId, variables: Mapping[str, str]) -> Book:
        """Replace the shared template variables of a book."""
        number = book.id if isinstance(book, Book) else book

        def work(transaction: Transaction) -> Book:
            known = BOOKS.mine(transaction, number, self._desk.user)
            moved = BOOKS.move(transaction, known, leaf=known.active_leaf, shared=variables)
            self._announce(transaction, moved)
            return moved

        return self._desk.database.write(work)

    def _check(self, session: Session, record: Book, known: Book | None) -> None:
        # What is deleted may still be referred to, so only a reference that is new has to lead somewhere.
        old = known or Book()
        user = self._desk.user
        if record.provider_id is not None and record.provider_id != old.provider_id:
            PROVIDERS.mine(session, record.provider_id, user)
        if record.protocol_id is not None and record.protocol_id != old.protocol_id:
            PROTOCOLS.mine(session, record.protocol_id, user)
        if record.lorebook_id is not None and record.lorebook_id != old.lorebook_id:
            LOREBOOKS.mine(session, record.lorebook_id, user)

    def _let_go(self, session: Session, record: Book) -> None:
        if pages_of(session, record.id).drafts:
            raise Busy(
                "This book is being written just now. Wait until it is done, or stop the generation first."
            )

    def _announce(self, transaction: Transaction, record: Book) -> None:
        transaction.notify(self._desk.user, Change(kind="book", book_id=record.id))


class Providers(Repository[Provider]):
    """Where models are. Only the name of an API key's place is stored, never the key."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, PROVIDERS)

    def create(
        self, *, name: str, uid: str = "", created: datetime | None = None, **fields: Unpack[ProviderFields]
    ) -> Provider:
        """A new provider, from any field of ``Provider``; raises ``InvalidInput`` for what cannot be."""
        return self._add(Provider(name=name, uid=uid, created=created or self._desk.clock(), **fields))

    def _tidied(self, record: Provider) -> Provider:
        for label, number in (("context", record.max_context), ("response", record.max_response)):
            if number is not None and number < 0:
                raise InvalidInput(f"The {label} of a provider is a number of tokens, not {number}.")
        return super()._tidied(record)


class Protocols(Repository[Protocol]):
    """How models are asked."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, PROTOCOLS)

    def create(
        self,
        *,
        name: str,
        temperature: float | None = None,
        top_p: float | None = None,
        frequency_penalty: float | None = None,
        presence_penalty: float | None = None,
        sampling: Sampling | None = None,
        max_tokens: int | None = None,
        reply_tokens: int | None = None,
        settings: Mapping[str, Any] = NOTHING,
        uid: str = "",
        created: datetime | None = None,
    ) -> Protocol:
        """A new protocol; a setting that is left out is not sent. ``sampling`` stands for the four single ones."""
        chosen = sampling or Sampling(
            temperature=temperature,
            top_p=top_p,
            frequency_penalty=frequency_penalty,
            presence_penalty=presence_penalty,
        )
        return self._add(
            Protocol(
                uid=uid,
                name=name,
                sampling=chosen,
                max_tokens=max_tokens,
                reply_tokens=reply_tokens,
                settings=settings,
                created=created or self._desk.clock(),
            )
        )


def _provider(record: Provider | int | None) -> ProviderId | None:
    number = optional_id(record)
    return None if number is None else ProviderId(number)


def _protocol(record: Protocol | int | None) -> ProtocolId | None:
    number = optional_id(record)
    return None if number is None else ProtocolId(number)


def _lorebook(record: Lorebook | int | None) -> LorebookId | None:
    number = optional_id(record)
    return None if number is None else LorebookId(number)
