"""Lore tests: what must be in the prompt of which part, and what must not, kept with the lorebook.

::

    bell = [LoreTest(entry="Quiet Bell", part=30), LoreTest(entry="Quiet Bell", part=3, inside=False)]
    studio.lore_tests.store(world, bell)
    report = await studio.lore_tests.run(book)
    assert report.passed, report
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, cast

import anyio.to_thread
import msgspec

from marginalia.errors import InvalidInput, MarginaliaError, NotFound
from marginalia.lore.book import FilledLorebook, Lorebook
from marginalia.lore.collecting import collect
from marginalia.lore.verdicts import Verdict
from marginalia.prompt.segments import Prompt
from marginalia.store.lorebooks import Lorebooks
from marginalia.store.repositories import Books
from marginalia.store.story import Story
from marginalia.story.parts import Part
from marginalia.values import Book, BookId, LorebookId, NewPart, Regenerate, Request, Turn

KEPT = "lore_tests"
"""The key in a lorebook's ``raw`` that its tests are kept under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreTest:
    """An entry (by name or uid) that must be in when a part is written, or with ``inside=False`` must not.

    Parts count from 1 at the first one of the active branch; the number after the last stands for the next part.
    """

    entry: str
    part: int
    inside: bool = True

    def __str__(self) -> str:
        return f"at part {self.part} *{self.entry}* must {'' if self.inside else 'not '}be in"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreResult:
    """Whether a test holds; ``reason`` is the sentence of the verdict, or what kept the test from being made."""

    test: LoreTest
    passed: bool
    reason: str

    def __str__(self) -> str:
        return f"{'holds' if self.passed else 'FAILS'}: {self.test}. {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreReport:
    """The results of a run, in the order of the tests."""

    results: tuple[LoreResult, ...]

    @property
    def failures(self) -> tuple[LoreResult, ...]:
        """The tests that do not hold."""
        return tuple(each for each in self.results if not each.passed)

    @property
    def passed(self) -> bool:
        """Whether all hold."""
        return not self.failures

    def __str__(self) -> str:
        head = f"{len(self.results) - len(self.failures)} of {len(self.results)} lore tests hold."
        return "\n".join((head, *map(str, self.failures)))


class Previews(Protocol):
    """How a prompt is built: ``studio.preview``."""

    def __call__(self, book: Book, turn: Turn, *, request: Request) -> Awaitable[Prompt]:
        """The prompt that would be sent."""
        ...


class LoreTests:
    """``studio.lore_tests``. A test looks at the prompt that a part would be written anew with, as it is previewed."""

    def __init__(self, books: Books, lorebooks: Lorebooks, story: Story, preview: Previews) -> None:
        self._books = books
        self._lorebooks = lorebooks
        self._story = story
        self._preview = preview

    def of(self, lorebook: Lorebook | LorebookId) -> tuple[LoreTest, ...]:
        """The tests kept with a lorebook; what cannot be read as one is left out. Raises ``NotFound``."""
        return tuple(_tests(self._lorebooks.get(lorebook)))

    def store(self, lorebook: Lorebook | LorebookId, tests: Iterable[LoreTest]) -> Lorebook:
        """Keep *tests* with a lorebook, in the place of those that were there.

        Raises ``InvalidInput`` for a part below 1 or a test without entry, ``NotFound`` for a lorebook that is none.
        """
        given = tuple(tests)
        for each in given:
            if each.part < 1 or not each.entry.strip():
                raise InvalidInput(
                    f"A lore test needs an entry and a part from 1 on, and this one says: {each}."
                )
        record = self._lorebooks.get(lorebook)
        raw = {**record.raw, KEPT: [msgspec.to_builtins(each) for each in given]}
        return self._lorebooks.save(replace(record, raw=raw))

    async def run(self, book: Book | BookId, tests: Iterable[LoreTest] | None = None) -> LoreReport:
        """Make *tests*, or those kept with the book's lorebook and the ones below it. Changes nothing.

        One prompt is built per part that is asked about. Raises ``NotFound`` for a book that is none.
        """
        record, branch, kept = await anyio.to_thread.run_sync(self._found, book)
        wanted = kept if tests is None else tuple(tests)
        prompts: dict[int, Prompt | str] = {}
        for number in sorted({each.part for each in wanted}):
            prompts[number] = await self._prompt(record, branch, number)
        return LoreReport(results=tuple(_result(each, prompts[each.part]) for each in wanted))

    def _found(self, book: Book | BookId) -> tuple[Book, tuple[Part, ...], tuple[LoreTest, ...]]:
        record = self._books.get(book)
        root = record.lorebook_id
        lorebooks = () if root is None else collect(root, self._shelf)
        kept = tuple(test for each in lorebooks for test in _tests(each.lorebook))
        return record, self._story.branch(record), kept

    def _shelf(self, lorebook: LorebookId) -> FilledLorebook | None:
        try:
            return self._lorebooks.filled(lorebook)
        except NotFound:
            return None

    async def _prompt(self, book: Book, branch: tuple[Part, ...], number: int) -> Prompt | str:
        """The prompt of a part, or why there is none."""
        if number > len(branch) + 1:
            return f"The story has only {len(branch)} parts."
        written = number <= len(branch)
        turn = branch[number - 1].turn if written else Turn()
        request: Request = Regenerate(branch[number - 1]) if written else NewPart()
        try:
            return await self._preview(book, turn, request=request)
        except MarginaliaError as error:
            return f"No prompt could be built: {error}"


def _tests(lorebook: Lorebook) -> Iterable[LoreTest]:
    """The tests stored here, else those of the Marginalia file that the lorebook came from."""
    found: object = lorebook.raw
    for name in (KEPT,) if KEPT in lorebook.raw else ("book", "marginalia", KEPT):
        found = cast("Mapping[str, object]", found).get(name) if isinstance(found, Mapping) else None
    for each in cast("Iterable[object]", found if isinstance(found, list | tuple) else ()):
        try:
            yield msgspec.convert(each, LoreTest)
        except msgspec.ValidationError:
            continue


def _result(test: LoreTest, prompt: Prompt | str) -> LoreResult:
    made = partial(LoreResult, test=test)
    if isinstance(prompt, str):
        return made(passed=False, reason=prompt)
    found = [each for each in prompt.lore if test.entry in {each.entry.name, each.entry.uid}]
    if not found:
        return made(passed=False, reason="The book's lore has no such entry.")
    telling: Verdict = next((each for each in found if each.active), found[0])
    return made(passed=telling.active is test.inside, reason=telling.reason)
