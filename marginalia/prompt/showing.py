"""Prompts, budgets, verdicts and differences as HTML for a notebook cell: one escaped string each, no script.

Colours are translucent, so that they read on light and on dark pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marginalia.lore.verdicts import Verdict
    from marginalia.prompt.budget import Budget, Share
    from marginalia.prompt.diff import Change, Diff
    from marginalia.prompt.segment import Segment, Sent
    from marginalia.prompt.timeline import Span, Timeline
    from marginalia.prompt.wording import Stretch

TINTS: Mapping[str, str] = {
    "jailbreak": "#8a5a3c",
    "system": "#7a7269",
    "lore": "#b98a2f",
    "summary": "#7d6a9c",
    "summaries": "#7d6a9c",
    "story": "#4f7f8c",
    "placeholder": "#86a5ac",
    "placeholders": "#86a5ac",
    "insert": "#4c8a76",
    "inserts": "#4c8a76",
    "reserve": "#7fa997",
    "foreign": "#96649b",
    "user_lore": "#d0a95a",
    "request": "#a9503f",
    "margin": "#a89f94",
    "safety": "#bdb5aa",
    "response": "#6d8f5e",
    "free": "#80766a",
}
"""A colour for every kind of segment and of share."""
SPAN_TINTS: Mapping[str, str] = {
    "step": "#4f7f8c",
    "listener": "#b98a2f",
    "model": "#6d8f5e",
    "notice": "#a9503f",
}
"""A colour for every lane of a timeline."""

_FRAME = "font:13px/1.5 system-ui,sans-serif;max-width:60rem"
_PROSE = "font:14px/1.55 Georgia,serif;white-space:pre-wrap;overflow-wrap:anywhere"
_QUIET = "opacity:.7;font-size:12px"
_LONG = 12
_STYLE_OF = {
    "same": "",
    "added": "background:#48734740;text-decoration:none",
    "removed": "background:#a3261b33;text-decoration:line-through",
}
_TAG_OF = {"same": "span", "added": "ins", "removed": "del"}
_MOST = 500
_STRESSED = re.compile(r"\*([^*]+)\*")


def prompt_html(sent: Sent) -> str:
    """The messages by role, every stretch in the colour of its source, long ones folded."""
    by_message: dict[int, list[Segment]] = {}
    for segment in sent.segments:
        by_message.setdefault(segment.message, []).append(segment)
    cards = (
        _card(message.role, _pieces(message.content, by_message.get(at, ())), by_message.get(at, ()))
        for at, message in enumerate(sent.messages)
    )
    return _framed("".join(cards))


def budget_html(budget: Budget) -> str:
    """The context as one bar, and its figures."""
    shares = [share for share in budget.shares if share.tokens > 0]
    whole = sum(share.tokens for share in shares) or 1
    bar = "".join(_bar(share, whole) for share in shares)
    rows = "".join(_share_row(share) for share in shares)
    limit = f" of {budget.limits.context:,}" if budget.limits.context else ""
    over = f" {budget.overflow:,} too many." if not budget.fits else ""
    head = f"<b>{budget.used:,}{limit} tokens</b>{over}"
    return _framed(
        f'{head}<div style="display:flex;height:18px;margin:6px 0">{bar}</div><table>{rows}</table>'
    )


def lore_html(verdicts: Sequence[Verdict]) -> str:
    """A table of the verdicts: in first, then what nearly was, then the rest; the first 500 of them."""
    order = sorted(verdicts, key=lambda each: (not each.active, not each.nearly))
    rows = "".join(_verdict_row(each) for each in order[:_MOST])
    more = f'<p style="{_QUIET}">and {len(order) - _MOST:,} more</p>' if len(order) > _MOST else ""
    active = sum(each.active for each in verdicts)
    return _framed(f"<b>{active:,} of {len(verdicts):,} entries are in.</b><table>{rows}</table>{more}")


def diff_html(diff: Diff) -> str:
    """Every change in one line with its cause; changed texts unfold."""
    notes = "".join(f"<p>{escape(note)}</p>" for note in diff.notes)
    lines = "".join(_change(change) for change in diff.changes)
    head = f"{diff.before:,} → {diff.after:,} tokens, {diff.same:,} pieces are the same."
    return _framed(f'<p style="{_QUIET}">{head}</p>{notes}{lines or "<p>Nothing is different.</p>"}')


def timeline_html(timeline: Timeline) -> str:
    """A line per span with a bar on one scale of time, and its seconds."""
    whole = timeline.seconds or 1.0
    rows = "".join(_span_row(each, whole) for each in timeline)
    first = "" if timeline.first_token is None else f", first token after {timeline.first_token:.2f} s"
    rate = f", {timeline.rate:.1f} tokens a second" if timeline.rate else ""
    head = f"<b>{timeline.seconds:.2f} s{first}{rate}.</b> {escape(timeline.ended)}"
    return _framed(f'{head}<table style="width:100%">{rows}</table>')


def stressed(text: str) -> str:
    """*text* escaped, with ``*words*`` between asterisks stressed."""
    return _STRESSED.sub(r"<em>\1</em>", escape(text))


def _framed(inner: str) -> str:
    return f'<div style="{_FRAME}">{inner}</div>'


def _card(role: str, inner: str, segments: Sequence[Segment]) -> str:
    tokens = sum(segment.tokens for segment in segments)
    head = f'<b>{escape(role)}</b> <span style="{_QUIET}">{tokens:,} tokens</span>'
    is_open = "" if inner.count("\n") > _LONG else " open"
    return f'<details{is_open}><summary>{head}</summary><div style="{_PROSE}">{inner}</div></details>'


def _pieces(text: str, segments: Iterable[Segment]) -> str:
    found, at = list[str](), 0
    for segment in sorted(segments, key=lambda each: (each.start, each.end)):
        start, end = max(at, segment.start), max(at, segment.end)
        found.append(escape(text[at:start]))
        tint = "" if segment.kind in {"story", "system"} else f"background:{TINTS[segment.kind]}33"
        title = escape(f"{segment.source}: {segment.reason} ({segment.tokens:,} tokens)")
        found.append(f'<span style="{tint}" title="{title}">{escape(text[start:end])}</span>')
        at = end
    return "".join((*found, escape(text[at:])))


def _bar(share: Share, whole: int) -> str:
    style = f"width:{100 * share.tokens / whole:.3f}%;background:{TINTS[share.kind]}"
    faint = ";opacity:.25" if share.kind == "free" else ""
    return f'<i style="{style}{faint}" title="{escape(share.label)}: {share.tokens:,}"></i>'


def _share_row(share: Share) -> str:
    swatch = f'<i style="display:inline-block;width:10px;height:10px;background:{TINTS[share.kind]}"></i>'
    return (
        f'<tr><td>{swatch} {escape(share.label)}</td><td style="text-align:right">{share.tokens:,}</td>'
        f'<td style="text-align:left;{_QUIET}">{escape(share.detail)}</td></tr>'
    )


def _span_row(span: Span, whole: float) -> str:
    left, width = 100 * span.start / whole, 100 * (span.end - span.start) / whole
    bar = f"left:{min(left, 99.5):.2f}%;width:max(2px,{width:.2f}%);background:{SPAN_TINTS[span.lane.value]}"
    name = " · ".join(filter(None, (span.owner, span.name)))
    about = ", ".join(
        filter(None, (f"changed {', '.join(span.changed)}" if span.changed else "", span.detail))
    )
    return (
        f'<tr><td style="text-align:left;white-space:nowrap">{escape(name)}</td><td style="width:50%">'
        f'<div style="position:relative;height:10px"><i style="position:absolute;height:10px;{bar}"></i></div></td>'
        f'<td style="text-align:right">{span.end - span.start:.3f} s</td>'
        f'<td style="text-align:left;{_QUIET}">{escape(about)}</td></tr>'
    )


def _verdict_row(verdict: Verdict) -> str:
    dot = "●" if verdict.active else "◐" if verdict.nearly else "○"
    state = "in" if verdict.active else "nearly in" if verdict.nearly else "out"
    return (
        f'<tr><td title="{state}">{dot}</td><td style="text-align:left">{escape(verdict.entry.name)}</td>'
        f'<td style="text-align:right">{verdict.tokens:,}</td>'
        f'<td style="text-align:left">{stressed(verdict.reason)}</td></tr>'
    )


def _change(change: Change) -> str:
    head = f'{stressed(change.text)} <span style="{_QUIET}">{change.before:,} → {change.after:,}</span>'
    words = "".join(_stretch(each) for each in change.words)
    return f'<details><summary>{head}</summary><div style="{_PROSE}">{words}</div></details>'


def _stretch(stretch: Stretch) -> str:
    tag = _TAG_OF[stretch.fate]
    return f'<{tag} style="{_STYLE_OF[stretch.fate]}">{escape(stretch.text)}</{tag}>'
