"""What one turn looks through: the texts that were read, who sees them, and where in them a key is."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from marginalia.lore.cases import Text
from marginalia.lore.expressions import TooSlow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.lore.matching import Matcher, Row
    from marginalia.lore.reading import Place
    from marginalia.lore.scan import Scan


class Sight:
    """The ``texts`` of a turn in the order in which they were read; ``where`` has those that hold a needle."""

    def __init__(self, matcher: Matcher, scan: Scan) -> None:
        self.matcher = matcher
        self.scan = scan
        self.texts: list[Text] = []
        self.where: dict[int, list[Text]] = {}
        self._patience = scan.patience

    def sees(self, row: Row, text: Text) -> int:
        """From which character on the entry looks at the text; -1 when it does not."""
        scope = row.entry.scope
        if text.caller is not None:
            limit = row.limit(self.scan.settings)
            within = limit <= 0 or text.caller.depth < limit
            return 0 if within and row.recursive(self.scan.settings) else -1
        if scope.only_recursive:
            return -1
        if text.kind == "story":
            return self._sees_story(row, text)
        return 0 if (scope.request if text.kind == "request" else scope.memory) else -1

    def place(self, text: Text, number: int, start: int) -> Place | None:
        """Where in *text*, from *start* on, a needle is; raises ``TooSlow`` when its time ran out."""
        places = text.reading.found.get(number)
        if places:
            return next((place for place in places if place[0] >= start), None)
        if places is None and number not in text.reading.maybe:
            return None
        return self._search(text, number, start)

    def quick_place(self, text: Text, number: int, start: int) -> Place | None:
        """The place of a needle that was found, for somebody who reads it; ``None`` if that takes too long."""
        try:
            return self.place(text, number, start)
        except TooSlow:
            return None

    def _sees_story(self, row: Row, text: Text) -> int:
        parts, characters = row.parts(self.scan.settings), row.entry.scope.characters
        if not (parts or characters) or (parts and text.index >= parts):
            return -1
        start = max(0, len(text.reading.text) + text.behind - characters) if characters else 0
        return start if start < len(text.reading.text) else -1

    def _search(self, text: Text, number: int, start: int) -> Place | None:
        searched = text.reading.searched
        expression = self.matcher.needles[number].expression
        if expression is None:
            return None
        if (number, start) not in searched:
            began = self.scan.stopwatch()
            try:
                searched[number, start] = expression.find(text.reading.text, start, self._patience)
            finally:
                self._patience -= self.scan.stopwatch() - began
        return searched[number, start]

    def given(self) -> Iterable[Text]:
        """The request, the story from its end as far as anybody looks, and memory."""
        scan, widest = self.scan, self.matcher.widest
        yield Text(kind="request", name="request", reading=self.matcher.read(scan.request))
        parts = max(widest.parts, scan.settings.scan_parts)
        characters = max(widest.characters, scan.horizon)
        index = behind = 0
        while index < len(scan.story) and (index < parts or behind < characters):
            text = scan.story[index]
            name = f"part {scan.parts - index}" if scan.parts > index else "an earlier part"
            yield Text(kind="story", name=name, reading=self.matcher.read(text), index=index, behind=behind)
            behind += len(text)
            index += 1
        for index, text in enumerate(scan.memory):
            yield Text(
                kind="memory", name=f"memory {index + 1}", reading=self.matcher.read(text), index=index
            )

    def take_in(self, texts: Iterable[Text]) -> set[int]:
        """Note where every needle is; the rows that look for any of them."""
        touched: set[int] = set()
        users = self.matcher.users
        for text in texts:
            reading = text.reading
            self.texts.append(text)
            for number in chain(reading.found, reading.maybe):
                self.where.setdefault(number, []).append(text)
                touched.update(users.get(number, ()))
            for number in reading.refused:
                touched.update(users.get(number, ()))
        return touched
