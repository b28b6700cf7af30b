"""How commands speak: results on one stream, progress and trouble on the other."""

from __future__ import annotations

from typing import TextIO

from marginalia.values import Progress


class Talk:
    """Says things to the two streams; a terminal that lacks a character gets ``?`` in its place."""

    def __init__(self, results: TextIO, progress: TextIO) -> None:
        self._results = results
        self._progress = progress
        self._open_line = False

    def say(self, text: str) -> None:
        """A line of the result."""
        _print(text, self._results)

    def step(self, text: str) -> None:
        """What is being done now. On a terminal the next step takes its place."""
        if self._progress.isatty():
            self._over(f"{text} …")
        else:
            _print(f"{text} …", self._progress)

    def sharing(self, text: str) -> Progress:
        """:meth:`step`, with how far it is behind it on a terminal."""
        self.step(text)
        shown = -1

        def progress(share: float) -> None:
            nonlocal shown
            percent = int(100 * share)
            if percent > shown and self._progress.isatty():
                shown = percent
                self._over(f"{text} … {percent} %")

        return progress

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._end_line()
        _print(text, self._progress)

    def fail(self, text: str) -> None:
        """Why something was not done."""
        self.note(f"marginalia: {text}")

    def done(self) -> None:
        """The last step is over."""
        self._end_line()

    def _over(self, text: str) -> None:
        """Write in the place of the last line."""
        _print(f"\r\x1b[2K{text}", self._progress, end="")
        self._open_line = True

    def _end_line(self) -> None:
        if self._open_line:
            _print("\r\x1b[2K", self._progress, end="")
            self._open_line = False


def _print(text: str, stream: TextIO, end: str = "\n") -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + end)
    stream.flush()


def sized(size: int) -> str:
    """A number of bytes for people."""
    for unit, one in (("GB", 10**9), ("MB", 10**6)):
        if size >= one:
            return f"{size / one:.1f} {unit}"
    return f"{size / 1000:.0f} kB"
