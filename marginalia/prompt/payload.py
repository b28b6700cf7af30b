"""The chat messages of a prompt, and the segments that say where each stretch of them came from.

The layout is the specification's (step 5). Segments are made while the messages are built; when a listener
changes the messages afterwards, :func:`realign` finds again what is still there and marks the rest as
foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from marginalia.prompt.context import Span
from marginalia.prompt.segments import Segment, SegmentKind
from marginalia.prompt.stages import Insert, Lore, Passage, Placed
from marginalia.values import Message

FIRST_PLACEHOLDER = "[ Generate story. ]"
NEXT_PLACEHOLDER = "[ Generate more story. ]"
SEPARATOR = "\n\n"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything the payload is built from. ``user_prompt`` has the lore that goes before it in front."""

    jailbreak: str = ""
    system_prompt: str = ""
    system_spans: tuple[Span, ...] = ()
    lore: Lore = Lore()
    summaries: tuple[Passage, ...] = ()
    chronicle: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()
    user_prompt: str = ""
    inserts: tuple[Insert, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message on its way, with what stands in it."""

    message: Message
    segments: tuple[Segment, ...]


def build_payload(material: Material, count: Count) -> tuple[tuple[Message, ...], tuple[Segment, ...]]:
    """The messages in the order of the specification, with the inserts at their depths, and their segments."""
    pieces = [_system(material, count), *_story(material, count), _request(material, count)]
    pieces = list(_with_inserts(pieces, material.inserts, count))
    messages = tuple(piece.message for piece in pieces)
    segments = (replace(each, message=i) for i, piece in enumerate(pieces) for each in piece.segments)
    return messages, tuple(segments)


def _with_inserts(pieces: Sequence[_Piece], inserts: Sequence[Insert], count: Count) -> Iterable[_Piece]:
    """The pieces with each insert at its depth among them, never before the first; equal depths keep their order."""
    for index in range(len(pieces) + 1):
        for insert in inserts:
            if max(1, len(pieces) - insert.depth) == index:
                yield _inserted(insert, count)
        if index < len(pieces):
            yield pieces[index]


def realign(
    messages: Sequence[Message], built: Sequence[Message], segments: Iterable[Segment], count: Count
) -> tuple[Segment, ...]:
    """The segments of *messages*, of which some are still those that were *built*.

    What is new or changed is foreign.
    """
    by_message: dict[int, list[Segment]] = {}
    for segment in segments:
        by_message.setdefault(segment.message, []).append(segment)
    unused = list(range(len(built)))
    found: list[Segment] = []
    for index, message in enumerate(messages):
        old = next((i for i in unused if built[i] == message), None)
        if old is None:
            found.append(_foreign(index, message, count))
        else:
            unused.remove(old)
            found.extend(replace(each, message=index) for each in by_message.get(old, ()))
    return tuple(found)


def _foreign(index: int, message: Message, count: Count) -> Segment:
    return Segment(
        kind=SegmentKind.FOREIGN,
        message=index,
        start=0,
        end=len(message.content),
        tokens=count(message.content),
        source="extension",
        reason="a listener put it here or changed it",
    )


def joined(summaries: Iterable[Passage]) -> str:
    """The summaries as the master template prints them: oldest first, one line break between (B1 50)."""
    return "\n".join(passage.text for passage in summaries)


def _system(material: Material, count: Count) -> _Piece:
    segments: list[Segment] = []
    offset = 0
    content = material.system_prompt
    if material.jailbreak:
        offset = len(material.jailbreak) + len(SEPARATOR)
        content = material.jailbreak + SEPARATOR + content
        segments.append(
            _segment(
                SegmentKind.JAILBREAK,
                material.jailbreak,
                0,
                count,
                "provider",
                reason="the provider needs it",
            )
        )
    segments.extend(_inside_system(material, offset, count))
    return _Piece(Message(role="system", content=content), tuple(segments))


def _inside_system(material: Material, offset: int, count: Count) -> Iterable[Segment]:
    """The system prompt cut at the places where lore and summaries were printed into it."""
    text, at = material.system_prompt, 0
    known = {
        "backgroundLore": material.lore.background or None,
        "summaries": joined(material.summaries) or None,
    }
    for span in sorted(material.system_spans, key=lambda span: span.start):
        if span.start < at or text[span.start : span.end] != known.get(span.name):
            continue  # printed twice over, or a listener changed the text
        if text[at : span.start]:
            yield _template(text[at : span.start], offset + at, count)
        if span.name == "backgroundLore":
            yield from _placed(
                material.lore.placed,
                SegmentKind.LORE,
                text[span.start : span.end],
                offset + span.start,
                count,
            )
        else:
            yield from _summarised(material.summaries, offset + span.start, count)
        at = span.end
    if text[at:]:
        yield _template(text[at:], offset + at, count)


def _template(text: str, start: int, count: Count) -> Segment:
    return _segment(
        SegmentKind.SYSTEM, text, start, count, "master template", reason="the book's master template"
    )


def _placed(
    placed: Sequence[Placed], kind: SegmentKind, block: str, offset: int, count: Count
) -> Iterable[Segment]:
    at = 0
    for each in placed:
        if at <= each.start and each.end <= len(block):
            yield from _between(block[at : each.start], offset + at, count)
            text = block[each.start : each.end]
            yield _segment(
                kind, text, offset + each.start, count, each.name, reason=each.reason, source_id=each.entry_id
            )
            at = each.end
    yield from _between(block[at:], offset + at, count)


def _between(text: str, start: int, count: Count) -> Iterable[Segment]:
    """What stands in a block of lore and is of no entry: a listener put it there."""
    if text.strip():
        yield _segment(SegmentKind.FOREIGN, text, start, count, "extension", reason="a listener put it here")


def _summarised(summaries: Sequence[Passage], offset: int, count: Count) -> Iterable[Segment]:
    for passage in summaries:
        source = "summary" if passage.part is None else f"summary on part {passage.part}"
        reason = "stands for older parts"
        yield _segment(
            SegmentKind.SUMMARY, passage.text, offset, count, source, reason=reason, source_id=passage.part
        )
        offset += len(passage.text) + 1


def _story(material: Material, count: Count) -> Iterable[_Piece]:
    numbers = material.numbers or tuple(0 for _ in material.chronicle)
    for index, passage in enumerate(material.chronicle):
        placeholder = FIRST_PLACEHOLDER if index == 0 else NEXT_PLACEHOLDER
        reason = "the turn that asked for the part after it, shortened"
        segment = _segment(SegmentKind.PLACEHOLDER, placeholder, 0, count, "placeholder", reason=reason)
        yield _Piece(Message(role="user", content=placeholder), (segment,))
        number = numbers[index] if index < len(numbers) else 0
        source = f"part {number}" if number else "story"
        segment = _segment(
            SegmentKind.STORY,
            passage.text,
            0,
            count,
            source,
            reason="it fits the budget",
            source_id=passage.part,
        )
        yield _Piece(Message(role="assistant", content=passage.text), (segment,))


def _request(material: Material, count: Count) -> _Piece:
    text, lore = material.user_prompt, material.lore.before_user
    segments: list[Segment] = []
    start = 0
    if lore and text.startswith(lore + SEPARATOR):
        segments.extend(_placed(material.lore.placed_before_user, SegmentKind.USER_LORE, lore, 0, count))
        start = len(lore) + len(SEPARATOR)
    segments.append(
        _segment(SegmentKind.REQUEST, text[start:], start, count, "request", reason="what was asked for")
    )
    return _Piece(Message(role="user", content=text), tuple(segments))


def _inserted(insert: Insert, count: Count) -> _Piece:
    reason = insert.reason or f"placed {insert.depth} messages before the end"
    segment = _segment(SegmentKind.INSERT, insert.text, 0, count, insert.owner, reason=reason)
    return _Piece(Message(role=insert.role, content=insert.text), (segment,))


def _segment(
    kind: SegmentKind,
    text: str,
    start: int,
    count: Count,
    source: str,
    *,
    reason: str,
    source_id: int | None = None,
) -> Segment:
    return Segment(
        kind=kind,
        message=0,
        start=start,
        end=start + len(text),
        tokens=count(text),
        source=source,
        source_id=source_id,
        reason=reason,
    )
