"""A run in a notebook cell: what it does and writes while it goes on, and its timeline when it has ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from marginalia.ui.stills import html
from marginalia.ui.words import doing, rate, seconds

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run

UPDATES_PER_SECOND = 8
_FRAME = "font:13px/1.5 system-ui,sans-serif;max-width:60rem"
_PROSE = "font:15px/1.6 Georgia,serif;white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0 8px"
_following: set[asyncio.Task[None]] = set()


def show(run: Run) -> None:
    """Display *run* in the cell that asks, and keep what stands there up to date until it has ended."""
    notebook: Any = import_module("IPython.display")  # only a notebook has it, and only it asks
    shown = notebook.display(notebook.HTML(live_html(run)), display_id=True)
    if run.ended:
        return

    def update() -> None:
        shown.update(notebook.HTML(live_html(run)))

    # In a context of its own: what it updates then belongs to the cell that runs at that moment, as nbclient asks.
    task = asyncio.get_running_loop().create_task(_follow(run, update), context=Context())
    _following.add(task)
    task.add_done_callback(_following.discard)


async def _follow(run: Run, update: Callable[[], None]) -> None:
    seen = 0
    while not run.ended:
        seen = await run.changed(seen)
        if not run.ended:
            update()
            with suppress(TimeoutError):  # the end is shown at once, whoever else waits for it
                await asyncio.wait_for(run.settled(), 1 / UPDATES_PER_SECOND)
    update()


def live_html(run: Run) -> str:
    """*run* as it is now: a line on what it does, its reasoning folded, its text; after the end its timeline."""
    thoughts = (
        f"<details><summary>Reasoning</summary><div style='{_PROSE}'>{escape(run.reasoning)}</div></details>"
        if run.reasoning
        else ""
    )
    text = f"<div class='marginalia-text' style='{_PROSE}'>{escape(run.text)}</div>" if run.text else ""
    notes = "".join(f"<p>{escape(each)}</p>" for each in dict.fromkeys((*run.warnings, *_failure(run))))
    timeline = html(run.timeline) if run.ended else ""
    line = f"<div role='status' style='opacity:.75'>{escape(_status(run))}</div>"
    return f"<div style='{_FRAME}'>{line}{thoughts}{text}{notes}</div>{timeline}"


def _status(run: Run) -> str:
    now = time.monotonic()
    if not run.ended:
        speed = rate(run, now)
        return f"{doing(run)[0]} {seconds(now - run.started)}" + (
            f", {speed:.1f} tokens a second" if speed else ""
        )
    timeline = run.timeline
    facts = [timeline.ended, f"{timeline.tokens:,} tokens", seconds(timeline.seconds)]
    return " · ".join([*facts, *([f"{timeline.rate:.1f} tokens a second"] if timeline.rate else [])])


def _failure(run: Run) -> tuple[str, ...]:
    return (str(run.error),) if run.error is not None else ()
