"""The fonts of a PDF: Source Serif, which a package brings, and the machine's own where that lacks a character."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from fontTools.ttLib import (  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs] - it has none
    TTFont,
    TTLibError,
)

from marginalia.errors import InvalidInput

FAMILY = "book"
_FOLDER = Path(str(resources.files("font_source_serif_pro") / "files"))
STYLES: Mapping[str, Path] = {
    "": _FOLDER / "SourceSerifPro-Regular.ttf",
    "B": _FOLDER / "SourceSerifPro-Bold.ttf",
    "I": _FOLDER / "SourceSerifPro-It.ttf",
    "BI": _FOLDER / "SourceSerifPro-BoldIt.ttf",
}
"""The files of the book's font by style, as fpdf2 names styles."""

# Fonts with many scripts, in the order in which they are tried.
_WIDE = (
    "DejaVuSerif.ttf",
    "NotoSerif-Regular.ttf",
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    "Arial Unicode.ttf",
    "arialuni.ttf",
    "seguisym.ttf",
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
    "NotoSerifCJK-Regular.ttc",
    "NotoSansJP-Regular.ttf",
    "NotoSansSC-Regular.ttf",
    "msyh.ttc",
    "msgothic.ttc",
    "malgun.ttf",
    "NotoEmoji-Regular.ttf",
)
_SHOWN = 5  # characters named in an error


def missing(characters: Collection[str], font: Path) -> frozenset[str]:
    """Those of *characters* that *font* has no picture for; blanks need none."""
    known = _known(font)
    return frozenset(each for each in characters if ord(each) not in known and not each.isspace())


def fallbacks(lacking: Collection[str]) -> tuple[Path, ...]:
    """Fonts of this machine that together have *lacking*; raises ``InvalidInput`` naming what none of them has."""
    found: list[Path] = []
    left = frozenset(lacking)
    for path in _installed() if left else ():
        still = missing(left, path)
        if still != left:
            found.append(path)
            left = still
        if not left:
            break
    if left:
        shown = " ".join(sorted(left)[:_SHOWN])
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        raise InvalidInput(
            f"No font on this machine has the characters {shown}{more}, so a PDF would lose them. "
            "Install a font that has them (Noto, for instance), or export as EPUB, DOCX or HTML."
        )
    return tuple(found)


def _installed() -> Iterator[Path]:
    """The wide fonts that are installed, the widest tried last."""
    by_name = {
        name.lower(): Path(folder) / name
        for top in _folders()
        for folder, _, names in os.walk(top)
        for name in names
    }
    return (by_name[name.lower()] for name in _WIDE if name.lower() in by_name)


def _folders() -> tuple[Path, ...]:
    home = Path.home()
    if sys.platform == "win32":
        return (
            Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts",
            home / "AppData/Local/Microsoft/Windows/Fonts",
        )
    if sys.platform == "darwin":
        return Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"
    return (
        Path("/usr/share/fonts"),
        Path("/usr/local/share/fonts"),
        home / ".local/share/fonts",
        home / ".fonts",
    )


@cache
def _known(font: Path) -> frozenset[int]:
    try:
        with TTFont(font, fontNumber=0, lazy=True) as opened:
            return frozenset(opened.getBestCmap() or ())
    except (OSError, TTLibError):  # a broken font of the machine has nothing to give
        return frozenset()
