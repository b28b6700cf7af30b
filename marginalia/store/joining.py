"""Parts that become one, and one that becomes two, inside somebody's transaction."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput
from marginalia.store.drafts import refuse_open
from marginalia.store.edits import bury
from marginalia.store.pages import pages_key
from marginalia.store.rows import add_part, add_version, cleaned, part_in, version_of, write_node
from marginalia.store.tables import BOOKS
from marginalia.story.parts import count_words
from marginalia.values import PartId

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.prompt.tokens import Tokenizer
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction
    from marginalia.story.parts import Part
    from marginalia.values import Book

_BETWEEN = "\n\n"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What a part that is made here needs: its uid, the moment, and who counts its tokens."""

    uid: str
    now: datetime
    tokenizer: Tokenizer


def merge_part(transaction: Transaction, book: Book, pages: Pages, number: PartId, making: Making) -> Part:
    """Put a part behind the text of the one before it; the part itself goes to the trash.

    Where other versions follow the part before, they keep it: the merged text is then a new part beside it.
    """
    parent = pages.tree[number].parent_id
    if parent is None or parent not in pages.tree:
        raise InvalidInput("This is the first part of its branch; there is none before it to merge it into.")
    for each in (parent, number):
        refuse_open(pages, each)
    first = part_in(transaction, pages, parent)
    joined = _counted(_joined(first, part_in(transaction, pages, number)), making.tokenizer)
    if len(pages.tree.children(parent)) > 1:
        joined = add_part(transaction, _fresh(joined, making))
    receipt = version_of(transaction, pages.tree[parent].text_id).receipt_id
    pages = pages.with_nodes(add_version(transaction, joined, "edited", receipt, making.now))
    pages = _hand_over(transaction, pages, number, joined.id)
    pages = bury(transaction, book, pages, number, making.now)
    transaction.put(pages_key(book.id), pages)
    if book.active_leaf == number:
        BOOKS.move(transaction, book, leaf=joined.id)
    return joined


def split_part(
    transaction: Transaction, book: Book, pages: Pages, number: PartId, *, at: int, making: Making
) -> tuple[Part, Part]:
    """Keep the text before character *at* in the part and put the rest into a new one after it."""
    refuse_open(pages, number)
    whole = part_in(transaction, pages, number)
    head, tail = whole.text[: max(at, 0)].rstrip(), whole.text[max(at, 0) :].lstrip()
    if not head or not tail:
        raise InvalidInput(
            f"A part is split between two pieces of text, and at character {at} there is none on one side. "
            "Choose a place inside the text."
        )
    first = _counted(dataclasses.replace(whole, text=head, partial=False), making.tokenizer)
    rest = dataclasses.replace(
        whole,
        parent_id=number,
        text=tail,
        reasoning="",
        turn=dataclasses.replace(whole.turn, instructions=None),
        images=(),
    )
    second = add_part(transaction, _fresh(_counted(rest, making.tokenizer), making))
    receipt = version_of(transaction, pages.tree[number].text_id).receipt_id
    pages = _hand_over(transaction, pages, number, second.id)
    nodes = [add_version(transaction, each, "edited", receipt, making.now) for each in (first, second)]
    transaction.put(pages_key(book.id), pages.with_nodes(*nodes))
    if book.active_leaf == number:
        BOOKS.move(transaction, book, leaf=second.id)
    return first, second


def _joined(first: Part, second: Part) -> Part:
    """The first part with the second behind it; variables and end are the second's."""
    return dataclasses.replace(
        first,
        text=_one_text(first.text, second.text),
        reasoning=_one_text(first.reasoning, second.reasoning),
        variables=second.variables,
        attributes={**second.attributes, **first.attributes},
        images=(*first.images, *second.images),
        partial=second.partial,
        finish_reason=second.finish_reason,
    )


def _one_text(*texts: str) -> str:
    return _BETWEEN.join(text for text in texts if text.strip())


def _counted(part: Part, tokenizer: Tokenizer) -> Part:
    """*part* as one that was changed by hand."""
    part = cleaned(part)
    return dataclasses.replace(
        part,
        tokens=tokenizer.count(part.text),
        words=count_words(part.text),
        reasoning_tokens=tokenizer.count(part.reasoning),
        edited=True,
    )


def _fresh(part: Part, making: Making) -> Part:
    """*part* as one that is not stored yet, without the marks and the summary of the one that it comes from."""
    return dataclasses.replace(
        part, id=PartId(0), uid=making.uid, created=making.now, summary_id=None, label="", bookmarked=False
    )


def _hand_over(transaction: Transaction, pages: Pages, number: PartId, to: PartId) -> Pages:
    """Make the children of a part those of another one."""
    moved = [
        dataclasses.replace(pages.tree[child], parent_id=to)
        for child in pages.tree.children(number)
        if child != to
    ]
    for node in moved:
        write_node(transaction, node)
    return pages.with_nodes(*moved)
