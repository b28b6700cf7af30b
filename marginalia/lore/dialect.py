r"""Reading a user's regular expression: what the ``regex`` library is given for it, and what google-re2 can be given.

Expressions are those of the ``regex`` library with the few forms that a Java filter has beyond it: ``\Q…\E``, ``\z``,
``\x{…}``, ``\e``, ``\cX`` (research/templates.md, 3.2). For google-re2 there are two forms. The *strict* one means the
same on a text whose letters, digits and blanks are all ASCII, because google-re2 knows only those. The *relaxed* one
finds at least what the expression finds, on any text. An expression with something that google-re2 does not have
(looking around, references back) has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import regex

_BEYOND = r"\x{80}-\x{10FFFF}"
_RELAXED = {
    "w": rf"0-9A-Za-z_{_BEYOND}",
    "d": rf"0-9{_BEYOND}",
    "s": rf"\t-\r\x1c-\x20{_BEYOND}",
}
_CONTROLS = {"a": r"\x07", "e": r"\x1b", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\x0b"}
_QUOTE = regex.compile(r"\\Q(.*?)(?:\\E|\Z)", regex.DOTALL)
_HEX = regex.compile(r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))")
_CONTROL = regex.compile(r"\\c([A-Za-z])")
_REPEAT = regex.compile(r"\{\d+(?:,\d*)?\}")
_QUANTIFIER = regex.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})([+?]?)")
_GROUP = regex.compile(r"\((?:\?(?::|P?<[A-Za-z_]\w*>|[is]+:|[is]*-[is]+:)|(?!\?))")
_FLAGS = regex.compile(r"\(\?([a-zA-Z]+)\)")
_NAMED = regex.compile(r"\\[pPNkg](?:\{[^{}]*\}|<[^<>]*>)")
_POSIX = regex.compile(r"\[:\^?[a-z]+:\]")
_LARGEST = 0x10FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An expression in the three forms; ``strict`` and ``relaxed`` are ``None`` together.

    ``same``: the relaxed form finds nothing that the expression does not find.
    """

    exact: str
    strict: str | None
    relaxed: str | None
    same: bool


def read_expression(source: str) -> Reading:
    """The three forms of *source*; whether it is valid is decided by who compiles them."""
    reader = _Reader(source)
    reader.read()
    strict, relaxed = ("".join(reader.strict), "".join(reader.relaxed)) if reader.linear else (None, None)
    return Reading(exact="".join(reader.exact), strict=strict, relaxed=relaxed, same=reader.same)


