"""The app's panels in a notebook cell: each thing with the script, the style and the rows that the app has for it.

A panel is one piece of HTML that needs no server and asks nothing of another host. Where scripts do not run (a notebook
that is not trusted, a preview of the file), the plain picture of the thing stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any

from marginalia.prompt.budget import Budget
from marginalia.prompt.diff import Diff
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.segments import LoreList, Prompt
from marginalia.prompt.showing import budget_html, diff_html, lore_html, prompt_html, timeline_html
from marginalia.prompt.timeline import Timeline
from marginalia.story.drawing import draw
from marginalia.story.tree import StoryTree
from marginalia.studio.reruns import Rerun
from marginalia.ui.assets import script, style
from marginalia.ui.messages import calls_of, calls_of_notes, diff_row, message_rows
from marginalia.ui.picture import COLUMNS, bars
from marginalia.ui.theme import SHARE_COLOURS
from marginalia.ui.timeline import timeline_row
from marginalia.ui.treestill import tree_svg
from marginalia.ui.words import count

_ABOVE = 0.5


def html(thing: object) -> str:
    """*thing* as the app shows it. Raises ``TypeError`` for what the app has no panel for."""
    for kind, make in _PANELS:
        if isinstance(thing, kind):
            return make(thing)
    raise TypeError(f"There is no panel for {type(thing).__name__}.")


def panel(
    scripts: Sequence[str],
    styles: Sequence[str],
    *,
    plain: str,
    params: Mapping[str, Any] | None = None,
    message: Mapping[str, Any] | None = None,
) -> str:
    """A component with its parameters, told one message; *plain* stands there until it has come up."""
    told = {"params": params or {}, "messages": [message] if message is not None else []}
    data = json.dumps(told).replace("<", r"\u003c")
    sheet = json.dumps(_style(tuple(styles))).replace("<", r"\u003c")
    name = sha256(f"{scripts}{data}".encode()).hexdigest()[:16]
    start = f'appear_("{name}", {data}, {sheet})'
    code = f"{_script(tuple(scripts))}\n{start}"
    return f'<div data-marginalia="{name}">{plain}</div><script type="module">{code}</script>'


def _prompt(prompt: Prompt) -> str:
    rows = message_rows(prompt.messages, prompt.segments, calls_of(prompt.lore))
    troubles = [trouble.text for trouble in prompt.problems]
    return _reader(rows, "What would be sent", prompt_html(prompt), troubles)


def _receipt(receipt: Receipt) -> str:
    rows = message_rows(receipt.messages, receipt.segments, calls_of_notes(receipt.lore))
    return _reader(rows, "What was sent", prompt_html(receipt))


def _reader(rows: list[dict[str, Any]], what: str, plain: str, troubles: Sequence[str] = ()) -> str:
    tokens = sum(row["tokens"] for row in rows)
    message = {
        "type": "prompt", "total": len(rows), "changed": list(enumerate(rows)), "mark": "", "meter": "",
        "troubles": list(troubles),
        "top": f"{what}: {count(len(rows), 'message')}, {count(tokens, 'token')}.",
    }  # fmt: skip
    return panel(
        ("messages", "differences", "prompt"), ("messages", "differences", "mark", "prompt"),
        plain=plain, message=message,
    )  # fmt: skip


def _budget(budget: Budget) -> str:
    shares = [share for share in budget.shares if share.tokens > 0]
    found = bars(shares, ())
    columns = zip(*(found[name] for name in COLUMNS), strict=True)
    pieces = [dict(zip(COLUMNS, values, strict=True)) for values in columns]
    rows = [
        {
            "label": each.label,
            "value": f"{each.tokens:,}",
            "title": each.detail,
            "colour": SHARE_COLOURS[each.kind],
        }
        for each in shares
    ]
    of = f" of {budget.limits.context:,}" if budget.limits.context else ""
    params = {
        "bars": [{**each, "above": each["top"] > _ABOVE} for each in pieces],
        "headline": f"{budget.used:,}{of} tokens",
        "note": f"{budget.limits.response:,} are kept for the answer, {budget.free:,} are free."
        if budget.fits
        else f"{count(budget.overflow, 'token')} too many before any of the story is in.",
        "rows": rows,
    }
    return panel(("context",), ("figures", "context"), plain=budget_html(budget), params=params)


def _lore(lore: LoreList) -> str:
    order = sorted(lore, key=lambda each: (not each.active, not each.nearly))
    rows = [
        {
            "name": each.entry.name, "lorebook": each.lorebook, "reason": each.reason, "tokens": each.tokens,
            "state": "in" if each.active else "nearly" if each.nearly else "out",
        }
        for each in order
    ]  # fmt: skip
    return panel(("verdicts",), ("lore", "verdicts"), plain=lore_html(lore), params={"rows": rows})


def _diff(diff: Diff) -> str:
    params = {"diff": diff_row("What is different", diff)}
    return panel(
        ("messages", "differences", "differing"), ("messages", "differences"), plain=diff_html(diff), params=params
    )  # fmt: skip


def _rerun(rerun: Rerun) -> str:
    return _diff(rerun.diff)


def _timeline(timeline: Timeline) -> str:
    message = {"type": "timeline", "timeline": timeline_row(timeline)}
    return panel(("timeline",), ("timeline",), plain=timeline_html(timeline), message=message)


def _tree(tree: StoryTree) -> str:
    return tree_svg(draw(tree))


_PANELS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (Prompt, _prompt),
    (Receipt, _receipt),
    (Budget, _budget),
    (LoreList, _lore),
    (Diff, _diff),
    (Rerun, _rerun),
    (Timeline, _timeline),
    (StoryTree, _tree),
)


@cache
def _script(names: tuple[str, ...]) -> str:
    return script(*names, "inline")


@cache
def _style(names: tuple[str, ...]) -> str:
    return "\n".join(style(*names, "inline"))
