"""The texts that a part has had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.store.codec import from_json, utc
from marginalia.store.pages import placed
from marginalia.store.rows import load_node, version_of
from marginalia.values import PartId

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.store.rows import Origin
    from marginalia.store.session import Session
    from marginalia.story.parts import Part
    from marginalia.values import BookId


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A text of a part: how it came about, when, and how long it is. ``current`` is what the part has now."""

    id: int
    part_id: PartId
    text: str
    origin: Origin
    tokens: int
    words: int
    created: datetime
    current: bool


def revisions_of(session: Session, part: PartId, current: int) -> tuple[Revision, ...]:
    """The different texts of a part, oldest first; of versions with one text after the other only the newest counts."""
    rows = session.rows(
        "SELECT id, text, origin, detail, created_at FROM part_text WHERE part_id = ? ORDER BY id", part
    )
    revisions: list[Revision] = []
    for number, text, origin, detail, created in rows:
        same = revisions.pop() if revisions and revisions[-1].text == text else None
        fields = from_json(detail)
        revisions.append(
            Revision(
                id=number,
                part_id=part,
                text=text,
                origin=origin,
                tokens=fields.get("tokens", 0),
                words=fields.get("words", 0),
                created=utc(created),
                current=number == current or (same is not None and same.current),
            )
        )
    return tuple(revisions)


def deleted_parts(session: Session, book: BookId) -> tuple[Part, ...]:
    """The parts in the trash of a book, in the order of their deletion."""
    rows = session.rows("SELECT item_id FROM trash WHERE kind = 'part' AND book_id = ? ORDER BY id", book)
    nodes = [load_node(session, PartId(row[0])) for row in rows]
    return tuple(placed(version_of(session, node.text_id).part, node) for node in nodes)
