"""The fonts of a PDF: Source Serif, which a package brings, and the machine's own where that lacks a character."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.util import find_spec
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

# Scripts that fonts of the Noto and Lohit families have files of their own for.
_SCRIPTS = (
    "Hebrew", "Arabic", "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada",
    "Malayalam", "Sinhala", "Thai", "Lao", "Tibetan", "Myanmar", "Khmer", "Georgian", "Armenian", "Ethiopic",
)  # fmt: skip
# Fonts with many scripts, in the order in which they are tried.
_WIDE = (
    "DejaVuSerif.ttf",
    "NotoSerif-Regular.ttf",
    "Amiri-Regular.ttf",
    "NotoNaskhArabic-Regular.ttf",
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
    *(f"Noto{kind}{script}-Regular.ttf" for script in _SCRIPTS for kind in ("Serif", "Sans")),
    *(f"Lohit-{script}.ttf" for script in _SCRIPTS),
    "Times New Roman.ttf",
    "times.ttf",
    "Nirmala.ttf",
    "Nirmala.ttc",
    "LeelawUI.ttf",
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
# From Devanagari to Sinhala, Tibetan, Myanmar, Khmer, Mongolian, Javanese and their like.
_JOINED = (
    (0x0900, 0x0DFF),
    (0x0F00, 0x109F),
    (0x1780, 0x18AF),
    (0x1A20, 0x1CFF),
    (0xA840, 0xA9FF),
    (0xAA00, 0xABFF),
)
_SHOWN = 5  # characters named in an error
_SHAPER = "uharfbuzz"
_BLANKS = re.compile(r"[^\S\n]")
_SOFT_HYPHEN = "\xad"


def missing(characters: Collection[str], font: Path) -> frozenset[str]:
    """Those of *characters* that *font* has no picture for; blanks need none, nor do marks that are never seen."""
    known = _known(font)
    return frozenset(
        each for each in characters if ord(each) not in known and not each.isspace() and not _is_unseen(each)
    )


def needs_shaping(characters: Collection[str]) -> bool:
    """Whether there are letters that join, stack or run from right to left.

    Raises ``InvalidInput`` for them where what shapes them is not installed: letter by letter they could not be read.
    """
    found = sorted(each for each in characters if _is_shaped(each))
    if found and find_spec(_SHAPER) is None:
        scripts = dict.fromkeys(unicodedata.name(each, "?").split()[0].capitalize() for each in found)
        raise InvalidInput(
            f"This story has letters of {' and '.join(scripts)}, which a PDF made here would set so that nobody could "
            f"read them, since {_SHAPER} is not installed. Install it, or export as EPUB, DOCX or HTML, which readers "
            "set right."
        )
    return bool(found)


def _is_shaped(character: str) -> bool:
    code = ord(character)
    return unicodedata.bidirectional(character) in {"R", "AL"} or any(
        first <= code <= last for first, last in _JOINED
    )


def set_alone(text: str) -> str:
    """*text* without what only tells neighbouring letters how to join, and has no picture of its own."""
    return "".join(each for each in text if not _is_unseen(each) or each == _SOFT_HYPHEN)


def with_plain_blanks(text: str) -> str:
    """*text* with a blank in the place of each one that the book's font does not know, a tab among them."""
    known = _known(STYLES[""])
    return _BLANKS.sub(lambda found: found[0] if ord(found[0]) in known else " ", text.expandtabs(4))


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"


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
