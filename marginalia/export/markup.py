"""Blocks as markup that is HTML and XHTML at once: every text escaped, every tag one of ours."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from marginalia.export.blocks import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Run

_LOWEST = 6


def markup(blocks: Iterable[Block], *, deeper: int = 0) -> str:
    """The markup of *blocks*, one block per line; headings are *deeper* levels down."""
    return "\n".join(_block(block, deeper) for block in blocks)


def _block(block: Block, deeper: int) -> str:
    match block:
        case Paragraph():
            return f"<p>{_inline(block.runs)}</p>"
        case Heading():
            tag = f"h{min(_LOWEST, block.level + deeper)}"
            name = f' id="{escape(block.anchor)}"' if block.anchor else ""
            return f"<{tag}{name}>{_inline(block.runs)}</{tag}>"
        case Quote():
            return f"<blockquote>\n{markup(block.blocks, deeper=deeper)}\n</blockquote>"
        case Listing():
            return _listing(block, deeper)
        case Code():
            return f"<pre><code>{escape(block.text)}</code></pre>"
        case Rule():
            return "<hr/>"


def _listing(listing: Listing, deeper: int) -> str:
    tag = "ul" if listing.start is None else "ol"
    start = "" if listing.start in {None, 1} else f' start="{listing.start}"'
    items = "\n".join(f"<li>{_item(item, deeper)}</li>" for item in listing.items)
    return f"<{tag}{start}>\n{items}\n</{tag}>"


def _item(item: tuple[Block, ...], deeper: int) -> str:
    if len(item) == 1 and isinstance(item[0], Paragraph):
        return _inline(item[0].runs)
    return markup(item, deeper=deeper)


def _inline(runs: Iterable[Run]) -> str:
    return "".join(_run(run) for run in runs)


def _run(run: Run) -> str:
    text = escape(run.text, quote=False).replace("\n", "<br/>")
    for wanted, tag in ((run.code, "code"), (run.strike, "s"), (run.italic, "em"), (run.bold, "strong")):
        if wanted:
            text = f"<{tag}>{text}</{tag}>"
    return f'<a href="{escape(run.link)}">{text}</a>' if run.link else text
