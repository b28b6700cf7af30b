"""The story of a book as writers and notebooks work with it: reading branches, moving about, writing by hand."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, Unpack

from marginalia.errors import NotFound
from marginalia.store.drafts import refuse_open
from marginalia.store.edits import append_part, copy_part, delete_part, refuse_loop, undelete_part
from marginalia.store.joining import Making, merge_part, split_part
from marginalia.store.pages import pages_key
from marginalia.store.reading import book_id, part_id
from marginalia.store.receipts import store_receipt
from marginalia.store.revisions import Revision
from marginalia.store.rows import add_version, cleaned, home_of, part_in, version_of, write_node
from marginalia.store.session import storable
from marginalia.store.steps import Stepping
from marginalia.store.tables import BOOKS
from marginalia.story.parts import Part, count_words
from marginalia.values import Book, BookId, PartId, Turn

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.prompt.receipt import Receipt
    from marginalia.store.fields import PartFields
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction


class Here(Enum):
    """The type of ``HERE``: the book's active leaf."""

    HERE = "the active leaf"


HERE: Final = Here.HERE
_Here: TypeAlias = Literal[Here.HERE]


class Story(Stepping):
    """The stories of one user's books. Books and parts are given as records or ids; calls are fast and thread-safe.

    Every call that changes something is one step, which :meth:`undo` takes back.
    """

    def activate(self, book: Book | BookId, part: Part | PartId | None) -> Book:
        """Make exactly this part the book's active leaf (``None``: begin before the first part)."""
        leaf = None if part is None else part_id(part)

        def work(transaction: Transaction, record: Book, pages: Pages) -> Book:
            if leaf is not None:
                pages.tree[leaf]  # raises NotFound
            return BOOKS.move(transaction, record, leaf=leaf)

        return self._write("activate", book, work, leaf)

    def go_to(self, part: Part | PartId) -> Part:
        """Read on from a part: the end of the line of newest parts below it becomes the active leaf and is returned."""

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            leaf = pages.tree.deepest(pages.tree[number].id)
            BOOKS.move(transaction, record, leaf=leaf)
            return part_in(transaction, pages, leaf)

        return self._write_at("activate", part, work)

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

        return self._write("append", book, work)

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

        return self._write_at("edit", part, work)

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

        return self._write_at("restore", revision.part_id, work)

    def fork(self, part: Part | PartId) -> Part:
        """Copy a part as another version beside it, with variables, attributes and a copy of its summary.

        The active leaf does not move. Raises ``Busy`` while the part is being written.
        """
        now, uid = self._desk.clock(), self._desk.new_uid()

        def work(transaction: Transaction, _record: Book, pages: Pages, number: PartId) -> Part:
            refuse_open(pages, number)
            return copy_part(transaction, pages, number, uid=uid, now=now)

        return self._write_at("fork", part, work)

    def delete(self, part: Part | PartId) -> None:
        """Move a part to the trash: what follows it moves up to its parent.

        If it was the active leaf, its parent is afterwards, or for a first part the newest line beside it. Raises
        ``Busy`` while the part is being written.
        """
        now = self._desk.clock()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> None:
            refuse_open(pages, number)
            delete_part(transaction, record, pages, number, now)

        self._write_at("delete", part, work)

    def undelete(self, part: Part | PartId) -> Part:
        """Bring a part back from the trash, to its place as far as that still exists; raises ``NotFound``."""

        def work(transaction: Transaction, record: Book, pages: Pages) -> Part:
            return undelete_part(transaction, record, pages, part_id(part))

        home = self._desk.database.read(lambda session: home_of(session, part_id(part)))
        return self._write("undelete", home, work)

    def merge(self, part: Part | PartId) -> Part:
        """Put a part behind the text of the one before it and return what has both; what followed it follows that.

        Where other versions follow the one before, they keep it, and the merged text is a new part beside it. Raises
        ``InvalidInput`` for a first part, ``Busy`` while one of the two is being written.
        """
        making = self._making()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            return merge_part(transaction, record, pages, number, making)

        return self._write_at("merge", part, work)

    def split(self, part: Part | PartId, at: int) -> tuple[Part, Part]:
        """Put the text from character *at* on into a new part, which comes between this one and what follows it.

        Blanks at the cut go. Raises ``InvalidInput`` unless there is text on both sides.
        """
        making = self._making()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> tuple[Part, Part]:
            return split_part(transaction, record, pages, number, at=at, making=making)

        return self._write_at("split", part, work)

    def move(self, part: Part | PartId, parent: Part | PartId | None) -> Part:
        """Attach a part, with everything below it, to another part of its book (``None``: make it a first part).

        Raises ``InvalidInput`` if it would come to stand below itself.
        """
        place = None if parent is None else part_id(parent)

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            refuse_loop(pages, number, place)
            node = dataclasses.replace(pages.tree[number], parent_id=place)
            write_node(transaction, node)
            pages = pages.with_nodes(node)
            transaction.put(pages_key(record.id), pages)
            return part_in(transaction, pages, number)

        return self._write_at("move", part, work)

    def mark(self, part: Part | PartId, *, label: str | None = None, bookmarked: bool | None = None) -> Part:
        """Set the writer's own marks on a part: a label of one line (empty: none), a bookmark; ``None`` leaves it."""
        line = None if label is None else " ".join(str(storable(label)).split())

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            node = pages.tree[number]
            node = dataclasses.replace(
                node,
                label=node.label if line is None else line,
                bookmarked=node.bookmarked if bookmarked is None else bookmarked,
            )
            write_node(transaction, node)
            pages = pages.with_nodes(node)
            transaction.put(pages_key(record.id), pages)
            return part_in(transaction, pages, number)

        return self._write_at("mark", part, work)

    def rewrite(self, part: Part, *, receipt: Receipt | None = None) -> Part:
        """Store every field of a part as it is given, place and times too; for imports, which know what they do.

        Raises ``InvalidInput`` if the part would come to stand below itself.
        """
        now = self._desk.clock()

        def work(transaction: Transaction, record: Book, pages: Pages, number: PartId) -> Part:
            refuse_open(pages, number)
            refuse_loop(pages, number, part.parent_id)
            known = version_of(transaction, pages.tree[number].text_id).receipt_id
            sent = known if receipt is None else store_receipt(transaction, record.id, number, receipt)
            stored = dataclasses.replace(cleaned(part), book_id=record.id)
            node = add_version(transaction, stored, "stored", sent, now)
            transaction.put(pages_key(record.id), pages.with_nodes(node))
            return stored

        return self._write_at("store", part, work)

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

    def _making(self) -> Making:
        return Making(uid=self._desk.new_uid(), now=self._desk.clock(), tokenizer=self._desk.tokenizer)
