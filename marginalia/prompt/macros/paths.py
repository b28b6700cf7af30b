"""Names and dotted paths."""

from __future__ import annotations

import re

from marginalia.prompt.macros.tree import Path

_WORD = r"[^\W\d][\w-]*"
_PATH = re.compile(rf"((?:\.\./)*)(\.|@?{_WORD}|\./{_WORD})((?:[./]{_WORD})*)")
_BETWEEN = re.compile(r"[./]")

BUILT_IN = frozenset({"if", "unless", "each"})
"""The blocks of the language itself."""


def path_of(words: str, start: int) -> Path | None:
    """*words* as a name or dotted path, or None when they are none; *start* is where they stand."""
    match = _PATH.fullmatch(words)
    if not match:
        return None
    ups, first, rest = match.groups()
    names = [*first.split("/"), *_BETWEEN.split(rest)[1:]]
    if names[0] == "this":
        names[0] = "."
    return Path(words, ups.count("../"), tuple(names), start)
