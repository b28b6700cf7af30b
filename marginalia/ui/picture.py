"""The picture of a context: shares above, the pieces they are made of below, both on one scale of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marginalia.prompt.budget import Share
from marginalia.ui.theme import SHARE_COLOURS

if TYPE_CHECKING:
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.segment import Segment, Sent

COLUMNS = ("left", "right", "bottom", "top", "colour", "label", "tokens", "detail")
_SHARE_OF = {"summary": "summaries", "placeholder": "placeholders", "insert": "inserts"}
_LABELS = {
    "user_lore": "lore before the request",
    "placeholders": "between parts",
    "foreign": "by extensions",
    "response": "answer",
}
_ABOVE, _BELOW = (0.44, 0.96), (0.06, 0.36)


def bars(shares: Sequence[Share], segments: Iterable[Segment]) -> dict[str, Any]:
    """The columns of the picture; lists, because an array would not survive a reconnect (Bokeh issue 15347).

    A piece stands below its share, and never reaches beyond it, however its tokens were counted.
    """
    columns: dict[str, Any] = {name: list[Any]() for name in COLUMNS}
    free: dict[str, tuple[int, int]] = {}
    left = 0
    for share in shares:
        right = left + share.tokens
        free[share.kind] = (left, right)
        _add(columns, (left, right), _ABOVE, share.kind, (share.label, share.tokens, share.detail))
        left = right
    for segment in segments:
        kind = _SHARE_OF.get(segment.kind.value, segment.kind.value)
        start, end = free.get(kind, (0, 0))
        right = min(end, start + segment.tokens)
        if right > start:
            free[kind] = (right, end)
            what = (segment.source or segment.kind.value, segment.tokens, segment.reason)
            _add(columns, (start, right), _BELOW, kind, what)
    return columns


def shares_of(sent: Sent) -> list[Share]:
    """What was sent by kind, and what was kept for the answer, for a prompt whose budget nobody kept."""
    found: dict[str, int] = {}
    for segment in sent.segments:
        kind = _SHARE_OF.get(segment.kind.value, segment.kind.value)
        found[kind] = found.get(kind, 0) + segment.tokens
    found["response"] = sent.limits.response
    return [
        Share(kind=kind, label=_LABELS.get(kind, kind), tokens=tokens)
        for kind, tokens in found.items()
        if tokens
    ]


def shares_of_receipt(receipt: Receipt) -> list[Share]:
    """The budget of a part as it was; for one whose budget was not kept, what was sent by kind."""
    return list(receipt.shares) or shares_of(receipt)


def _add(
    columns: Mapping[str, Any],
    span: tuple[int, int],
    lane: tuple[float, float],
    kind: str,
    what: tuple[str, int, str],
) -> None:
    values = (*span, *lane, SHARE_COLOURS[kind], *what)
    for name, value in zip(COLUMNS, values, strict=True):
        columns[name].append(value)
