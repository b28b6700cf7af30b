"""The messages of a prompt, cut into the stretches that came from somewhere; for the prompt tab and for receipts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marginalia.prompt.segment import Segment, SegmentKind

if TYPE_CHECKING:
    from marginalia.lore.verdicts import Verdict
    from marginalia.prompt.diff import Change, Diff
    from marginalia.prompt.receipt import EntryNote
    from marginalia.values import Message

_LORE = frozenset({SegmentKind.LORE, SegmentKind.USER_LORE})
_MOST_SHOWN = 20_000


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """Words in a message that called a lore entry: where they stand, and its name."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Words that called a lore entry: its name, the text they stand in (``request``, ``part 12`` ...), from, to."""

    name: str
    source: str
    start: int
    end: int


def calls_of(lore: Iterable[Verdict]) -> Iterator[Caller]:
    """The words that called the entries that are in."""
    for verdict in lore:
        for hit in verdict.hits if verdict.active else ():
            yield Caller(verdict.entry.name, hit.source, hit.start, hit.end)


def calls_of_notes(lore: Iterable[EntryNote]) -> Iterator[Caller]:
    """The same, as a receipt keeps them."""
    for note in lore:
        for source, start, end in note.hits if note.active else ():
            yield Caller(note.name, source, start, end)


def message_rows(
    messages: Sequence[Message], segments: Sequence[Segment], callers: Iterable[Caller] = ()
) -> list[dict[str, Any]]:
    """A row per message: its role, its tokens, and its text in pieces, each with what it is and where it came from.

    Words that called lore, the *callers*, stand in pieces of their own.
    """
    by_message: dict[int, list[Segment]] = {}
    for segment in segments:
        by_message.setdefault(segment.message, []).append(segment)
    calls = _calls(segments, callers)
    return [_message_row(each, by_message.get(at, []), calls.get(at, [])) for at, each in enumerate(messages)]


def diff_row(title: str, diff: Diff | None, text: str = "") -> dict[str, Any]:
    """A comparison as the browser takes it; *text* says why there is none."""
    if diff is None:
        return {"title": title, "text": text, "notes": [], "changes": []}
    same = f"{diff.before:,} → {diff.after:,} tokens; {diff.same:,} pieces are the same."
    return {
        "title": title,
        "text": same if diff.changes or diff.notes else "Nothing is different.",
        "notes": list(diff.notes),
        "changes": [_change_row(change) for change in diff.changes],
    }


def _change_row(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "source": change.source,
        "lore": change.segment in _LORE,
        "cause": change.cause,
        "before": change.before,
        "after": change.after,
        "words": [(each.fate, each.text[:_MOST_SHOWN]) for each in change.words],
    }


def _calls(segments: Sequence[Segment], callers: Iterable[Caller]) -> Mapping[int, list[Call]]:
    """The words that called entries, by message. Hits in texts that are not sent are passed over."""
    texts: dict[str, Segment] = {}
    for segment in segments:
        if segment.kind is SegmentKind.REQUEST:
            texts["request"] = segment
        elif segment.kind is SegmentKind.STORY:
            texts[segment.source] = segment
    found: dict[int, list[Call]] = {}
    for each in callers:
        where = texts.get(each.source)
        if where is not None and each.start < each.end <= where.end - where.start:
            call = Call(where.start + each.start, where.start + each.end, each.name)
            found.setdefault(where.message, []).append(call)
    return found


def _message_row(message: Message, segments: list[Segment], calls: list[Call]) -> dict[str, Any]:
    named = [each.source for each in segments if each.kind in {SegmentKind.STORY, SegmentKind.INSERT}]
    return {
        "role": message.role,
        "source": named[0] if len(segments) == 1 and named else "",
        "tokens": sum(segment.tokens for segment in segments),
        "pieces": list(_with_calls(_pieces(message.content, segments), sorted(calls))),
    }


def _pieces(text: str, segments: Iterable[Segment]) -> Iterator[dict[str, Any]]:
    """*text* without a gap: what no segment covers stands as it is, what two cover belongs to the first."""
    at = 0
    for segment in sorted(segments, key=lambda each: (each.start, each.end)):
        start = max(at, segment.start)
        if start > at:
            yield {"kind": "", "text": text[at:start], "title": ""}
        if segment.end > start:
            yield {"kind": segment.kind.value, "text": text[start : segment.end], "title": _title(segment)}
        at = max(at, segment.end)
    if at < len(text):
        yield {"kind": "", "text": text[at:], "title": ""}


def _with_calls(pieces: Iterable[dict[str, Any]], calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
    """The pieces, cut where words that called an entry begin and end; of two that overlap, the first is shown."""
    begin = 0
    for piece in pieces:
        text, at, end = piece["text"], begin, begin + len(piece["text"])
        for call in calls:
            if call.start < at or call.end > end:
                continue
            if call.start > at:
                yield piece | {"text": text[at - begin : call.start - begin]}
            names = ", ".join(dict.fromkeys(each.name for each in calls if each.start == call.start))
            title = f"calls {names}\n{piece['title']}".strip()
            yield piece | {"text": text[call.start - begin : call.end - begin], "calls": True, "title": title}
            at = call.end
        if at < end or not text:
            yield piece | {"text": text[at - begin :]}
        begin = end


def _title(segment: Segment) -> str:
    what = " · ".join(filter(None, (segment.source or segment.kind.value, f"{segment.tokens:,} tokens")))
    return f"{what}\n{segment.reason}" if segment.reason else what
