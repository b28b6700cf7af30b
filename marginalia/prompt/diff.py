"""The difference between two prompts, piece by piece, each with its cause in a plain sentence.

Pieces are compared by what they are (this entry, that part, the request), not by where they stand, so that an entry
that comes in above the story is one change and not a changed prompt. Placeholders come and go with their parts and are
not told apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from marginalia.prompt.causes import why_added, why_changed, why_moved, why_removed
from marginalia.prompt.segment import Segment, SegmentKind, Sent
from marginalia.prompt.showing import diff_html
from marginalia.prompt.wording import Stretch, compared
from marginalia.story.frames import frame

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame

_Key: TypeAlias = tuple[str, str | int, int]
_LORE = frozenset({SegmentKind.LORE, SegmentKind.USER_LORE})


class ChangeKind(StrEnum):
    """What became of a piece."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


SIGNS: Mapping[ChangeKind, str] = {
    ChangeKind.ADDED: "+",
    ChangeKind.REMOVED: "\N{MINUS SIGN}",
    ChangeKind.CHANGED: "~",
    ChangeKind.MOVED: "\N{UP DOWN ARROW}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One piece that is different, and why.

    ``source`` is its name for people, ``source_id`` the id of the entry, part or summary; ``before`` and ``after`` are
    its tokens. ``words`` is its text with what was added and removed, or all of it for a piece that is new or gone.
    """

    kind: ChangeKind
    segment: SegmentKind
    source: str
    source_id: int | None = None
    cause: str
    before: int = 0
    after: int = 0
    words: tuple[Stretch, ...] = ()

    @property
    def text(self) -> str:
        """The change in one line: ``+ *Quiet Bell*: the key *bell* is in the request``."""
        name = f"*{self.source}*" if self.segment in _LORE else self.source
        return f"{SIGNS[self.kind]} {name}: {self.cause}"


@dataclass(frozen=True)
class Diff:
    """What is different between an older and a newer prompt, in the order of the newer one.

    ``same`` counts the pieces that are equal; ``notes`` say what holds for the whole, such as other limits. ``before``
    and ``after`` are the tokens of all pieces.
    """

    changes: tuple[Change, ...] = ()
    same: int = 0
    before: int = 0
    after: int = 0
    notes: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The changes, one per line."""
        return "\n".join((*self.notes, *(change.text for change in self.changes))) or "Nothing is different."

    @property
    def frame(self) -> DataFrame:
        """A row per change; ``before`` and ``after`` are tokens."""
        rows = (
            (each.kind.value, each.segment.value, each.source, each.cause, each.before, each.after)
            for each in self.changes
        )
        return frame(rows, "kind", "segment", "source", "cause", "before", "after")

    def _repr_html_(self) -> str:
        return diff_html(self)

    def _repr_markdown_(self) -> str:
        return "\n".join(f"- {line}" for line in self.text.splitlines())


@dataclass(frozen=True, slots=True)
class _Item:
    """A piece with its text and its place among the pieces."""

    segment: Segment
    text: str
    tokens: int
    place: int


def diff(older: Sent, newer: Sent) -> Diff:
    """What is different in *newer*, with causes. Texts inside changed pieces are compared word by word."""
    before, after = _items(older), _items(newer)
    pairs = _pairs(before, after)
    moved = _moved(before, after, pairs)
    found: list[tuple[float, int, Change]] = []
    for key, item in after.items():
        old = before.get(pairs[key]) if key in pairs else None
        change = (
            _added(item, older, newer)
            if old is None
            else _kept((old, item), (older, newer), moved=key in moved)
        )
        if change is not None:
            found.append((item.place, 1, change))
    partner = {old: new for new, old in pairs.items()}
    last = -0.5
    for key, item in before.items():
        if key in partner:
            last = after[partner[key]].place + 0.5
        else:
            found.append((last, 0, _removed(item, newer)))
    changes = tuple(change for _, _, change in sorted(found, key=lambda each: each[:2]))
    changed = sum(change.kind is not ChangeKind.REMOVED for change in changes)
    return Diff(
        changes=changes,
        same=len(after) - changed,
        before=sum(each.tokens for each in older.segments),
        after=sum(each.tokens for each in newer.segments),
        notes=tuple(_limits(older, newer)),
    )


def _items(sent: Sent) -> dict[_Key, _Item]:
    """The pieces by what they are.

    What the master template says around lore and summaries is one piece, however often it is interrupted.
    """
    items: dict[_Key, _Item] = {}
    seen: Counter[tuple[str, str | int]] = Counter()
    for place, segment in enumerate(sent.segments):
        if segment.kind is SegmentKind.PLACEHOLDER or not segment.end > segment.start:
            continue
        text = sent.messages[segment.message].content[segment.start : segment.end]
        what = _identity(segment)
        first = items.get((*what, 0))
        if segment.kind is SegmentKind.SYSTEM and first is not None:
            items[*what, 0] = _Item(
                first.segment, first.text + text, first.tokens + segment.tokens, first.place
            )
            continue
        items[*what, seen[what]] = _Item(segment, text, segment.tokens, place)
        seen[what] += 1
    return items


def _identity(segment: Segment) -> tuple[str, str | int]:
    family = "lore" if segment.kind in _LORE else str(segment.kind)
    return family, segment.source if segment.source_id is None else segment.source_id


def _pairs(before: Mapping[_Key, _Item], after: Mapping[_Key, _Item]) -> dict[_Key, _Key]:
    """Newer piece to older piece. Two versions of one part of the story, which are two parts, belong together."""
    pairs = {key: key for key in after if key in before}
    gone = {
        item.segment.source: key
        for key, item in before.items()
        if key not in pairs and item.segment.kind is SegmentKind.STORY
    }
    for key, item in after.items():
        if key not in pairs and item.segment.kind is SegmentKind.STORY and item.segment.source in gone:
            pairs[key] = gone.pop(item.segment.source)
    return pairs


def _moved(
    before: Mapping[_Key, _Item], after: Mapping[_Key, _Item], pairs: Mapping[_Key, _Key]
) -> frozenset[_Key]:
    """The pieces that changed their order; of two that passed each other, the one that is no story."""
    common = [key for key in after if key in pairs]
    fixed = [key for key in common if after[key].segment.kind is SegmentKind.STORY]
    placed = _rising(fixed, {key: before[pairs[key]].place for key in fixed})
    moved = set(fixed) - placed
    others = [key for key in common if key not in placed and key not in moved]
    old_order = sorted(placed, key=lambda key: before[pairs[key]].place)
    old_places = [before[pairs[key]].place for key in old_order]
    new_places = [after[key].place for key in old_order]
    for key in others:
        old_at = bisect_left(old_places, before[pairs[key]].place)
        new_at = bisect_left(new_places, after[key].place)
        if old_at != new_at:
            moved.add(key)
    return frozenset(moved)


def _rising(keys: Sequence[_Key], place: Mapping[_Key, int]) -> set[_Key]:
    """The most of *keys* whose old places rise: a longest increasing subsequence."""
    ends: list[int] = []
    last: list[_Key] = []
    previous: dict[_Key, _Key | None] = {}
    for key in keys:
        at = bisect_left(ends, place[key])
        previous[key] = last[at - 1] if at else None
        ends[at : at + 1] = [place[key]]
        last[at : at + 1] = [key]
    found: set[_Key] = set()
    walk: _Key | None = last[-1] if last else None
    while walk is not None:
        found.add(walk)
        walk = previous[walk]
    return found


def _added(item: _Item, older: Sent, newer: Sent) -> Change:
    return Change(
        kind=ChangeKind.ADDED,
        segment=item.segment.kind,
        source=item.segment.source,
        source_id=item.segment.source_id,
        cause=why_added(item.segment, older, newer),
        after=item.tokens,
        words=(Stretch("added", item.text),),
    )


def _removed(item: _Item, newer: Sent) -> Change:
    return Change(
        kind=ChangeKind.REMOVED,
        segment=item.segment.kind,
        source=item.segment.source,
        source_id=item.segment.source_id,
        cause=why_removed(item.segment, newer),
        before=item.tokens,
        words=(Stretch("removed", item.text),),
    )


def _kept(items: tuple[_Item, _Item], prompts: tuple[Sent, Sent], *, moved: bool) -> Change | None:
    old, new = items
    elsewhere = moved or old.segment.kind is not new.segment.kind
    same = old.text == new.text
    if same and not elsewhere:
        return None
    causes = [
        "" if same else why_changed(old.segment, new.segment, *prompts),
        why_moved(old.segment, new.segment) if elsewhere else "",
    ]
    return Change(
        kind=ChangeKind.MOVED if same else ChangeKind.CHANGED,
        segment=new.segment.kind,
        source=new.segment.source,
        source_id=new.segment.source_id,
        cause="; ".join(filter(None, causes)),
        before=old.tokens,
        after=new.tokens,
        words=compared(old.text, new.text),
    )


def _limits(older: Sent, newer: Sent) -> Iterator[str]:
    facts: Iterable[tuple[str, int, int]] = (
        ("context is", older.limits.context, newer.limits.context),
        ("answer may have", older.limits.response, newer.limits.response),
    )
    for what, before, after in facts:
        if before != after:
            yield f"The {what} {after:,} tokens instead of {before:,}."
