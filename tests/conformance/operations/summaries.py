"""Operations of the summary services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

import marginalia as mg
from marginalia.testing import Recorded
from tests.conformance import observing
from tests.conformance.cases import Json
from tests.conformance.matchers import MISSING, Failure
from tests.conformance.observing import Observers
from tests.conformance.recorder import failure
from tests.conformance.scripts import script_answers
from tests.conformance.world import World


class Attempt:
    """A request for a summary: what was asked, what came of it."""

    def __init__(self, world: World, op: Json, part: str) -> None:
        self.world, self.op, self.part = world, op, part
        self.requests: list[Recorded] = []
        self.error: Exception | None = None
        self.made: mg.Summary | None = None
        self.stopped = False

    async def make(self, start: Callable[[Callable[[str], None]], Awaitable[mg.Summary | None]]) -> None:
        """Run *start* to its end; it is cancelled after the chunk that the case says."""
        script_answers(self.world, self.op, self.requests)
        chunks = 0
        last = (self.op.get("cancel") or {}).get("after_chunk")
        with anyio.CancelScope() as scope:

            def heard(_: str) -> None:
                nonlocal chunks
                chunks += 1
                if chunks == last:
                    scope.cancel()

            try:
                self.made = await start(heard)
            except mg.MarginaliaError as error:
                self.error = error
        self.stopped = scope.cancelled_caught

    def observers(self) -> dict[str, Callable[[], Any]]:
        """What can be seen of it."""
        world = self.world
        return observing.state_observers(world) | {
            "started": lambda: bool(self.requests),
            "requests": lambda: len(self.requests),
            "request": self._request,
            "summary": lambda: observing.described_summary(world, world.part(self.part)),
            "covers": self._covers,
            "merged": self._merged,
            "hash": lambda: self.made and self.made.source_hash,
            "ended": self._ended,
            "error": self._failure,
        }

    def _request(self) -> list[list[str]] | None:
        if not self.requests:
            return None
        return [[each["role"], each["content"]] for each in self.requests[-1].body["messages"]]

    def _block(self) -> Any:  # noqa: ANN401 - a block of the product
        part = self.world.parts[self.part]
        blocks = self.world.studio.summaries.blocks(self.world.book, leaf=part)
        return next((each for each in blocks if each.summary.part_id == part), None)

    def _covers(self) -> list[str | None]:
        block = self._block()
        return [self.world.label(each) for each in reversed(block.parts)] if block else []

    def _merged(self) -> list[str]:
        """The texts of the summaries that were merged, oldest first, as the overview of the product shows them."""
        part = self.world.parts[self.part]
        nodes = self.world.studio.summaries.overview(self.world.book, leaf=part)
        return [each.summary.text for node in nodes if node.summary.part_id == part for each in node.children]

    def _ended(self) -> str:
        if self.stopped:
            return "terminated"
        return "error" if self.error is not None else "completed"

    def _failure(self) -> Any:  # noqa: ANN401 - a failure or nothing
        if self.error is None:
            return MISSING
        if isinstance(self.error, mg.SummaryTooLong):
            figures = {"required": self.error.required, "available": self.error.available}
            return Failure(text=str(self.error), kind="summary_context", figures=figures)
        return failure(str(self.error), self.error)


async def create_summary(world: World, op: Json) -> Observers:
    """Summarise the story down to a part."""
    attempt = Attempt(world, op, op["part"])
    part = world.part(op["part"])
    await attempt.make(lambda heard: world.studio.summaries.create(world.book, part, on_chunk=heard))
    return attempt.observers()


async def create_meta_summary(world: World, op: Json) -> Observers:
    """Merge the summaries from one part back to another."""
    attempt = Attempt(world, op, op["from"])
    newest, oldest = world.part(op["from"]), world.part(op["to"])
    await attempt.make(lambda heard: world.studio.summaries.merge(world.book, newest, oldest, on_chunk=heard))
    return attempt.observers()


async def remove_summary(world: World, op: Json) -> Observers:
    """Take a summary away; unwinding gives back what a meta summary replaced."""
    part = world.part_in(op["part"], world.book_named(op.get("book")))
    world.studio.summaries.remove(part, unwind=op.get("unwind", True))
    return observing.state_observers(world)


async def update_summary(world: World, op: Json) -> Observers:
    """Edit the text of a summary."""
    world.studio.summaries.edit(world.part(op["part"]), op["text"])
    return observing.state_observers(world)


async def collect_blocks(world: World, op: Json) -> Observers:
    """The blocks of a branch, newest first, and whether each is still valid."""
    book = world.book_named(op.get("book"))
    leaf = None if op.get("leaf") is None else world.parts[op["leaf"]]
    blocks = world.studio.summaries.blocks(book, leaf=leaf)
    seen = observing.state_observers(world, book.id)
    texts, valid = [each.summary.text for each in blocks], [each.valid for each in blocks]
    return seen | {
        "blocks": lambda: texts,
        "valid": lambda: valid,
        "parts": lambda: [[world.label(part) for part in each.parts] for each in blocks],
    }


async def collect_tree(world: World, op: Json) -> Observers:
    """The overview of all summaries on a branch."""
    book = world.book_named(op.get("book"))
    nodes = world.studio.summaries.overview(book)
    return observing.state_observers(world, book.id) | {"tree": lambda: [_described(each) for each in nodes]}


def _described(node: Any) -> dict[str, Any]:  # noqa: ANN401 - a node of the product's overview
    return {
        "text": node.summary.text,
        "order": node.number,
        "replaced": node.replaced,
        "children": [_described(each) for each in node.children],
    }


OPERATIONS = {
    each.__name__: each
    for each in (
        create_summary,
        create_meta_summary,
        remove_summary,
        update_summary,
        collect_blocks,
        collect_tree,
    )
}
