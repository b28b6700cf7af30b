r"""Regular expressions of JavaScript, in which most tools write theirs, as ours, and ours as theirs.

Facts: research/templates.md, 3.2. What JavaScript refuses (possessive quantifiers, inline flags, atomic groups) is
refused here, because the tool that wrote the key took it as plain text. ``\b``, ``\w`` and ``\d`` stay
those of Unicode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import regex

from marginalia.lore.expressions import Expression

_TOKEN = regex.compile(
    r"""(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})
      | (?P<code>\\u\{[0-9a-fA-F]{1,6}\})
      | (?P<back>\\k<[A-Za-z_]\w*>)
      | (?P<property>\\[pP]\{[^{}]*\})
      | (?P<nul>\\0(?!\d))
      | (?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|c[A-Za-z]|.))
      | (?P<any>\[\^\])
      | (?P<nothing>\[\])
      | (?P<set>\[\^?(?:\\.|[^\]\\])*\])
      | (?P<group>\((?:\?(?::|=|!|<=|<!|<[A-Za-z_]\w*>))?)
      | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
      | (?P<other>.)""",
    regex.VERBOSE | regex.DOTALL,
)
_SLASHED = regex.compile(r"/((?:[^\\/]|\\.)+)/([a-z]*)", regex.DOTALL)
_FLAGS = frozenset("dgimsuvy")
_KNOWN_LETTERS = frozenset("dDwWsSbBnrtvf")
_LEADING = regex.compile(r"\(\?([a-zA-Z]+)\)")
_OUR_TOKEN = regex.compile(
    r"\\Q(.*?)(?:\\E|\Z)|\\x\{([0-9A-Fa-f]{1,6})\}|\\.|\(\?P<(\w+)>|\(\?P=(\w+)\)|.", regex.DOTALL
)
_SPECIAL = regex.compile(r"[\\^$.|?*+()\[\]{}/]")
_NOT_THEIRS = regex.compile(r"\(\?[>#(|&R0-9+-]|\(\?[a-zA-Z]+[:)]|[*+?}]\+|\\[GKX]|\[:\w+:\]")


def slashed(key: str) -> tuple[str, str] | None:
    """The body and the flags of a key that is written between slashes; ``None`` when it is not."""
    found = _SLASHED.fullmatch(key)
    if found is None or not set(found[2]) <= _FLAGS:
        return None
    return found[1], found[2]


def from_javascript(body: str, flags: str = "") -> str | None:
    """The expression in our dialect, in which the dot matches line breaks; ``None`` when JavaScript would refuse it."""
    written: list[str] = []
    repeated = True
    for token in _TOKEN.finditer(body):
        kind = token.lastgroup or "other"
        if kind == "repeat" and repeated:
            return None
        if kind == "group" and token[0] == "(" and body.startswith("?", token.end()):
            return None
        repeated = kind in {"repeat", "group"} or token[0] in {"|", "^"}
        written.append(_ours(kind, token[0], flags))
    source = "".join(written)
    source = f"(?m){source}" if "m" in flags else source
    return source if Expression(source).problem is None else None


def _ours(kind: str, written: str, flags: str) -> str:
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in _TURNED:
        return _TURNED[kind](written)
    if kind == "property":
        return written if {"u", "v"} & set(flags) else written[1:]
    return _character(written, flags) if kind == "other" else written


def _pair(written: str) -> str:
    high, low = int(written[2:6], 16), int(written[8:], 16)
    return rf"\x{{{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):x}}}"


def _set(written: str) -> str:
    return regex.sub(r"\\([a-zA-Z])(?![0-9a-fA-F]{2})", lambda each: _escape(each[0]), written)


def _escape(written: str) -> str:
    letter = written[1:2]
    plain = letter.isascii() and letter.isalpha() and len(written) == 2  # noqa: PLR2004 - a backslash and a letter
    return letter if plain and letter not in _KNOWN_LETTERS else written


_FIXED = {"any": r"[\s\S]", "nothing": "(?!)", "nul": r"\x00"}
_TURNED: Mapping[str, Callable[[str], str]] = {
    "pair": _pair,
    "code": lambda written: rf"\x{written[2:]}",
    "back": lambda written: f"(?P={written[3:-1]})",
    "escape": _escape,
    "set": _set,
}


def _character(written: str, flags: str) -> str:
    if written == "." and "s" not in flags:
        return r"[^\n]"
    if written == "$" and "m" not in flags:
        return r"\z"
    return f"\\{written}" if written in "{}]" else written


def to_javascript(source: str, *, case: bool) -> str | None:
    """The expression between slashes, with flags; ``None`` when it holds something that JavaScript does not have."""
    flags = "s" if case else "is"
    while leading := _LEADING.match(source):
        if set(leading[1]) - set("imsUud"):
            return None
        flags += "".join(flag for flag in leading[1] if flag in "im" and flag not in flags)
        source = source[leading.end() :]
    if _NOT_THEIRS.search(source):
        return None
    body = _OUR_TOKEN.sub(_theirs, source)
    flags += "u" if r"\u{" in body else ""
    return f"/{body}/{flags}" if body else None


def _theirs(found: regex.Match[str]) -> str:
    whole = found[0]
    if found[1] is not None:
        return escaped(found[1])
    if found[2] is not None:
        return rf"\u{{{found[2]}}}"
    if found[3] is not None:
        return f"(?<{found[3]}>"
    if found[4] is not None:
        return rf"\k<{found[4]}>"
    return {"/": r"\/", r"\A": "^", r"\Z": "$", r"\z": "$"}.get(whole, whole)


def escaped(text: str) -> str:
    """A text as an expression that finds just that."""
    return _SPECIAL.sub(lambda each: f"\\{each[0]}", text)
