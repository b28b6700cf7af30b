"""Names of files that are made from names people gave."""

from __future__ import annotations

import re

_KEPT = 60
_UNSAFE = re.compile(r"[^\w\- ]+")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)")


def file_name(name: str) -> str:
    """*name* as the beginning of a file's name on any system.

    Letters, digits, ``-`` and ``_``, at most 60 characters.
    """
    plain = "-".join(_UNSAFE.sub(" ", name).split())[:_KEPT].strip("-_")
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain or "book"
