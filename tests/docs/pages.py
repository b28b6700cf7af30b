"""The pages of the documentation, their listings, and how a listing is run."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ]
)
_FENCE = re.compile(r"^```(\w+)?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Listing:
    """A fenced block: its language, its text, and the line of the page that it begins on."""

    page: Path
    language: str
    text: str
    line: int

    @property
    def file(self) -> str:
        """The name of the file that the listing says it is: its first line, as a comment."""
        first = self.text.partition("\n")[0]
        return first[2:] if re.fullmatch(r"# [\w./-]+\.\w+", first) else ""

    def write(self, folder: Path) -> None:
        """Put the file that the listing is into *folder*."""
        path = folder / self.file
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.text, encoding="utf-8")


def listings(page: Path, language: str) -> list[Listing]:
    text = page.read_text(encoding="utf-8")
    return [
        Listing(page, language, found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in _FENCE.finditer(text)
        if found[1] == language
    ]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


async def run(listing: Listing, module: ModuleType) -> None:
    """Run a listing as a notebook cell would: ``await`` works, names stay for the next one."""
    source = "\n" * (listing.line - 1) + listing.text
    code = compile(source, str(listing.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    answer = eval(code, vars(module))  # noqa: S307 - our own pages
    if inspect.isawaitable(answer):
        await answer
