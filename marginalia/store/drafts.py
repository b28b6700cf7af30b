"""Parts that wait for their answer: opened, closed or taken back, inside somebody's transaction."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.errors import Busy
from marginalia.store.journal import Moment, moment_of, now_in, record
from marginalia.store.pages import Before, Draft, RequestKind, node_of, pages_key, placed
from marginalia.store.receipts import store_receipt
from marginalia.store.rows import (
    add_draft,
    add_part,
    add_version,
    cleaned,
    pages_of,
    part_in,
    update_draft,
    version_of,
    write_node,
)
from marginalia.store.session import Change
from marginalia.store.summary_rows import put_away
from marginalia.store.tables import BOOKS
from marginalia.story.parts import Part
from marginalia.values import Book, NewPart, PartId, Regenerate

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.pipeline.ports import Opening
    from marginalia.prompt.receipt import Receipt
    from marginalia.store.pages import Pages
    from marginalia.store.rows import Origin
    from marginalia.store.session import Transaction
    from marginalia.values import BookId


def fresh_part(opening: Opening, uid: str, now: datetime) -> Part:
    """The part that a request for a new part or a swipe begins with; its id comes with its row."""
    return Part(
        id=PartId(0),
        uid=uid,
        book_id=opening.book,
        parent_id=opening.parent,
        turn=opening.turn,
        model=opening.model,
        protocol=opening.protocol,
        variables=dict(opening.variables),
        attributes=dict(opening.attributes),
        background_lore=opening.background_lore,
        request_time=opening.request_time,
        created=now,
    )


def cleared_part(original: Part, opening: Opening) -> Part:
    """A part that is written anew: only its place, identity, images and what extensions keep in it stay (J-11)."""
    begun = fresh_part(opening, original.uid, original.created)
    return dataclasses.replace(
        begun,
        id=original.id,
        parent_id=original.parent_id,
        attributes={**original.attributes, **opening.attributes},
        images=original.images,
        label=original.label,
        bookmarked=original.bookmarked,
    )


def begin(transaction: Transaction, book: Book, opening: Opening, fresh: Part) -> tuple[Part, Part | None]:
    """Open the part that *opening* asks for; returns it, and for a regenerate the part as it was."""
    pages = pages_of(transaction, book.id)
    before = Before(leaf=book.active_leaf, shared=book.global_variables)
    original = None
    if isinstance(opening.request, Regenerate):
        original = part_in(transaction, pages, opening.request.part)
        refuse_open(pages, original.id)
        node = pages.tree[original.id]
        before = dataclasses.replace(before, text_id=node.text_id, summary_id=node.summary_id)
        part = cleared_part(original, opening)
    else:
        if opening.parent is not None:
            pages.tree[opening.parent]  # raises NotFound, before anything is written
        part = add_part(transaction, fresh)
    kind: RequestKind = (
        "new" if isinstance(opening.request, NewPart) else "regenerate" if original else "swipe"
    )
    receipt = store_receipt(transaction, book.id, part.id, opening.receipt)
    draft = Draft(part=part, request=kind, before=before, receipt_id=receipt)
    add_draft(transaction, draft)
    node = node_of(part, 0)
    if original is not None:  # the row of a new part is like this already
        write_node(transaction, node)
    transaction.put(pages_key(book.id), pages.with_nodes(node).with_draft(draft))
    BOOKS.move(transaction, book, leaf=part.id, shared=opening.shared_variables)
    tell_story(transaction, book.id)
    return part, original


def keep(transaction: Transaction, part: Part, receipt: Receipt | None = None) -> None:
    """Store what has come of a part so far, or (with a receipt) what it is asked with; if it still waits."""
    pages = pages_of(transaction, part.book_id)
    draft = pages.drafts.get(part.id)
    if draft is None:
        return
    number = draft.receipt_id
    if receipt is not None:
        number = store_receipt(transaction, part.book_id, part.id, receipt)
    draft = dataclasses.replace(draft, part=cleaned(part), receipt_id=number)
    update_draft(transaction, draft)
    transaction.put(pages_key(part.book_id), pages.with_draft(draft))
    tell_story(transaction, part.book_id, draft=True)


def finish(
    transaction: Transaction, part: Part, receipt: Receipt | None, now: datetime, origin: Origin = "generated"
) -> Part:
    """Store the answer of a part as its newest version; its draft, and the summary of what it was, are gone then."""
    pages = pages_of(transaction, part.book_id)
    place = pages.tree[part.id]
    draft = pages.drafts.get(part.id)
    before = _before_answer(transaction, pages, part, draft)
    number = draft.receipt_id if draft else None
    if receipt is not None:
        number = store_receipt(transaction, part.book_id, part.id, receipt)
    part = placed(cleaned(part), place)
    node = add_version(transaction, part, origin, number, now)
    transaction.rows("DELETE FROM draft WHERE part_id = ?", part.id)
    pages = pages.with_nodes(node).without_draft(part.id)
    if draft is not None and draft.before.summary_id is not None:
        pages = put_away(transaction, pages, draft.before.summary_id, now)
    transaction.put(pages_key(part.book_id), pages)
    record(transaction, part.book_id, before, "generate", part=part.id, now=now)
    tell_story(transaction, part.book_id)
    return part


def take_back(transaction: Transaction, draft: Draft, swiped: PartId | None, now: datetime) -> None:
    """Undo what ``begin`` did: the specification's clean-up of a run that left nothing (step 8, and J-03)."""
    book_id, part = draft.part.book_id, draft.part.id
    pages = pages_of(transaction, book_id)
    if part not in pages.tree:
        return
    book = BOOKS.find(transaction, book_id)
    leaf = None if book is None else book.active_leaf
    if draft.request == "regenerate":
        pages = _put_back(transaction, pages, draft, now)
        leaf = draft.before.leaf if draft.before.leaf in pages.tree else part
    else:
        below, parent = pages.tree.subtree(part), pages.tree[part].parent_id
        pages = _remove(transaction, pages, part)
        if leaf in below:  # a writer who went elsewhere meanwhile stays there
            leaf = _leaf_after(pages, draft, swiped, parent)
    transaction.rows("DELETE FROM draft WHERE part_id = ?", part)
    transaction.put(pages_key(book_id), pages.without_draft(part))
    if book is not None:
        moved = BOOKS.move(transaction, book, leaf=leaf, shared=draft.before.shared)
        if (
            book.active_leaf == part and leaf != draft.before.leaf
        ):  # where a failed run leaves one is a step, too
            at = moment_of(moved, pages_of(transaction, book_id))
            before = dataclasses.replace(at, leaf=draft.before.leaf)
            record(transaction, book_id, before, "activate", part=leaf, now=now)
    tell_story(transaction, book_id)


