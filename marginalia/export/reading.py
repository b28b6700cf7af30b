"""Markdown of the parts as blocks. HTML in it is text, images are their descriptions, links lead to the web or mail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import cast
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from marginalia.export.blocks import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Run
from marginalia.export.manuscript import Manuscript
from marginalia.values import counted

# The same reading as on the page: a line that ends is a line that ends.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough"])
# What programs that check files take for a host or an address of mail; others they call an error of the whole file.
_HOST = re.compile(r"[a-z0-9._~-]+|[0-9a-f:.]*:[0-9a-f:.]*", re.IGNORECASE)
_MAIL = re.compile(r"[^@\s%]+@[^@\s%]+")
HERE = 0.1  # the share of the work that reading is, in most formats
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


def read(manuscript: Manuscript) -> tuple[Block, ...]:
    """All blocks of the story in their order, the headings with anchors that are the same at every export."""
    blocks: list[Block] = []
    for text in counted(manuscript.texts, manuscript.progress, end=HERE):
        if blocks and manuscript.breaks:
            blocks.append(Rule())
        blocks.extend(read_text(text))
    anchors = (f"heading-{number}" for number in count(1))
    return tuple(_anchored(block, anchors) for block in blocks)


def read_text(text: str) -> tuple[Block, ...]:
    """The blocks of one Markdown text."""
    return _blocks(_MARKDOWN.parse(text))


def _anchored(block: Block, anchors: Iterator[str]) -> Block:
    return replace(block, anchor=next(anchors)) if isinstance(block, Heading) else block


def _blocks(tokens: Sequence[Token]) -> tuple[Block, ...]:
    """The blocks of tokens that open and close in balance."""
    blocks: list[Block] = []
    at = 0
    while at < len(tokens):
        end = _closing(tokens, at)
        block = _block(tokens[at], tokens[at + 1 : end])
        if block is not None:
            blocks.append(block)
        at = end + 1
    return tuple(blocks)


def _closing(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens)


def _block(token: Token, inside: Sequence[Token]) -> Block | None:
    read_one = _READERS.get(token.type)
    return None if read_one is None else read_one(token, inside)


def _items(tokens: Sequence[Token]) -> tuple[tuple[Block, ...], ...]:
    items: list[tuple[Block, ...]] = []
    at = 0
    while at < len(tokens):
        end = _closing(tokens, at)
        items.append(_blocks(tokens[at + 1 : end]))
        at = end + 1
    return tuple(items)


def _runs(tokens: Sequence[Token]) -> tuple[Run, ...]:
    """The styled stretches of a block's text; neighbours in one style are one."""
    found = [run for token in tokens for run in _styled(token.children or ())]
    joined = (
        [replace(first, text="".join(each.text for each in (first, *alike)))]
        for _, group in groupby(found, key=lambda run: (replace(run, text=""), run.text == "\n"))
        for first, *alike in [tuple(group)]
    )
    return tuple(run for runs in joined for run in runs)


def _styled(tokens: Sequence[Token]) -> Iterator[Run]:
    depth = dict.fromkeys(_STYLES, 0)
    links: list[str] = []
    for token in tokens:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if name in depth:
            depth[name] += token.nesting
        elif token.type == "link_open":
            links.append(_safe_link(cast("str", token.attrGet("href") or "")))
        elif token.type == "link_close":
            links.pop()
        else:
            text = "\n" if token.type in {"softbreak", "hardbreak"} else token.content
            if text:
                yield Run(
                    text=text,
                    bold=depth["strong"] > 0,
                    italic=depth["em"] > 0,
                    strike=depth["s"] > 0,
                    code=token.type == "code_inline",
                    link=links[-1] if links else "",
                )


def _safe_link(address: str) -> str:
    """The address, if it leads where a reader expects; else none, and the text stays."""
    try:
        parts = urlsplit(address)
        leads = bool(parts.hostname and _HOST.fullmatch(parts.hostname)) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        return ""
    match parts.scheme.lower():
        case "http" | "https":
            return address if leads else ""
        case "mailto":
            return address if _MAIL.fullmatch(parts.path) else ""
        case _:
            return ""


_READERS: Mapping[str, Callable[[Token, Sequence[Token]], Block]] = {
    "paragraph_open": lambda _, inside: Paragraph(runs=_runs(inside)),
    "heading_open": lambda token, inside: Heading(level=int(token.tag[1]), runs=_runs(inside)),
    "blockquote_open": lambda _, inside: Quote(blocks=_blocks(inside)),
    "bullet_list_open": lambda _, inside: Listing(items=_items(inside)),
    "ordered_list_open": lambda token, inside: Listing(
        items=_items(inside), start=int(token.attrGet("start") or 1)
    ),
    "fence": lambda token, _: Code(text=token.content.rstrip("\n")),
    "code_block": lambda token, _: Code(text=token.content.rstrip("\n")),
    "hr": lambda _token, _inside: Rule(),
}
