"""The texts of a book as they are searched."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from marginalia.story.search import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_ROOM = 40_000_000  # characters of one book that are kept ready; the rest is read for every search
_BATCH = 2_000


@dataclass(slots=True)
class Folded:
    """The texts of a book as they are searched, by version. Versions never change, so what is here stays right."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    size: int = 0
    lock: Lock = field(default_factory=Lock)

    def of(
        self, versions: Sequence[int], read: Callable[[Sequence[int]], Iterable[tuple[int, str]]]
    ) -> Iterator[tuple[int, str]]:
        """Every version with its folded text; what is not here is read in batches, and kept while there is room."""
        known = self.texts
        missing = [number for number in versions if number not in known]
        yield from [(number, known[number]) for number in versions if number in known]
        for start in range(0, len(missing), _BATCH):
            batch = [(number, fold(text)) for number, text in read(missing[start : start + _BATCH])]
            self._keep(batch, versions)
            yield from batch

    def _keep(self, batch: Sequence[tuple[int, str]], versions: Sequence[int]) -> None:
        with self.lock:
            if len(self.texts) > 2 * len(versions) + _BATCH:  # texts that were edited since
                wanted = set(versions)
                self.texts = {number: text for number, text in self.texts.items() if number in wanted}
                self.size = sum(map(len, self.texts.values()))
            for number, text in batch:
                if number not in self.texts and self.size + len(text) <= _ROOM:
                    self.texts[number] = text
                    self.size += len(text)