def lift_children(transaction: Transaction, pages: Pages, part: PartId) -> Pages:
    """Hand the children of *part* to its parent."""
    parent = pages.tree[part].parent_id
    lifted = [dataclasses.replace(pages.tree[child], parent_id=parent) for child in pages.tree.children(part)]
    for node in lifted:
        write_node(transaction, node)
    return pages.with_nodes(*lifted)


def refuse_open(pages: Pages, part: PartId) -> None:
    """Raise ``Busy`` for a part that is being written just now."""
    if part in pages.drafts:
        raise Busy(
            "This part is being written just now. Wait until it is done, or stop the generation first."
        )


def tell_story(transaction: Transaction, book: BookId, *, draft: bool = False) -> None:
    """Announce a change of the story (or only of what streams into it) to the book's owner."""
    record = BOOKS.find(transaction, book)
    if record is not None:
        transaction.notify(record.owner, Change(kind="draft" if draft else "story", book_id=book))


def _before_answer(transaction: Transaction, pages: Pages, part: Part, draft: Draft | None) -> Moment:
    """The story as it would be without the answer that has come: what undoing it gives back."""
    at = now_in(transaction, part.book_id)
    if draft is None:
        return at
    before, place = draft.before, pages.tree[part.id]
    if draft.request == "regenerate" and before.text_id:
        former = placed(version_of(transaction, before.text_id).part, place)
        summary = before.summary_id if before.summary_id in pages.summaries else place.summary_id
        former = dataclasses.replace(former, summary_id=summary)
        pages = pages.with_nodes(node_of(former, before.text_id))
    else:
        pages = dataclasses.replace(pages, tree=pages.tree.without(part.id))
    leaf = before.leaf if at.leaf == part.id else at.leaf
    return Moment(leaf=leaf, shared=before.shared, pages=pages)


def _leaf_after(pages: Pages, draft: Draft, swiped: PartId | None, parent: PartId | None) -> PartId | None:
    if draft.request == "new":
        return parent
    if swiped is not None and swiped in pages.tree:
        return pages.tree.deepest(swiped)
    return draft.before.leaf if draft.before.leaf in pages.tree else parent


def _put_back(transaction: Transaction, pages: Pages, draft: Draft, now: datetime) -> Pages:
    """A regenerated part as it was: its former version was never touched, so it is pointed to again."""
    place, before = pages.tree[draft.part.id], draft.before
    summary = before.summary_id if before.summary_id in pages.summaries else place.summary_id
    part = version_of(transaction, before.text_id).part if before.text_id else draft.part
    part = dataclasses.replace(placed(part, place), summary_id=summary)
    if before.text_id:
        node = node_of(part, before.text_id)
        write_node(transaction, node)
    else:
        node = add_version(transaction, part, "restored", draft.receipt_id, now)
    return pages.with_nodes(node)


def _remove(transaction: Transaction, pages: Pages, part: PartId) -> Pages:
    """A part that got no text is no loss: its row is really deleted, its children move up."""
    pages = lift_children(transaction, pages, part)
    for table in ("part_text", "receipt"):
        transaction.rows(f"DELETE FROM {table} WHERE part_id = ?", part)  # noqa: S608 - names of ours
    transaction.rows("DELETE FROM part WHERE id = ?", part)
    return dataclasses.replace(pages, tree=pages.tree.without(part))
