"""The rows behind a story: nodes, versions, drafts and summaries, read and written."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from marginalia.errors import NotFound
from marginalia.store import blobs
from marginalia.store.codec import bare, converted, fields_of, from_json, rebuilt, to_json, utc
from marginalia.store.memory import Key
from marginalia.store.pages import Before, Draft, Pages, Version, node_of, pages_key, placed
from marginalia.store.session import storable
from marginalia.story.columns import BLANK, BOOKMARKED, PARTIAL, Columns
from marginalia.story.parts import Part, Summary
from marginalia.story.tree import Node, StoryTree
from marginalia.values import BookId, PartId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from marginalia.store.session import Row, Session, Transaction

Origin: TypeAlias = Literal["generated", "recovered", "written", "edited", "restored", "copied", "stored"]

_STRUCTURE = frozenset({"id", "book_id", "parent_id", "summary_id", "created", "label", "bookmarked"})
APART = _STRUCTURE | {"text", "reasoning", "background_lore"}
_COLUMNS = (
    "SELECT id ids, coalesce(parent_id, 0) parents, tokens::BIGINT tokens, words::BIGINT words, "  # noqa: S608 - numbers of ours
    f"{BLANK} * blank::BIGINT + {PARTIAL} * partial::BIGINT + {BOOKMARKED} * bookmarked::BIGINT flags, "
    "coalesce(summary_id, 0) summaries, text_id texts, epoch_us(created_at) created "
    "FROM part WHERE book_id = ? AND deleted_at IS NULL"
)
_LABELS = "SELECT id, label FROM part WHERE book_id = ? AND deleted_at IS NULL AND label <> ''"
_NODE = "id, parent_id, tokens, words, blank, partial, summary_id, text_id, created_at, label, bookmarked"
_SUMMARIES = "SELECT id, part_id, data, created_at FROM summary WHERE book_id = ?"
_DRAFTS = (
    "SELECT 0, part_id, book_id, text, reasoning, lore_id, receipt_id, detail, request, before FROM draft "
    "WHERE book_id = ?"
)
_VERSION = "id, part_id, book_id, text, reasoning, lore_id, receipt_id, detail"


def pages_of(session: Session, book: BookId) -> Pages:
    """The pages of a book."""
    return session.recall(pages_key(book), lambda: _load_pages(session, book))


def home_of(session: Session, part: PartId) -> BookId:
    """The book that a part is in (also a deleted one); raises ``NotFound``."""

    def load() -> BookId:
        row = session.row("SELECT book_id FROM part WHERE id = ?", part)
        if row is None:
            raise NotFound(f"There is no part {part}; it may have been deleted.")
        return BookId(row[0])

    return session.recall(Key("home", part), load)


def part_in(session: Session, pages: Pages, part: PartId) -> Part:
    """A part of these pages, with everything in it; raises ``NotFound``."""
    node = pages.tree[part]
    draft = pages.drafts.get(part)
    if draft is not None:
        return placed(draft.part, node)
    return placed(version_of(session, node.text_id).part, node)


def parts_in(session: Session, pages: Pages, parts: Sequence[PartId]) -> tuple[Part, ...]:
    """Many parts at once, in the order they were asked for."""
    nodes = [pages.tree[part] for part in parts]
    versions = _versions(session, [node.text_id for node in nodes if node.id not in pages.drafts])
    return tuple(
        placed(pages.drafts[node.id].part if node.id in pages.drafts else versions[node.text_id].part, node)
        for node in nodes
    )


def texts_in(session: Session, pages: Pages, parts: Iterable[PartId]) -> dict[PartId, str]:
    """The texts of those parts that are in these pages."""
    nodes = pages.tree.nodes()
    wanted = {part: nodes[part].text_id for part in parts if part in nodes and part not in pages.drafts}
    known = _texts(session, list(wanted.values()))
    texts = {part: known[number] for part, number in wanted.items()}
    return texts | {part: pages.drafts[part].part.text for part in parts if part in pages.drafts}


def version_of(session: Session, number: int) -> Version:
    """One stored version; versions never change, so what is remembered stays right."""

    def load() -> Version:
        found = _read_versions(session, [number])
        if number not in found:
            raise NotFound("That version of the part is not there any more.")
        return found[number]

    return session.recall(_version_key(number), load)


def add_part(transaction: Transaction, part: Part) -> Part:
    """A row for a new part, without a version yet; the answer has its id."""
    row = transaction.rows(
        "INSERT INTO part (uid, book_id, parent_id, summary_id, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        part.uid,
        part.book_id,
        part.parent_id,
        part.summary_id,
        bare(part.created),
    )
    return dataclasses.replace(part, id=PartId(row[0][0]))


def add_version(
    transaction: Transaction, part: Part, origin: Origin, receipt_id: int | None, now: datetime
) -> Node:
    """Store the contents of *part* as its newest version; returns the node that points to it, stored as well."""
    lore = blobs.intern(transaction, [part.background_lore])[0] if part.background_lore else None
    row = transaction.rows(
        "INSERT INTO part_text (part_id, book_id, origin, text, reasoning, lore_id, receipt_id, detail, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        part.id,
        part.book_id,
        origin,
        part.text,
        part.reasoning,
        lore,
        receipt_id,
        to_json(fields_of(part, without=APART)),
        bare(now),
    )
    node = node_of(part, row[0][0])
    write_node(transaction, node)
    return node


def write_node(transaction: Transaction, node: Node) -> None:
    """Store a node as it is."""
    transaction.rows(
        "UPDATE part SET parent_id = ?, text_id = ?, summary_id = ?, tokens = ?, words = ?, blank = ?, partial = ?, "
        "created_at = ?, label = ?, bookmarked = ? WHERE id = ?",
        node.parent_id,
        node.text_id,
        node.summary_id,
        node.tokens,
        node.words,
        node.blank,
        node.partial,
        bare(node.created),
        node.label,
        node.bookmarked,
        node.id,
    )


def add_draft(transaction: Transaction, draft: Draft) -> None:
    """Store the draft of a part that has just been opened; the table holds a handful of rows."""
    part = draft.part
    lore = blobs.intern(transaction, [part.background_lore])[0] if part.background_lore else None
    transaction.rows(
        "INSERT INTO draft (part_id, book_id, request, text, reasoning, lore_id, receipt_id, detail, before) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        part.id,
        part.book_id,
        draft.request,
        part.text,
        part.reasoning,
        lore,
        draft.receipt_id,
        to_json(fields_of(part, without=APART)),
        to_json(fields_of(draft.before, without=frozenset())),
    )


def update_draft(transaction: Transaction, draft: Draft) -> None:
    """Store what has come of a draft since."""
    part = draft.part
    transaction.rows(
        "UPDATE draft SET text = ?, reasoning = ?, receipt_id = ?, detail = ? WHERE part_id = ?",
        part.text,
        part.reasoning,
        draft.receipt_id,
        to_json(fields_of(part, without=APART)),
        part.id,
    )


def cleaned(part: Part) -> Part:
    """*part* with texts as the database can hold them, so that what is remembered is what is stored."""
    text, reasoning = cast("str", storable(part.text)), cast("str", storable(part.reasoning))
    if text is part.text and reasoning is part.reasoning:
        return part
    return dataclasses.replace(part, text=text, reasoning=reasoning)


def load_node(session: Session, part: PartId) -> Node:
    """The node of any part, also of a deleted one; raises ``NotFound``."""
    rows = session.rows(f"SELECT {_NODE} FROM part WHERE id = ?", part)  # noqa: S608 - names of ours
    if not rows:
        raise NotFound(f"There is no part {part}; it may have been deleted for good.")
    return _node(rows[0])


def _load_pages(session: Session, book: BookId) -> Pages:
    columns, (labels, summaries, drafts) = session.moment(
        (_COLUMNS, [book]), (_LABELS, [book]), (_SUMMARIES, [book]), (_DRAFTS, [book])
    )
    tree = StoryTree(columns=Columns.of(dict(labels), **columns))
    return Pages(
        tree=tree,
        summaries={row[0]: _summary(row) for row in summaries},
        drafts={row[1]: _draft(session, row, tree) for row in drafts},
    )


def _node(row: Row) -> Node:
    number, parent, tokens, words, blank, partial, summary, text, created, label, bookmarked = row
    return Node(
        id=number,
        parent_id=parent,
        tokens=tokens,
        words=words,
        blank=blank,
        partial=partial,
        summary_id=summary,
        text_id=text,
        created=utc(created),
        label=label,
        bookmarked=bookmarked,
    )


def _summary(row: Row) -> Summary:
    number, part, data, created = row
    return rebuilt(Summary, from_json(data), id=number, part_id=part, created=utc(created))


def _draft(session: Session, row: Row, tree: StoryTree) -> Draft:
    *version, request, before = row
    stored = _version(tuple(version), blobs.fetch(session, [row[5]] if row[5] is not None else []))
    return Draft(
        part=placed(stored.part, tree[row[1]]),
        request=request,
        before=rebuilt(Before, from_json(before)),
        receipt_id=stored.receipt_id,
    )


def _version_key(number: int) -> Key[Version]:
    return Key("version", number)


def _versions(session: Session, numbers: Sequence[int]) -> dict[int, Version]:
    """Versions for one answer; a whole book's are not kept, they would push out what is needed."""
    return _read_versions(session, numbers)


