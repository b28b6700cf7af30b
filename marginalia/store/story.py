"""The story of a book as writers and notebooks work with it: reading branches, moving about, writing by hand."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, Unpack

from marginalia.errors import InvalidInput, NotFound
from marginalia.store.drafts import refuse_open, tell_story
from marginalia.store.edits import append_part, copy_part, delete_part, undelete_part
from marginalia.store.pages import pages_key
from marginalia.store.reading import Reading, book_id, part_id
from marginalia.store.receipts import store_receipt
from marginalia.store.revisions import Revision
from marginalia.store.rows import add_version, cleaned, home_of, pages_of, part_in, version_of
from marginalia.store.tables import BOOKS
from marginalia.story.parts import Part, count_words
from marginalia.values import Book, BookId, PartId, Turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from marginalia.prompt.receipt import Receipt
    from marginalia.store.fields import PartFields
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction

T = TypeVar("T")


class Here(Enum):
    """The type of ``HERE``: the book's active leaf."""

    HERE = "the active leaf"


HERE: Final = Here.HERE
_Here: TypeAlias = Literal[Here.HERE]


class Story(Reading):
    """The stories of one user's books. Books and parts are given as records or ids; calls are fast and thread-safe."""

    def activate(self, book: Book | BookId, part: Part | PartId | None) -> Book:
        """Make exactly this part the book's active leaf (``None``: begin before the first part)."""
        leaf = None if part is None else part_id(part)

        def work(transaction: Transaction, record: Book, pages: Pages) -> Book:
            if leaf is not None:
                pages.tree[leaf]  # raises NotFound
            return BOOKS.move(transaction, record, leaf=leaf)

        return self._write(book, work)

    def go_to(self, part: Part | PartId) -> Part:
        """Read on from a part: the end of the line of newest parts below it becomes the active leaf and is returned."""

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            leaf = pages.tree.deepest(pages.tree[number].id)
            BOOKS.move(transaction, record, leaf=leaf)
            return part_in(transaction, pages, leaf)

        return self._write_at(part, work)

    def append(
        self,
        book: Book | BookId,
        text: str,
        *,
        turn: Turn | None = None,
        parent: Part | PartId | _Here | None = HERE,
        receipt: Receipt | None = None,
        **fields: Unpack[PartFields],
    ) -> Part:
        """Add a part by hand, after the active leaf or another *parent* (``None``: a first part).

        It becomes the active leaf. Tokens and words are counted unless given, variables are the parent's unless given.
        """
        now, tokenizer = self._desk.clock(), self._desk.tokenizer
        reasoning = fields.get("reasoning", "")
        counted: PartFields = {
            "uid": self._desk.new_uid(),
            "tokens": tokenizer.count(text),
            "words": count_words(text),
            "reasoning_tokens": tokenizer.count(reasoning),
            "created": now,
        }
        place = parent if parent is None or parent is HERE else part_id(parent)
        fresh = Part(
            id=PartId(0),
            book_id=book_id(book),
            parent_id=None,
            text=text,
            turn=turn or Turn(),
            **(counted | fields),
        )

        def work(transaction: Transaction, record: Book, pages: Pages) -> Part:
            under = record.active_leaf if place is HERE else place
            inherit = "variables" not in fields
            part = append_part(transaction, pages, fresh, under, receipt=receipt, inherit=inherit, now=now)
            BOOKS.move(transaction, record, leaf=part.id)
            return part

        return self._write(book, work)

    def edit(
        self, part: Part | PartId, text: str, *, turn: Turn | None = None, reasoning: str | None = None
    ) -> Part:
        """Change a part by hand: it is counted again and marked as edited, the old text stays as a revision.

        Saving the same text again is no change. Raises ``Busy`` while the part is being written.
        """
        now, tokenizer = self._desk.clock(), self._desk.tokenizer
        tokens, words = tokenizer.count(text), count_words(text)
        thoughts = None if reasoning is None else tokenizer.count(reasoning)

        def change(before: Part) -> Part:
            after = before if turn is None else dataclasses.replace(before, turn=turn)
            if reasoning is not None and thoughts is not None:
                after = dataclasses.replace(after, reasoning=reasoning, reasoning_tokens=thoughts)
            if text != before.text:
                after = dataclasses.replace(after, text=text, tokens=tokens, words=words, edited=True)
            return after

        def work(transaction: Transaction, _record: Book, pages: Pages, number: PartId) -> Part:
            before = part_in(transaction, pages, number)
            return self._store(transaction, pages, before, cleaned(change(before)), now)

        return self._write_at(part, work)

    def restore(self, revision: Revision) -> Part:
        """Make an older text of a part its text again; the present one stays as a revision."""
        now = self._desk.clock()

        def work(transaction: Transaction, _record: Book, pages: Pages, number: PartId) -> Part:
            present, former = part_in(transaction, pages, number), version_of(transaction, revision.id).part
            if former.id != number:
                raise NotFound("That is no revision of this part.")
            names = ("text", "tokens", "words", "reasoning", "reasoning_tokens", "partial", "edited")
            back = dataclasses.replace(present, **{name: getattr(former, name) for name in names})
            return self._store(transaction, pages, present, back, now)

        return self._write_at(revision.part_id, work)

    def fork(self, part: Part | PartId) -> Part:
        """Copy a part as another version beside it, with variables, attributes and a copy of its summary.

        The active leaf does not move. Raises ``Busy`` while the part is being written.
        """
        now, uid = self._desk.clock(), self._desk.new_uid()

        def work(transaction: Transaction, _record: Book, pages: Pages, number: PartId) -> Part:
            refuse_open(pages, number)
            return copy_part(transaction, pages, number, uid=uid, now=now)

        return self._write_at(part, work)

    def delete(self, part: Part | PartId) -> None:
        """Move a part to the trash: what follows it moves up to its parent.

        If it was the active leaf, its parent is afterwards, or for a first part the newest line beside it. Raises
        ``Busy`` while the part is being written.
        """
        now = self._desk.clock()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> None:
            refuse_open(pages, number)
            delete_part(transaction, record, pages, number, now)

        self._write_at(part, work)

    def undelete(self, part: Part | PartId) -> Part:
        """Bring a part back from the trash, to its place as far as that still exists; raises ``NotFound``."""

        def work(transaction: Transaction, record: Book, pages: Pages) -> Part:
            return undelete_part(transaction, record, pages, part_id(part))

        home = self._desk.database.read(lambda session: home_of(session, part_id(part)))
        return self._write(home, work)

    def rewrite(self, part: Part, *, receipt: Receipt | None = None) -> Part:
        """Store every field of a part as it is given, place and times too; for imports, which know what they do.

        Raises ``InvalidInput`` if the part would come to stand below itself.
        """
        now = self._desk.clock()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            refuse_open(pages, number)
            if part.parent_id is not None and number in pages.tree.branch(pages.tree[part.parent_id].id):
                raise InvalidInput("A part cannot stand below itself.")
            known = version_of(transaction, pages.tree[number].text_id).receipt_id
            sent = known if receipt is None else store_receipt(transaction, record.id, number, receipt)
            stored = dataclasses.replace(cleaned(part), book_id=record.id)
            node = add_version(transaction, stored, "stored", sent, now)
            transaction.put(pages_key(record.id), pages.with_nodes(node))
            return stored

        return self._write_at(part, work)

    def _store(
        self, transaction: Transaction, pages: Pages, before: Part, after: Part, now: datetime
    ) -> Part:
        """A changed part as its newest version; nothing for one that is as it was."""
        refuse_open(pages, before.id)
        if after != before:
            receipt = version_of(transaction, pages.tree[before.id].text_id).receipt_id
            node = add_version(transaction, after, "edited", receipt, now)
            transaction.put(pages_key(before.book_id), pages.with_nodes(node))
        return after

    def _write(self, book: Book | BookId, work: Callable[[Transaction, Book, Pages], T]) -> T:
        number = book_id(book)

        def job(transaction: Transaction) -> T:
            record = BOOKS.mine(transaction, number, self._desk.user)
            result = work(transaction, record, pages_of(transaction, number))
            tell_story(transaction, number)
            return result

        return self._desk.database.write(job)

    def _write_at(self, part: Part | PartId, work: Callable[[Transaction, Book, Pages, PartId], T]) -> T:
        number = part_id(part)

        def job(transaction: Transaction) -> T:
            record = BOOKS.mine(transaction, home_of(transaction, number), self._desk.user)
            result = work(transaction, record, pages_of(transaction, record.id), number)
            tell_story(transaction, record.id)
            return result

        return self._desk.database.write(job)
