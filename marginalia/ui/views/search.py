"""The search over all branches: its hits in a list; tree and text mark them too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.story.search import ELLIPSIS, Query
from marginalia.ui.components.telling import SearchBar
from marginalia.ui.view import View
from marginalia.ui.words import count
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.finding import Found, HitRow
    from marginalia.ui.workbench import Workbench


class SearchView(View):
    """Asks the workbench while one types, and shows what it finds; searches again when the story changed."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._bar = SearchBar(sizing_mode="stretch_width")
        self._bar.hear(ready=self._found, search=self._search, read=self._read, close=self._close)
        self.follow("searching", then=self._open, of=bench, always=True)
        self.follow("found", then=self._found, of=bench)
        self.follow("shape", then=self._again)

    def __panel__(self) -> SearchBar:
        return self._bar

    def _open(self, *_: object) -> None:
        if self._bench.searching and self._bar.shown:
            self._bar.tell("focus")
        self._bar.shown = self._bench.searching

    def _found(self, *_: object) -> None:
        found: Found = self._bench.found
        rows = [_row(hit, found.query) for hit in found.rows] if found.query else []
        self._bar.tell("found", rows=rows, text=_said(found))

    async def _again(self, *_: object) -> None:
        if self._bench.searching and self._bench.found.query:
            await self._bench.search(self._bench.found.query)

    async def _search(self, said: Said) -> None:
        await self._bench.search(str(said.get("query", "")))

    async def _read(self, said: Said) -> None:
        await self._bench.read(PartId(int(said["id"])))

    def _close(self, _: Said) -> None:
        self._bench.close_search()


def _row(hit: HitRow, query: str) -> dict[str, Any]:
    text = _whole_words(hit.excerpt, Query.parse(query))
    pieces: list[list[Any]] = []
    at = 0
    for start, end in Query.parse(query).spans(text):
        pieces += [[False, text[at:start]], [True, text[start:end]]]
        at = end
    pieces.append([False, text[at:]])
    return {"id": hit.part, "where": f"#{hit.number}" if hit.number else "branch", "pieces": pieces}


def _whole_words(excerpt: str, query: Query) -> str:
    """*excerpt* without the broken words at its ends, where that costs nothing that was found."""
    spans = query.spans(excerpt)
    if not spans:
        return excerpt
    first, last = spans[0][0], spans[-1][1]
    begin, end = excerpt.find(" ") + 1, excerpt.rfind(" ")
    if excerpt.endswith(ELLIPSIS) and end >= last:
        excerpt = excerpt[:end] + ELLIPSIS
    if excerpt.startswith(ELLIPSIS) and 0 < begin <= first:
        excerpt = ELLIPSIS + excerpt[begin:]
    return excerpt


def _said(found: Found) -> str:
    if not found.query.strip():
        return ""
    if not found.total:
        return "nothing"
    more = f", the first {len(found.rows):,}" if found.total > len(found.rows) else ""
    return count(found.total, "part") + more