def _read_versions(session: Session, numbers: Sequence[int]) -> dict[int, Version]:
    sql = f"SELECT {_VERSION} FROM part_text WHERE id IN (SELECT unnest(?))"  # noqa: S608 - names of ours
    rows = session.rows(sql, list(numbers)) if numbers else []
    lore = blobs.fetch(session, (row[5] for row in rows if row[5] is not None))
    return {row[0]: _version(row, lore) for row in rows}


def _version(row: Row, lore: Mapping[int, str]) -> Version:
    _, part, book, text, reasoning, lore_id, receipt, detail = row
    fields: dict[str, Any] = from_json(detail)
    fields |= {"id": part, "book_id": book, "parent_id": None, "text": text, "reasoning": reasoning}
    if lore_id is not None:
        fields["background_lore"] = lore.get(lore_id, "")
    return Version(part=converted(Part, fields), receipt_id=receipt)


def _texts(session: Session, numbers: Sequence[int]) -> dict[int, str]:
    known = {number: session.known(_text_key(number)) for number in numbers}
    missing = [number for number, text in known.items() if text is None]
    if missing:
        sql = "SELECT id, text FROM part_text WHERE id IN (SELECT unnest(?))"
        fetched: dict[int, str] = dict(session.rows(sql, missing))
        known |= {n: session.recall(_text_key(n), partial(fetched.__getitem__, n)) for n in fetched}
    return {number: text or "" for number, text in known.items()}


def _text_key(number: int) -> Key[str]:
    return Key("text", number)
