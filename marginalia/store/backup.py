"""Backups of books in the store: taken at one moment, put back in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.errors import Busy
from marginalia.store.backup_lore import entry_numbers, link_lore
from marginalia.store.backup_read import read_backup
from marginalia.store.backup_write import clear_story, write_story
from marginalia.store.codec import rebuilt
from marginalia.store.drafts import tell_story
from marginalia.store.rows import pages_of
from marginalia.store.session import Change
from marginalia.store.tables import BOOKS, PROTOCOLS, PROVIDERS, changed
from marginalia.values import Book, BookId, ProtocolId, ProviderId, untold

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.store.backup_check import Checked
    from marginalia.store.backup_records import BookBackup, NamedRow
    from marginalia.store.desk import Desk
    from marginalia.store.pages import Pages
    from marginalia.store.session import ChangeKind, Session, Transaction
    from marginalia.store.tables import R, Table
    from marginalia.values import Progress


class Backups:
    """Takes and restores the books of one user."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def take(self, book: Book | BookId) -> BookBackup:
        """The book with everything in it; raises ``NotFound``. What is just being written counts as stopped."""
        number = _number(book)
        return self._desk.database.read(
            lambda session: read_backup(session, number, self._desk.user, self._desk.tokenizer)
        )

    def apply(
        self,
        book: Book | BookId,
        checked: Checked,
        *,
        story_only: bool = False,
        kept: BookBackup | None = None,
        progress: Progress = untold,
    ) -> Book:
        """Put the story of a backup in the place of a book's, and with it all else unless *story_only*.

        All of it or nothing. Provider and protocol are linked by uid, then by name among the user's own, else they stay
        (spec/semantics.md, B1 105). *kept* is a backup of the book as it stands; where the story went on since, nothing
        is replaced. *progress* is told how far it is; what it raises leaves everything as it was. Raises ``NotFound``,
        or ``Busy`` while the book is being written to and where it went on.
        """
        number, backup, now = _number(book), checked.backup, self._desk.clock()

        def work(transaction: Transaction) -> Book:
            record = BOOKS.mine(transaction, number, self._desk.user)
            pages = pages_of(transaction, number)
            if kept is not None and not _still_as(transaction, record, pages, kept):
                raise Busy(
                    "This book was changed at the same moment, perhaps in another window, so nothing was replaced. "
                    "Look at it, and restore it again if you still want to."
                )
            if pages.drafts:
                raise Busy(
                    "This book is being written to just now. Wait until it is done, or stop the generation first."
                )
            if not story_only:
                record = BOOKS.update(transaction, self._restored(transaction, record, backup, now), now)
            progress(0.1)
            clear_story(transaction, number)
            return self._fill(transaction, record, backup, keep_variables=story_only, progress=progress)

        return self._desk.database.write(work)

    def plant(self, checked: Checked, *, name: str | None = None, progress: Progress = untold) -> Book:
        """A new book from a backup, all of it or nothing; identifiers are kept where they are free.

        *progress* is told how far it is; what it raises leaves everything as it was.
        """
        backup, now = checked.backup, self._desk.clock()

        def work(transaction: Transaction) -> Book:
            taken = transaction.row("SELECT 1 FROM book WHERE uid = ? LIMIT 1", backup.book.uid)
            uid = self._desk.new_uid() if taken or not backup.book.uid else backup.book.uid
            fresh = Book(uid=uid, owner=self._desk.user, created=backup.book.created)
            book = self._restored(transaction, fresh, backup, now)
            record = BOOKS.insert(transaction, changed(book, name=name or backup.book.name), now)
            return self._fill(transaction, record, backup, keep_variables=False, progress=progress)

        return self._desk.database.write(work)

    def links(self, backup: BookBackup) -> tuple[str, ...]:
        """What of provider and protocol would not be found here, and what comes of it, in sentences."""

        def work(session: Session) -> tuple[str, ...]:
            missing: list[str] = []
            if backup.provider and self._linked(session, PROVIDERS, backup.provider) is None:
                address = backup.provider.settings.get("base_url", "the model that comes with Marginalia")
                missing.append(
                    f"There is no model connection “{backup.provider.name}” here. A book that has one keeps its own; "
                    f"a new one gets it from the backup, without its key: {address}. Look at it before you write."
                )
            if backup.protocol and self._linked(session, PROTOCOLS, backup.protocol) is None:
                missing.append(
                    f"There is no protocol “{backup.protocol.name}” here. A book that has one keeps its own; "
                    "a new one gets it from the backup."
                )
            return tuple(missing)

        return self._desk.database.read(work)

    def _restored(self, transaction: Transaction, record: Book, backup: BookBackup, now: datetime) -> Book:
        """The settings of *backup* on *record*, linked to what this user has."""
        provider, protocol = record.provider_id, record.protocol_id
        if backup.provider is not None:
            found = self._linked(transaction, PROVIDERS, backup.provider)
            if found is None and provider is None:
                found = self._made(transaction, PROVIDERS, backup.provider, now)
            provider = provider if found is None else ProviderId(found.id)
        if backup.protocol is not None:
            known = self._linked(transaction, PROTOCOLS, backup.protocol)
            if known is None and protocol is None:
                known = self._made(transaction, PROTOCOLS, backup.protocol, now)
            protocol = protocol if known is None else ProtocolId(known.id)
        lorebook = link_lore(transaction, backup, owner=self._desk.user, new_uid=self._desk.new_uid, now=now)
        return rebuilt(
            Book,
            backup.book.settings,
            id=record.id,
            uid=record.uid,
            owner=record.owner,
            name=backup.book.name,
            provider_id=provider,
            protocol_id=protocol,
            lorebook_id=lorebook,
            active_leaf=record.active_leaf,
            global_variables=record.global_variables,
            created=record.created,
            updated=record.updated,
        )

    def _fill(
        self,
        transaction: Transaction,
        record: Book,
        backup: BookBackup,
        *,
        keep_variables: bool,
        progress: Progress,
    ) -> Book:
        entries = entry_numbers(transaction, backup, self._desk.user)
        leaf = write_story(
            transaction, record.id, backup, new_uid=self._desk.new_uid, entries=entries, progress=progress
        )
        variables = record.global_variables if keep_variables else backup.book.variables
        moved = BOOKS.move(transaction, record, leaf=leaf, shared=dict(variables))
        tell_story(transaction, record.id)
        transaction.notify(self._desk.user, Change(kind="book", book_id=record.id))
        return moved

    def _linked(self, session: Session, table: Table[R], row: NamedRow) -> R | None:
        """The user's own record with that uid, else the oldest with that name, whatever its case."""
        mine = table.of_owner(session, self._desk.user)
        named = (each for each in mine if each.name.casefold() == row.name.strip().casefold())
        return next((each for each in mine if row.uid and each.uid == row.uid), next(named, None))

    def _made(self, transaction: Transaction, table: Table[R], row: NamedRow, now: datetime) -> R:
        taken = transaction.row(f"SELECT 1 FROM {table.name} WHERE uid = ? LIMIT 1", row.uid)  # noqa: S608 - names of ours
        uid = self._desk.new_uid() if taken or not row.uid else row.uid
        fields = {"owner": self._desk.user, "uid": uid, "name": row.name, "created": row.created}
        kind: ChangeKind = table.name
        transaction.notify(self._desk.user, Change(kind=kind))
        return table.insert(transaction, rebuilt(table.cls, row.settings, **fields), now)


def _still_as(session: Session, record: Book, pages: Pages, kept: BookBackup) -> bool:
    """Whether the story has no text, part, summary or place that *kept* has not, and none less."""
    row = session.row("SELECT coalesce(max(id), 0) FROM part_text WHERE book_id = ?", record.id)
    return (
        row == (max((version.id for version in kept.versions), default=0),)
        and len(pages.tree) == len(kept.living)
        and set(pages.summaries) == {summary.id for summary in kept.summaries}
        and record.active_leaf == kept.book.active_part
    )


def _number(book: Book | BookId) -> BookId:
    return book.id if isinstance(book, Book) else book