class _Reader:
    """Goes once over an expression, from left to right, and writes its three forms."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.exact: list[str] = []
        self.strict: list[str] = []
        self.relaxed: list[str] = []
        self.linear = True
        self.same = True
        self.set_depth = 0
        self.negated = False

    def read(self) -> None:
        steps: Mapping[str, Callable[[], None]] = {
            "\\": self._escape,
            "[": self._open_set,
            "(": self._open_group,
            "$": self._end,
            "{": self._brace,
            "*": self._repeat,
            "+": self._repeat,
            "?": self._repeat,
        }
        in_set: Mapping[str, Callable[[], None]] = {
            "\\": self._escape,
            "[": self._bracket,
            "]": self._close_set,
        }
        while self.at < len(self.source):
            here = self.source[self.at]
            step = (in_set if self.set_depth else steps).get(here)
            if step is None:
                self._literal(1, here)
            else:
                step()

    def _write(self, length: int, exact: str, strict: str | None = None, relaxed: str | None = None) -> None:
        strict = exact if strict is None else strict
        self.at += length
        self.exact.append(exact)
        self.strict.append(strict)
        self.relaxed.append(strict if relaxed is None else relaxed)

    def _not_linear(self, length: int, exact: str) -> None:
        self.linear = False
        self._write(length, exact)

    def _literal(self, length: int, character: str) -> None:
        # Where case is ignored, the library takes each of these for some of I and i, but not for each other.
        if character in "İı":
            self.linear = False
        self._write(length, character)

    def _escape(self) -> None:
        if self._quoted() or self._numbered():
            return
        if named := _NAMED.match(self.source, self.at):
            self._not_linear(len(named[0]), named[0])
            return
        letter = self.source[self.at + 1 : self.at + 2]
        if letter in {*"wdsWDS"}:
            self.same = False
            self._class(letter)
        elif letter in {*"bBzZA"} and not self.set_depth:
            self._anchor(letter)
        elif letter == "b":
            self._write(2, r"\x08")
        elif letter in _CONTROLS:
            self._write(2, _CONTROLS[letter])
        elif letter and not letter.isalnum() and letter != "_":
            self._write(2, f"\\{letter}")
        elif letter and not letter.isascii():
            self._literal(2, letter)
        else:
            self._not_linear(2, f"\\{letter}")

    def _anchor(self, letter: str) -> None:
        if letter in "bB":
            self.same = False
            self._write(2, f"\\{letter}", relaxed="(?:)")
        elif letter == "z":
            self._write(2, r"\Z", strict=r"\z")
        elif letter == "Z":
            self._not_linear(2, r"(?=\n?\Z)")
        else:
            self._write(2, r"\A")

    def _quoted(self) -> bool:
        quote = _QUOTE.match(self.source, self.at)
        if quote is None:
            return False
        self.at = quote.end()
        for character in quote[1]:
            if character.isalnum() or not character.isascii():
                self._literal(0, character)
            else:
                self._write(0, f"\\x{ord(character):02x}")
        return True

    def _numbered(self) -> bool:
        if control := _CONTROL.match(self.source, self.at):
            self._write(3, f"\\x{ord(control[1].upper()) ^ 64:02x}")
            return True
        number = _HEX.match(self.source, self.at)
        if number is None:
            return False
        code = min(int(number[1] or number[2] or number[3], 16), _LARGEST)
        self.linear = self.linear and chr(code) not in "İı"
        self._write(len(number[0]), f"\\U{code:08x}", f"\\x{{{code:x}}}")
        return True

    def _class(self, letter: str) -> None:
        if letter.islower() and not self.set_depth:
            self._write(2, f"\\{letter}", relaxed=f"[{_RELAXED[letter]}]")
        elif letter.islower() and not self.negated:
            self._write(2, f"\\{letter}", relaxed=_RELAXED[letter])
        elif letter.isupper() and self.negated:
            # What such a set takes would have to be fewer characters than google-re2 knows by that name.
            self._not_linear(2, f"\\{letter}")
        else:
            self._write(2, f"\\{letter}")

    def _open_set(self) -> None:
        self.negated = self.source.startswith("[^", self.at)
        opening = "[^" if self.negated else "["
        self.set_depth = 1
        self._write(len(opening), opening)
        if self.source.startswith("]", self.at):
            self._write(1, r"\]")

    def _bracket(self) -> None:
        posix = _POSIX.match(self.source, self.at)
        if posix:
            self._not_linear(len(posix[0]), posix[0])
        else:
            self._write(1, r"\[")

    def _close_set(self) -> None:
        self.set_depth = 0
        self._write(1, "]")

    def _open_group(self) -> None:
        flags = _FLAGS.match(self.source, self.at)
        if flags:
            self._flags(flags[0], flags[1])
        elif group := _GROUP.match(self.source, self.at):
            self._write(len(group[0]), group[0])
        else:
            self._not_linear(1, "(")
            if self.source.startswith("?", self.at):
                self._write(1, "?")

    def _flags(self, whole: str, flags: str) -> None:
        """Java's flags for Unicode and Unix lines say what holds here anyway; those in the middle count for all."""
        kept = "".join(flag for flag in flags if flag not in "Uud")
        if self.at or set(kept) - set("is"):
            self.linear = False
        self._write(len(whole), f"(?{kept})" if kept else "")

    def _end(self) -> None:
        last = self.at + 1 == len(self.source) or self.source[self.at + 1] in ")|"
        if last:
            self._write(1, "$", r"(?:\n?\z)")
        else:
            self._not_linear(1, "$")

    def _brace(self) -> None:
        if _REPEAT.match(self.source, self.at):
            self._repeat()
        else:
            # The library would read some of these as its own fuzzy matching.
            self._write(1, r"\{")

    def _repeat(self) -> None:
        quantifier = _QUANTIFIER.match(self.source, self.at)
        whole = quantifier[0] if quantifier else self.source[self.at]
        if whole.endswith("+") and len(whole) > 1:
            self._not_linear(len(whole), whole)
        else:
            self._write(len(whole), whole)
