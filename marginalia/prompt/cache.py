"""How much of a prompt a server can take from its cache: as far as it begins like the last one it was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from marginalia.prompt.diff import Change, ChangeKind, diff
from marginalia.prompt.segment import Segment, SegmentKind, Sent
from marginalia.values import NOTHING, Message, Usage

FRAME_TOKENS = 4
"""What a chat template puts around a message, in tokens; a usual value, see research/streaming.md 2.1."""
SHORTEST_MOVED = 64
"""The fewest tokens of a piece that a server keeps though it moved. What it kept was read behind other text than stands
before it now; the shorter the pieces, the more of that."""
CACHE = "cache"
"""The key of a receipt's ``extra`` that keeps the prediction."""

Count = Callable[[str], int]

_FRAME = "\x00"
_PROBE = 4 * SHORTEST_MOVED  # characters: about as many tokens as the shortest piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How far a prompt begins like the one sent before it.

    ``tokens`` of ``total`` are the same. The first difference is at ``offset`` in the content of message number
    ``message`` (from 0); ``cause`` says what it is, and is empty when there was no prompt before or all is the same.
    ``moved`` more tokens only stood further behind before, and the server keeps what moved.
    """

    tokens: int = 0
    moved: int = 0
    total: int = 0
    message: int = 0
    offset: int = 0
    cause: str = ""

    @property
    def share(self) -> float:
        """How much of it the server's cache holds, from 0 to 1."""
        return self.kept / self.total if self.total else 0.0

    @property
    def kept(self) -> int:
        """The tokens that the server need not read."""
        return self.tokens + self.moved

    @property
    def text(self) -> str:
        """Up to three sentences for people."""
        same = self.tokens / self.total if self.total else 0.0
        sentences = [
            f"Same beginning as last time: {same:.0%} ({self.tokens:,} of {self.total:,} tokens)."
            if self.tokens
            else "Nothing of it begins like the last prompt this server was sent."
        ]
        if self.cause:
            sentences.append(f"First difference: {self.cause}.")
        if self.moved:
            sentences.append(f"Another {self.moved:,} tokens only moved, and this server keeps them.")
        return " ".join(sentences)

    @property
    def note(self) -> Mapping[str, Any]:
        """What a receipt keeps of it."""
        return {"predicted": self.kept, "of": self.total, "cause": self.cause}


def same_beginning(
    last: Sent | None, now: Sent, count: Count, *, keeps_what_moved: bool = False
) -> Beginning:
    """How far *now* begins like *last*, in tokens as *count* counts them; ``None``: nothing was sent before.

    Whether the server *keeps_what_moved*, as llama.cpp does when asked to, is the caller's to know.
    """
    total = sum(_tokens(message, count) for message in now.messages)
    if last is None:
        return Beginning(total=total)
    both = zip(last.messages, now.messages, strict=False)
    whole = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    tokens = sum(_tokens(message, count) for message in now.messages[:whole])
    offset = _offset(last, now, whole)
    if offset:
        tokens += count(now.messages[whole].content[:offset]) + FRAME_TOKENS
    moved = 0
    if keeps_what_moved:
        pieces = _moved(_text(last, whole)[offset:], _text(now, whole)[offset:])
        moved = sum(_tokens_of(piece, count) for piece in pieces)
    return Beginning(
        tokens=min(tokens, total),
        moved=min(moved, max(0, total - tokens)),
        total=total,
        message=whole,
        offset=offset,
        cause=_cause(last, now, (whole, offset)) if tokens < total else "",
    )


def reported(usage: Usage | None, extra: Mapping[str, Any] = NOTHING) -> str:
    """What was predicted beside what the server says it reused, in a sentence; empty when neither is known."""
    note: Mapping[str, Any] = extra.get(CACHE) or NOTHING
    told = usage.cached_tokens if usage is not None else None
    if told is None:
        return f"Predicted from cache: {note['predicted']:,} of {note['of']:,} tokens." if note else ""
    of = f" of {usage.prompt_tokens:,}" if usage is not None and usage.prompt_tokens else ""
    predicted = f"; predicted were {note['predicted']:,} of {note['of']:,}" if note else ""
    return f"The server took {told:,}{of} tokens from its cache{predicted}."


def _cause(last: Sent, now: Sent, at: tuple[int, int]) -> str:
    """What is different at a place: what came there, else what left it, else what changed."""
    changes = diff(last, now).changes
    here, there = _piece(now, at), _piece(last, at)
    found = [
        *(each for each in changes if each.kind is ChangeKind.ADDED and _is_about(each, here)),
        *(each for each in changes if each.kind is ChangeKind.REMOVED and _is_about(each, there)),
        *(each for each in changes if _is_about(each, here) or _is_about(each, there)),
        *changes,
    ]
    return found[0].text.partition(" ")[2] if found else ""


def _piece(sent: Sent, at: tuple[int, int]) -> Segment | None:
    """What stands at a place, or next after it; what stands for the turn before a part is taken for the part."""
    return next(
        (
            each
            for each in sent.segments
            if (each.message, each.end) > at and each.kind is not SegmentKind.PLACEHOLDER
        ),
        None,
    )


def _is_about(change: Change, segment: Segment | None) -> bool:
    return segment is not None and (change.source, change.source_id) == (segment.source, segment.source_id)


def _tokens(message: Message, count: Count) -> int:
    return count(message.content) + FRAME_TOKENS


def _offset(last: Sent, now: Sent, at: int) -> int:
    """How many characters two messages that differ have in common at their beginning."""
    if at >= min(len(last.messages), len(now.messages)):
        return 0
    old, new = last.messages[at], now.messages[at]
    return _in_common(old.content, new.content) if old.role == new.role else 0


def _in_common(old: str, new: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _text(sent: Sent, first: int) -> str:
    """The messages from number *first* as one text: the content of the first, and the others behind their frames."""
    return _FRAME.join(f"{each.role}\n{each.content}" for each in sent.messages[first:]).partition("\n")[2]


def _moved(old: str, new: str) -> Iterator[str]:
    """The pieces of *new* that stand further on in *old*, in order and without a gap, as llama.cpp looks for them."""
    at = 0
    while (piece := new[at : at + _PROBE]) and len(piece) == _PROBE:
        found = old.find(piece)
        if found < 0:
            return
        length = _in_common(old[found:], new[at:])
        yield new[at : at + length]
        at, old = at + length, old[found + length :]


def _tokens_of(piece: str, count: Count) -> int:
    """The tokens of a piece of :func:`_text`; each frame in it is the beginning of a message."""
    first, *rest = piece.split(_FRAME)
    return count(first) + sum(count(each.partition("\n")[2]) + FRAME_TOKENS for each in rest)
