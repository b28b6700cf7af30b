"""Changes of a story's shape, inside somebody's transaction."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput, NotFound
from marginalia.store.codec import bare, from_json, to_json
from marginalia.store.drafts import lift_children
from marginalia.store.pages import pages_key
from marginalia.store.receipts import store_receipt
from marginalia.store.rows import add_part, add_version, cleaned, load_node, part_in, version_of, write_node
from marginalia.store.summary_rows import put_summary
from marginalia.store.tables import BOOKS
from marginalia.values import PartId, SummaryId

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from marginalia.prompt.receipt import Receipt
    from marginalia.store.pages import Pages
    from marginalia.store.session import Session, Transaction
    from marginalia.story.parts import Part, Summary
    from marginalia.values import Book, BookId


def append_part(
    transaction: Transaction,
    pages: Pages,
    fresh: Part,
    parent: PartId | None,
    *,
    receipt: Receipt | None,
    inherit: bool,
    now: datetime,
) -> Part:
    """Store *fresh* under *parent*; with *inherit* it takes over the parent's variables."""
    variables = fresh.variables
    if parent is not None and inherit:
        variables = part_in(transaction, pages, parent).variables
    elif parent is not None:
        pages.tree[parent]  # raises NotFound
    part = add_part(transaction, dataclasses.replace(cleaned(fresh), parent_id=parent, variables=variables))
    number = None if receipt is None else store_receipt(transaction, part.book_id, part.id, receipt)
    node = add_version(transaction, part, "written", number, now)
    transaction.put(pages_key(part.book_id), pages.with_nodes(node))
    return part


def copy_part(transaction: Transaction, pages: Pages, number: PartId, *, uid: str, now: datetime) -> Part:
    """A copy of a part beside it, with a copy of its summary."""
    original, version = (
        part_in(transaction, pages, number),
        version_of(transaction, pages.tree[number].text_id),
    )
    fresh = dataclasses.replace(
        original, id=PartId(0), uid=uid, created=now, summary_id=None, label="", bookmarked=False
    )
    part = add_part(transaction, fresh)
    pages = pages.with_nodes(add_version(transaction, part, "copied", version.receipt_id, now))
    summary = pages.summaries.get(original.summary_id) if original.summary_id is not None else None
    if summary is not None:
        copy = _copied(transaction, summary, part.id)
        pages, copy = put_summary(transaction, pages, part.book_id, copy)
        part = dataclasses.replace(part, summary_id=copy.id)
    transaction.put(pages_key(part.book_id), pages)
    return part


def delete_part(transaction: Transaction, book: Book, pages: Pages, number: PartId, now: datetime) -> None:
    """Move a part to the trash; its children move up, and the active leaf stays on a living part."""
    parent, children = pages.tree[number].parent_id, pages.tree.children(number)
    pages = bury(transaction, book, pages, number, now)
    transaction.put(pages_key(book.id), pages)
    if book.active_leaf == number:
        line = children or pages.tree.children(None)
        end = pages.tree.deepest(line[-1]) if line else None
        BOOKS.move(transaction, book, leaf=end if parent is None else parent)


def undelete_part(transaction: Transaction, book: Book, pages: Pages, number: PartId) -> Part:
    """Put a part back between its parent and those of its children that went to that parent."""
    was = unbury(transaction, book.id, number)
    parent = nearest_living(transaction, pages, was["parent"])
    node = dataclasses.replace(load_node(transaction, number), parent_id=parent)
    if node.summary_id not in pages.summaries:
        node = dataclasses.replace(node, summary_id=None)
    nodes = pages.tree.nodes()
    children = [nodes[child] for child in was["children"] if child in nodes]
    back = [dataclasses.replace(each, parent_id=number) for each in children if each.parent_id == parent]
    for each in (node, *back):
        write_node(transaction, each)
    pages = pages.with_nodes(node, *back)
    transaction.put(pages_key(book.id), pages)
    if was["leaf"] and book.active_leaf == parent:
        BOOKS.move(transaction, book, leaf=number)
    return part_in(transaction, pages, number)


def bury(transaction: Transaction, book: Book, pages: Pages, number: PartId, now: datetime) -> Pages:
    """Put a part into the trash and hand its children to its parent; the caller cares for the active leaf."""
    was = {
        "parent": pages.tree[number].parent_id,
        "children": pages.tree.children(number),
        "leaf": book.active_leaf == number,
    }
    pages = lift_children(transaction, pages, number)
    transaction.rows("UPDATE part SET deleted_at = ? WHERE id = ?", bare(now), number)
    transaction.rows(
        "INSERT INTO trash (kind, item_id, book_id, data, deleted_at) VALUES ('part', ?, ?, ?, ?)",
        number,
        book.id,
        to_json(was),
        bare(now),
    )
    return dataclasses.replace(pages, tree=pages.tree.without(number))


def unbury(transaction: Transaction, book: BookId, number: PartId) -> dict[str, Any]:
    """Take a part out of the trash; the answer says where it was. Raises ``NotFound``."""
    row = transaction.row(
        "DELETE FROM trash WHERE kind = 'part' AND item_id = ? AND book_id = ? RETURNING data", number, book
    )
    if row is None:
        raise NotFound(f"Part {number} is not in the trash; it may have been restored already.")
    transaction.rows("UPDATE part SET deleted_at = NULL WHERE id = ?", number)
    was: dict[str, Any] = from_json(row[0])
    return was


def refuse_loop(pages: Pages, number: PartId, parent: PartId | None) -> None:
    """Raise ``InvalidInput`` if a part would come to stand below itself, ``NotFound`` for a parent that is not."""
    if parent is not None and number in pages.tree.branch(pages.tree[parent].id):
        raise InvalidInput("A part cannot stand below itself, or below what follows it.")


def nearest_living(session: Session, pages: Pages, part: PartId | None) -> PartId | None:
    """The part, or its nearest ancestor that is not deleted."""
    while part is not None and part not in pages.tree:
        try:
            part = load_node(session, part).parent_id
        except NotFound:  # it was taken back for good
            return None
    return part


def _copied(transaction: Transaction, summary: Summary, part: PartId) -> Summary:
    """A summary for another part. A meta summary and what it replaced share a new id, as they shared the old one."""
    number = SummaryId(transaction.rows("SELECT nextval('summary_id')")[0][0])

    def moved(each: Summary) -> Summary:
        inner = None if each.replaced is None else moved(each.replaced)
        return dataclasses.replace(each, id=number, part_id=part, replaced=inner)

    return moved(summary)
