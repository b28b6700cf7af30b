"""Parts, summaries, revisions and steps of a story, as the browser takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.story.differences import differences
from marginalia.story.outline import first_words
from marginalia.ui.safe import safe
from marginalia.ui.words import ago, count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from marginalia.store.revisions import Revision
    from marginalia.story.outline import Row
    from marginalia.story.overview import SummaryNode
    from marginalia.story.parts import Part
    from marginalia.values import PartId

_STEPS = {
    "activate": "going to another branch",
    "append": "a part written by hand",
    "delete": "deleting a part",
    "edit": "an edit",
    "fork": "a branch",
    "generate": "a part that was generated",
    "mark": "a bookmark or label",
    "merge": "merging two parts",
    "move": "moving a part",
    "restore": "going back to a revision",
    "split": "splitting a part",
    "store": "keeping a part",
    "summary": "a summary",
    "undelete": "bringing a part back",
}
_ORIGINS = {
    "generated": "written by the model",
    "recovered": "kept when the program ended",
    "written": "written by hand",
    "edited": "edited",
    "restored": "brought back",
    "copied": "copied from another version",
    "stored": "stored",
}
_NO_TEXT = "(no text)"


def step_words(kind: str) -> str:
    """What a step of a story was, to stand after ``Undone:``."""
    return _STEPS.get(kind, kind)


def part_row(
    part: Part, *, number: int, versions: tuple[int, int], last: bool, now: datetime
) -> dict[str, Any]:
    """A part to read."""
    return {
        "id": part.id,
        "number": number,
        "html": safe(part.text),
        "partial": _cut_short(part),
        "at": versions[0],
        "of": versions[1],
        "last": last,
        "label": part.label,
        "bookmarked": part.bookmarked,
        "summary": part.summary_id is not None,
        "facts": " · ".join(_facts(part, now)),
    }


def outline_row(row: Row) -> dict[str, Any]:
    """A part in the outline."""
    return {
        "id": row.part,
        "words": row.words or _NO_TEXT,
        "heading": row.heading,
        "at": row.version,
        "of": row.versions,
        "tokens": row.tokens,
        "partial": row.partial,
        "summary": row.summary[:400],
        "covered": row.covered,
        "bookmarked": row.bookmarked,
        "label": row.label,
    }


def summary_row(node: SummaryNode, branch: Sequence[PartId]) -> dict[str, Any]:
    """A summary in the overview, with what it merged."""
    summary = node.summary
    oldest = min((branch.index(part) + 1 for part in node.parts if part in branch), default=node.number)
    where = f"#{node.number}" if oldest == node.number else f"#{oldest}\u2013#{node.number}"
    saved = node.story_tokens - summary.tokens
    return {
        "part": summary.part_id,
        "number": node.number,
        "where": where,
        "text": summary.text,
        "meta": summary.meta,
        "replaced": node.replaced,
        "facts": f"{count(summary.tokens, 'token')} for {node.story_tokens:,}"
        + (f", saves {saved:,}" if saved > 0 else ""),
        "stale": str(node.stale) if node.stale is not None else "",
        "children": [summary_row(child, branch) for child in node.children],
    }


def summaries_headline(nodes: Sequence[SummaryNode]) -> str:
    """What all summaries in use come to."""
    if not nodes:
        return ""
    spent = sum(node.summary.tokens for node in nodes)
    instead = sum(node.story_tokens for node in nodes)
    plural = "1 summary" if len(nodes) == 1 else f"{len(nodes):,} summaries"
    return f"{plural}, {count(spent, 'token')} instead of {instead:,}"


def revision_rows(revisions: Sequence[Revision], now: datetime) -> list[dict[str, Any]]:
    """The texts that a part has had, newest first, each with what is different in the present one."""
    present = next((each.text for each in revisions if each.current), "")
    return [
        {
            "id": each.id,
            "current": each.current,
            "when": ago(each.created, now),
            "exact": f"{each.created:%Y-%m-%d %H:%M:%S} UTC",
            "how": _ORIGINS.get(each.origin, "kept"),
            "size": count(each.words, "word"),
            "pieces": [[piece.kind, piece.text] for piece in differences(each.text, present)],
        }
        for each in reversed(revisions)
    ]


def trash_rows(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The deleted parts, the one deleted last first."""
    return [
        {
            "id": part.id,
            "words": first_words(part.text, 180)[0] or _NO_TEXT,
            "size": count(part.words, "word"),
        }
        for part in reversed(parts)
    ]


def _cut_short(part: Part) -> str:
    if part.partial:
        return "it ends here: what had come was kept"
    return "the answer's limit was reached here" if part.finish_reason == "length" else ""


def _facts(part: Part, now: datetime) -> list[str]:
    facts = [
        part.model or "written by hand",
        count(part.tokens, "token"),
        count(part.words, "word"),
        ago(part.created, now),
    ]
    return [*facts, "edited"] if part.edited else facts
