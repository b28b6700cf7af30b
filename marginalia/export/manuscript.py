"""What is exported: the texts of the chosen parts, and what stands on the title page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from marginalia.errors import InvalidInput
from marginalia.values import Progress, untold

# XML has no place for these, or discourages them, and no reader shows them (XML 1.0, section 2.2); the last two of each
# plane and U+FDD0 to U+FDEF are no characters (Unicode, section 23.7).
_NO_CHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17)
)
_UNPRINTABLE = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff{_NO_CHARACTERS}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manuscript:
    """A story ready to be written to a file.

    ``texts`` are Markdown, one per part, none blank. ``made`` goes into formats that have a place for a date;
    ``identifier`` is the same for every edition of one book; ``language`` is a BCP 47 tag. ``contents`` puts a table of
    contents where the story has headings; ``breaks`` puts a scene break between parts. ``progress`` is told how far the
    writing is; what it raises ends that.
    """

    title: str
    texts: tuple[str, ...]
    made: datetime
    author: str = ""
    identifier: str = ""
    language: str = "en"
    title_page: bool = True
    contents: bool = True
    breaks: bool = False
    progress: Progress = field(default=untold, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", self.language):
            raise InvalidInput(f"{self.language!r} is no language tag; use one like en, de or pt-BR.")
        object.__setattr__(self, "title", printable(" ".join(self.title.split())) or "Untitled")
        object.__setattr__(self, "author", printable(" ".join(self.author.split())))
        object.__setattr__(self, "texts", tuple(printable(text) for text in self.texts))

    @property
    def right_to_left(self) -> bool:
        """Whether the story is written from right to left: what its first letter with a direction says."""
        strong = (unicodedata.bidirectional(each) for text in (*self.texts, self.title) for each in text)
        return next((each for each in strong if each in {"L", "R", "AL"}), "L") != "L"


def chosen(texts: Iterable[str], first: int | None = None, last: int | None = None) -> tuple[str, ...]:
    """The texts from *first* to *last*; blank ones do not count, the first has number 1, ``None`` is the end.

    A *last* beyond the end is the end. Raises ``InvalidInput`` for a range that has nothing in it.
    """
    written = tuple(text for text in texts if text.strip())
    begin, end = 1 if first is None else first, len(written) if last is None else last
    if first is None and last is None:
        return written
    if begin < 1 or end < begin or begin > len(written):
        raise InvalidInput(
            f"The story has {len(written)} parts with text, and {begin} to {end} is no range of them. "
            "The first part is 1."
        )
    return written[begin - 1 : end]


def printable(text: str) -> str:
    """*text* without control characters, and with the line ends of Unix."""
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
